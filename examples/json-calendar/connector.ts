import { join } from 'node:path';
import { z } from 'zod';
import type { Connector, ConnectorContext } from '../../src/connectors/connector.ts';
import { fromCursor, toCursor } from '../../src/connectors/cursor.ts';
import { recoveredParts, withTheirs } from '../../src/connectors/event-content.ts';
import { spanOf } from '../../src/connectors/icalendar-zones.ts';
import { askedAlone, failed } from '../../src/connectors/outcomes.ts';
import { type Calendars, ownerText, prepareCalendar, supersededBy } from '../../src/connectors/owner.ts';
import { parseJson } from '../../src/model/json.ts';
import type { ItemKey, Operation, Outcome } from '../../src/model/operations.ts';
import { overlaps, type TimeWindow } from '../../src/model/time.ts';
import { errors } from './errors.ts';
import {
  additionsIn,
  type CalendarFile,
  calendarSchema,
  digestOf,
  holds,
  type OwnEvent,
  ownEvent,
  toEvent,
  toRemoteItem,
} from './events.ts';
import type { Files } from './files.ts';
import type { JsonCalendarSettings } from './schemas.ts';

/** Opens one calendar in a file. The container is the file's name. */
export function openJsonCalendar(context: ConnectorContext<JsonCalendarSettings>, files: Files): Connector {
  const { settings, ownerTag, zone = 'UTC' } = context;
  const pathOf = (container: string) => join(settings.folder, container);
  const calendarsOf = (signal: AbortSignal) => openCalendars(context, files, signal);
  const eventsIn = (text: string | null, window: TimeWindow | null) => {
    const all = [...new OwnEvents(parsed(text), ownerTag).all()].map(toRemoteItem);
    return all.filter(({ item }) => window === null || item === null || overlaps(spanOf(item.time, zone), window));
  };
  const connector: Connector = {
    prepare: (storedId, choice, signal) => prepareCalendar(calendarsOf(signal), settings.calendar, storedId, choice),
    async apply(container, operations, signal) {
      const outcomes: Outcome[] = [];
      if (operations.length === 0) return outcomes;
      const edit = (before: string | null) => {
        const calendar = parsed(before);
        const events = new OwnEvents(calendar, ownerTag);
        outcomes.push(...operations.map((operation) => carryOut(events, operation)));
        return events.isChanged ? textOf(calendar) : null;
      };
      await files.replace(pathOf(container), edit, signal);
      return outcomes;
    },
    async *read(container, window) {
      yield eventsIn(await files.read(pathOf(container)), window);
    },
    async find(container, keys, _signal, remoteIds) {
      const events = new OwnEvents(parsed(await files.read(pathOf(container))), ownerTag);
      return keys.flatMap((key) => events.find(key, remoteIds?.get(key) ?? null) ?? []).map(toRemoteItem);
    },
    async changes(container, { cursor, window }) {
      // A file lists no changes: its digest only shows whether anything changed.
      const text = await files.read(pathOf(container));
      const [digest, items] = [digestOf(text ?? ''), eventsIn(text, window)];
      if (fromCursor(container, cursor, z.string()) === digest)
        return { scope: 'since', items: [], removed: [], cursor };
      return { scope: 'whole', items, removed: [], cursor: toCursor(container, digest) };
    },
  };
  return askedAlone(connector, {
    errors,
    isThere: async (container) => (await files.list(settings.folder)).includes(container),
  });
}

/** Own events of a calendar in memory, which operations change. */
class OwnEvents {
  isChanged = false;
  readonly ownerTag: string;
  readonly #events: CalendarFile['events'];
  #renamed: Map<ItemKey, string> | null = null;

  constructor({ events }: CalendarFile, ownerTag: string) {
    this.#events = events;
    this.ownerTag = ownerTag;
  }

