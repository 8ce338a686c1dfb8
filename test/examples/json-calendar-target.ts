import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJsonCalendar } from '../../examples/json-calendar/connector.ts';
import { jsonCalendar } from '../../examples/json-calendar/index.ts';
import type { ProxyMatch } from '../../sandbox/kit/fault-proxy.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { OwnTarget, PersonsHands } from '../contract/cases/persons-own.ts';
import { timed } from '../contract/contract-kit.ts';
import type { ContractDialect, ContractServer, RemoteObject } from '../contract/contract-target.ts';
import { FaultyFiles } from './faulty-files.ts';

const CONTAINER = 'appointments.json';
const WRITES: ProxyMatch = { method: /^WRITE$/ };

/** An event as an editor shows it. */
interface ShownEvent {
  title?: string;
  description?: string | null;
  location?: string | null;
  time: CalendarItem['time'];
  busy?: boolean;
  tentative?: true;
  visibility?: string;
  labels?: Record<string, string>;
  colour?: string;
  reminderMinutes?: number;
  guests?: string[];
}

/** One empty calendar in a new folder. */
export async function openJsonTarget(): Promise<OwnTarget & { folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'json-calendar-'));
  await writeFile(join(folder, CONTAINER), '{ "events": {} }');
  const files = new FaultyFiles();
  const calendar = new Editor(folder);
  const authorizer = { header: async () => 'no credentials', renew: async () => 'no credentials', quotaUser: null };
  return {
    folder,
    supports: jsonCalendar.supports,
    container: CONTAINER,
    authorizer,
    open({ createCalendar, ...worker }) {
      const chosen = createCalendar === null ? { id: CONTAINER } : { create: createCalendar };
      const settings = jsonCalendar.settingsSchema.parse({ folder, calendar: chosen });
      return openJsonCalendar({ ...worker, settings, clock: Date.now, zone: 'Europe/Rome' }, files);
    },
    proxy: files,
    server: serverOf(calendar),
    dialect: DIALECT,
    own: handsOf(calendar),
    close: () => rm(folder, { recursive: true }),
  };
}

/** A user with a text editor. */
class Editor {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async events(container = CONTAINER): Promise<Record<string, ShownEvent>> {
    const text = await readFile(join(this.#folder, container), 'utf8');
    return (JSON.parse(text) as { events: Record<string, ShownEvent> }).events;
  }

  async edit(change: (events: Record<string, ShownEvent>) => void): Promise<void> {
    const events = await this.events();
    change(events);
    await writeFile(join(this.#folder, CONTAINER), JSON.stringify({ events }));
  }

  async names(): Promise<string[]> {
    return (await readdir(this.#folder)).filter((name) => name.endsWith('.json'));
  }

  async delete(container: string): Promise<void> {
    await rm(join(this.#folder, container));
  }
}

function serverOf(calendar: Editor): ContractServer {
  const copy = async (id: string, isMoved: boolean) => {
    const other = randomUUID();
    await calendar.edit((events) => {
      events[other] = events[id]!;
      if (isMoved) delete events[id];
    });
    return other;
  };
  return {
    objects: async (container) => Object.entries(await calendar.events(container)).map(toRemoteObject),
    editByHand: (id, changes) => calendar.edit((events) => void Object.assign(events[id]!, changes)),
    deleteByHand: (id) => calendar.edit((events) => void delete events[id]),
    removeMarkByHand: (id) => calendar.edit((events) => void delete events[id]!.labels),
    loseMarks: (id) => calendar.edit((events) => void delete events[id]!.labels),
    renameByHand: (id) => copy(id, true),
    copyByHand: (id) => copy(id, false),
    async putForeign(title, key = randomUUID()) {
      await calendar.edit((events) => {
        events[key] = { title, time: timed('2027-03-10T12:00:00+01:00', '2027-03-10T13:00:00+01:00', 'Europe/Rome') };
      });
      return key;
    },
    containers: () => calendar.names(),
    deleteContainer: (container) => calendar.delete(container),
    mails: () => null,
  };
}

function handsOf(calendar: Editor): PersonsHands {
  return {
    guests: 'kept',
    labels: [
      [{}, ''],
      [{}, ''],
    ],
    set: (id, { note, colour, reminderMinutes, guests }) =>
      calendar.edit((events) => {
        const event = events[id]!;
        if (note !== undefined) event.description = note;
        if (colour !== undefined) event.colour = colour;
        if (reminderMinutes != null) event.reminderMinutes = reminderMinutes;
        if (guests !== undefined) event.guests = guests;
      }),
    async shown(id) {
      const { colour = '', reminderMinutes = null, description, guests = [] } = (await calendar.events())[id]!;
      return { colour, reminderMinutes, note: description ?? '', guests };
    },
  };
}

function toRemoteObject([remoteId, event]: [string, ShownEvent]): RemoteObject {
  const { title = '', description, location, time, busy = true, tentative = false, labels = {} } = event;
  const zone = time.kind === 'timed' ? time.zone : null;
  const days = { startAt: null, endAt: null, startDate: null, endDate: null };
  return {
    remoteId,
    ownerTag: labels.owner ?? null,
    sealedRecordId: labels.record ?? null,
    ...{ title, description: description ?? '', location: location ?? '', busy, tentative },
    ...{ zone, clockZone: zone, version: JSON.stringify(event) },
    ...(time.kind === 'timed'
      ? { ...days, startAt: Date.parse(time.start), endAt: Date.parse(time.end) }
      : { ...days, startDate: time.startDate, endDate: time.endDate }),
    isPrivate: event.visibility === undefined,
    attendees: event.guests?.length ?? 0,
    ...{ alarms: 0, isSilenced: false, links: [] },
  };
}

const failure = (status: number) => ({ status, headers: {}, body: '' });

const DIALECT: ContractDialect = {
  writes: WRITES,
  reads: { method: /^READ$/ },
  throttled: () => failure(503),
  unauthorized: () => failure(503),
  forbidden: () => failure(403),
  unavailable: () => failure(503),
  requestsForCreates: (n) => Math.ceil(n / jsonCalendar.supports.batchSize),
  requestsForReading: () => 1,
  requestsForRetriedCreates: () => 2,
  withUnknownFields: (answer) => answer,
  poison: (operation) =>
    operation.kind === 'delete'
      ? operation
      : {
          ...operation,
          item: {
            ...operation.item,
            time: timed('2027-03-10T10:00:00Z', '2027-03-10T09:00:00Z', 'UTC'),
          },
        },
  failOnce: () => {},
};
