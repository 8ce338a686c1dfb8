import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Connector, ConnectorContext } from '../../src/connectors/connector.ts';
import { fromCursor, toCursor } from '../../src/connectors/cursor.ts';
import { spanOf } from '../../src/connectors/icalendar-zones.ts';
import { askedAlone, deletedWith, effectOf, failed } from '../../src/connectors/outcomes.ts';
import { type Calendars, ownerText, prepareCalendar, supersededBy } from '../../src/connectors/owner.ts';
import { parseJson } from '../../src/core/model/json.ts';
import type { ItemKey, Operation, Outcome } from '../../src/core/model/operations.ts';
import { overlaps, type TimeWindow } from '../../src/core/model/time.ts';
import { errors } from './errors.ts';
import {
  additionsTextOf,
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
    const all = ownIn(parsed(text).events, ownerTag).map(toRemoteItem);
    return all.filter(({ item }) => window === null || item === null || overlaps(spanOf(item.time, zone), window));
  };
  const connector: Connector = {
    prepare: (storedId, choice, signal) => prepareCalendar(calendarsOf(signal), settings.calendar, storedId, choice),
    async apply(container, operations, signal) {
      let outcomes: Outcome[] = [];
      const edit = (before: string | null) => {
        const calendar = parsed(before);
        const events = { ...calendar.events };
        const find = finderIn(events, ownerTag);
        outcomes = operations.map((operation) => carryOut(events, operation, find, ownerTag));
        return isDeepStrictEqual(events, calendar.events) ? null : textOf({ ...calendar, events });
      };
      if (operations.length > 0) await files.replace(pathOf(container), edit, signal);
      return outcomes;
    },
    async *read(container, window) {
      yield eventsIn(await files.read(pathOf(container)), window);
    },
    async find(container, keys, _signal, remoteIds) {
      const find = finderIn(parsed(await files.read(pathOf(container))).events, ownerTag);
      return keys.flatMap((key) => find(key, remoteIds?.get(key) ?? null) ?? []).map(toRemoteItem);
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

/** Events of a file by id. */
type Events = Record<string, unknown>;

/** Returns the own event at the id of an operation, or otherwise the own event with its key, which a user renamed. */
type Find = (key: ItemKey, remoteId: string | null, isThisOnly?: boolean) => OwnEvent | null;

function ownIn(events: Events, ownerTag: string): OwnEvent[] {
  return Object.entries(events).flatMap(([id, value]) => ownEvent(ownerTag, id, value) ?? []);
}

function finderIn(events: Events, ownerTag: string): Find {
  let renamed: Map<ItemKey, OwnEvent> | null = null;
  return (key, remoteId, isThisOnly = false) => {
    const id = remoteId ?? key;
    const own = Object.hasOwn(events, id) ? ownEvent(ownerTag, id, events[id], key) : null;
    if (own?.key === key || isThisOnly) return own;
    renamed ??= new Map(ownIn(events, ownerTag).map((each) => [each.key, each]));
    return renamed.get(key) ?? null;
  };
}

/** Changes the events as an operation demands. The operations of one call have distinct keys. */
function carryOut(events: Events, operation: Operation, find: Find, ownerTag: string): Outcome {
  const { recordId, key, remoteId, isDuplicate } = { remoteId: null, isDuplicate: false, ...operation };
  const own = find(key, remoteId, isDuplicate);
  const superseded = own && supersededBy(operation, toRemoteItem(own));
  if (superseded !== null) return superseded;
  if (operation.kind === 'delete') {
    if (own === null) return { recordId, result: 'deleted', effect: 'already-gone' };
    delete events[own.id];
    return deletedWith(operation, additionsTextOf(own));
  }
  const { startAt, endAt } = spanOf(operation.item.time, 'UTC');
  if (!(endAt >= startAt)) return failed(operation, errors.make('ends-before-start'));
  if (own === null && Object.hasOwn(events, key)) return { recordId, result: 'key-burnt' };
  const id = own?.id ?? key;
  const isWritten = own !== null && holds(own, operation);
  const event = isWritten ? own.event : toEvent(ownerTag, operation, own);
  if (!isWritten) events[id] = event;
  const versionTag = digestOf(JSON.stringify(event));
  const effect = effectOf(operation, own === null);
  return { recordId, result: 'written', effect, versionTag, remoteId: id === key ? null : id, marks: 'kept' };
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
      const fresh = textOf({ title, owner: owner === undefined ? mark : `${mark} ${ownerText(owner)}`, events: {} });
      await files.replace(join(folder, id), (before) => (before === null ? fresh : null), signal);
      return id;
    },
  };
}

function parsed(text: string | null) {
  if (text === null) throw errors.make('calendar-gone');
  const calendar = calendarSchema.safeParse(parseJson(text));
  if (!calendar.success) throw errors.make('calendar-unreadable');
  return calendar.data;
}

function textOf(calendar: z.output<typeof calendarSchema>): string {
  return `${JSON.stringify(calendar, null, 2)}\n`;
}