  *all(): Generator<OwnEvent> {
    for (const [id, value] of Object.entries(this.#events)) {
      const own = ownEvent(this.ownerTag, id, value);
      if (own !== null) yield own;
    }
  }

  has(id: string): boolean {
    return Object.hasOwn(this.#events, id);
  }

  /** Returns the event at the id of an operation, or the event that a user renamed. */
  find(key: ItemKey, remoteId: string | null, isThisOnly = false): OwnEvent | null {
    const id = remoteId ?? key;
    const own = this.has(id) ? ownEvent(this.ownerTag, id, this.#events[id], key) : null;
    if (own?.key === key || isThisOnly) return own;
    this.#renamed ??= new Map([...this.all()].map((each) => [each.key, each.id]));
    const other = this.#renamed.get(key);
    return other === undefined || !this.has(other) ? null : ownEvent(this.ownerTag, other, this.#events[other]);
  }

  set(id: string, event: object): void {
    this.#events[id] = event;
    this.isChanged = true;
  }

  delete(id: string): void {
    delete this.#events[id];
    this.isChanged = true;
  }
}

function carryOut(events: OwnEvents, operation: Operation): Outcome {
  if (operation.kind === 'delete') return remove(events, operation);
  const { recordId, key, item } = operation;
  const remoteId = operation.kind === 'update' ? operation.remoteId : null;
  const { startAt, endAt } = spanOf(item.time, 'UTC');
  if (!(endAt >= startAt)) return failed(operation, errors.make('ends-before-start'));
  const own = events.find(key, remoteId);
  if (own === null && events.has(key)) return { recordId, result: 'key-burnt' };
  const superseded = own && supersededBy(operation, toRemoteItem(own));
  if (superseded !== null) return superseded;
  const id = own?.id ?? key;
  const [made, replaced] =
    operation.kind === 'create' ? (['created', 'adopted'] as const) : (['recreated', 'updated'] as const);
  const written = {
    ...({ recordId, result: 'written', effect: own === null ? made : replaced } as const),
    ...({ remoteId: id === key ? null : id, marks: 'kept' } as const),
  };
  if (own?.event != null && holds(own, operation))
    return { ...written, versionTag: digestOf(JSON.stringify(own.event)) };
  const event = toEvent(events.ownerTag, operation, own && withAdditions(own, operation));
  events.set(id, event);
  return { ...written, versionTag: digestOf(JSON.stringify(event)) };
}

function remove(events: OwnEvents, operation: Extract<Operation, { kind: 'delete' }>): Outcome {
  const { recordId, key, remoteId, isDuplicate = false, erase = false } = operation;
  const own = events.find(key, remoteId, isDuplicate);
  if (own === null) return { recordId, result: 'deleted', effect: 'already-gone' };
  const superseded = supersededBy(operation, toRemoteItem(own));
  if (superseded !== null) return superseded;
  events.delete(own.id);
  const additions = isDuplicate || erase ? undefined : additionsOf(own);
  return { recordId, result: 'deleted', effect: 'deleted', ...(additions === undefined ? {} : { additions }) };
}

/** Returns users' additions to an event; undefined for none. */
function additionsOf({ event, parts: { theirs } }: OwnEvent): string | undefined {
  const fields = additionsIn(event ?? {});
  return theirs === '' && Object.keys(fields).length === 0 ? undefined : JSON.stringify([theirs, fields]);
}

/** Adds users' additions to another event, each once. */
function withAdditions(own: OwnEvent, operation: Exclude<Operation, { kind: 'delete' }>): OwnEvent {
  const parts = recoveredParts(own.parts, 'plain', operation);
  const added = operation.kind === 'update' ? operation.additions : undefined;
  if (added === undefined || own.event === null) return { ...own, parts };
  const [theirs, fields] = JSON.parse(added) as [string, object];
  return { ...own, parts: withTheirs(parts, theirs), event: { ...fields, ...own.event } };
}

/** Gives access to the calendars in the folder. The name of a created one follows from the owner tag, so that two workers create one. */
function openCalendars(
  { settings: { folder }, ownerTag, owner }: ConnectorContext<JsonCalendarSettings>,
  files: Files,
  signal: AbortSignal,
): Calendars {
  const mark = `[clinic-mirror ${ownerTag}]`;
  return {
    errors,
    owner: owner ?? null,
    find: async (id) => ((await files.list(folder)).includes(id) ? id : null),
    async list() {
      const names = (await files.list(folder)).filter((name) => name.endsWith('.json'));
      const texts = await Promise.all(names.map((name) => files.read(join(folder, name))));
      return names.map((id, index) => {
        const text = calendarSchema.safeParse(parseJson(texts[index] ?? '')).data?.owner;
        return { id, isMarked: text?.includes(mark) === true, isOfAnother: false, ownerText: text };
      });
    },
    async create(title) {
      const id = `clinic-mirror-${ownerTag}.json`;
      const text = [mark, ...(owner === undefined ? [] : [ownerText(owner)])].join(' ');
      const fresh = (before: string | null) => (before === null ? textOf({ title, owner: text, events: {} }) : null);
      await files.replace(join(folder, id), fresh, signal);
      return id;
    },
  };
}

function parsed(text: string | null): CalendarFile {
  if (text === null) throw errors.make('calendar-gone');
  const calendar = calendarSchema.safeParse(parseJson(text));
  if (!calendar.success) throw errors.make('calendar-unreadable');
  return calendar.data;
}

function textOf(calendar: CalendarFile): string {
  return `${JSON.stringify(calendar, null, 2)}\n`;
}
