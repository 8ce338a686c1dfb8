import type { MirrorError } from '../../core/model/errors.ts';
import type { ItemTime } from '../../core/model/items.ts';
import type {
  Deletion,
  ItemKey,
  Operation,
  Outcome,
  RemoteItem,
  Update,
  Write,
  WriteEffect,
} from '../../core/model/operations.ts';
import { pathSegment } from '../../core/model/path-segment.ts';
import { storableTag } from '../../core/model/stored-limits.ts';
import { BLANK_ITEM, deletableTag, recoveredParts, writableTag } from '../event-content.ts';
import type { Flow } from '../flow.ts';
import { labelsOf } from '../labels.ts';
import { deletedWith } from '../outcomes.ts';
import { supersededBy } from '../owner.ts';
import { guardWalk, isSuccess, type WireCall, type WireResponse } from '../wire.ts';
import { additionsTextOf, withAdditionsOf } from './additions.ts';
import { errors, isConflict, isDuplicate, isGone, isNoSuchAction, mayMeanZone } from './errors.ts';
import {
  holds,
  type OwnEvent,
  readOwnEvent,
  type Touched,
  toBlankPatch,
  toEvent,
  toPatch,
  toRemoteItem,
  UNTOUCHED,
  UTC,
  writtenZone,
} from './from-model.ts';
import { EARLIER_BY_MS, EVENTS_PAGE_SIZE, LARGEST_PAGE, PROPERTIES } from './limits.ts';
import { EVENT_QUERY, eventsQuery, readPage, withQuery } from './paths.ts';
import {
  type EventHead,
  eventHeadSchema,
  eventIdSchema,
  type OutlookCalendarSettings,
  pageLinkSchema,
} from './schemas.ts';

/** Settings that the flows of one target share. */
export interface FlowScope extends Pick<OutlookCalendarSettings, 'deleteMode'> {
  /** Path of the mailbox: `/me` or `/users/…`. */
  mailboxPath: string;
  calendarId: string;
  ownerTag: string;
  /** Zone in which all-day events begin. */
  wholeDayZone: string;
  /** Zones that Outlook refused since the connector was opened. */
  refusedZones: Set<string>;
}

/**
 * Returns the flow of one operation: calls, then one outcome.
 * @throws MirrorError if the operation fails
 */
export function operationFlow(scope: FlowScope, operation: Operation): Flow<Outcome> {
  if (operation.kind === 'create') return insert(scope, operation, 'created');
  if (operation.kind === 'update') return update(scope, operation);
  return remove(scope, operation);
}

/** Fetches one own event, or null if the event is absent, deleted or foreign. */
export function* findFlow(scope: FlowScope, key: ItemKey, remoteId: string | null): Flow<RemoteItem | null> {
  const found = yield* lookUp(scope, key, remoteId);
  return typeof found === 'object' && found !== null ? toRemoteItem(found) : null;
}

/** Fetches the web page of an event, with the event's id. Returns null if Outlook provides no page. */
export function* pageFlow(scope: FlowScope, id: string): Flow<[string, string] | null> {
  const answer = yield { method: 'GET', path: `${eventPath(scope, id)}?$select=webLink` };
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  const page = pageLinkSchema.safeParse(answer.body).data?.webLink;
  return page === undefined ? null : [id, page];
}

/** Inserts with the key as transaction id: Outlook refuses a second insert of a key, which prevents duplicates. */
function* insert(scope: FlowScope, operation: Write, effect: WriteEffect): Flow<Outcome> {
  const answer = yield* write(scope, operation.item.time, (zoned) => insertCall(zoned, operation));
  if (isSuccess(answer)) return yield* inserted(scope, operation, effect, answer);
  if (isGone(answer)) throw errors.make('calendar-gone', { status: answer.status });
  if (!isDuplicate(answer)) throw errors.of(answer);
  const adopted = yield* reconcile(scope, operation, 'adopted');
  if (adopted !== null) return adopted;
  const unmarkedId = yield* findTransaction(scope, operation.key);
  const resolved = unmarkedId === null ? null : yield* reconcile(scope, operation, 'adopted', unmarkedId);
  // The event with this key was deleted or moved, and Outlook does not accept the key again.
  return resolved ?? { recordId: operation.recordId, result: 'key-burnt' };
}

/**
 * Completes an insert. If the response has no id, the event is fetched by its key, since the outcome needs Outlook's id. An event that is
 * older than the request is fetched too: Outlook repeats the response to an earlier, equal request, even if the event changed since.
 */
function* inserted(scope: FlowScope, operation: Write, effect: WriteEffect, answer: WireResponse): Flow<Outcome> {
  const head = eventHeadSchema.safeParse(answer.body);
  const isEarlier = head.success && isMadeBefore(head.data, answer);
  if (head.success && !isEarlier) return written(scope, operation, answer, { effect });
  const resolved = yield* reconcile(scope, operation, isEarlier ? 'adopted' : effect, head.data?.id ?? null);
  if (resolved !== null) return resolved;
  if (isEarlier) return { recordId: operation.recordId, result: 'key-burnt' };
  throw errors.make('unexpected-answer', { ambiguous: true });
}

/**
 * Decides whether Outlook returned the event of an earlier, equal request.
 * @see https://blog.rykoma.net/2020/10/05/1559/ (observed; the reference says only that the id prevents duplicates)
 */
function isMadeBefore({ createdDateTime }: EventHead, { sentAt }: WireResponse): boolean {
  const createdAt = Date.parse(createdDateTime ?? '');
  return sentAt !== undefined && createdAt < sentAt - EARLIER_BY_MS;
}

function* update(scope: FlowScope, operation: Update): Flow<Outcome> {
  const { remoteId, item } = operation;
  const etag = writableTag(operation.versionTag);
  let storedId = remoteId;
  if (remoteId !== null && etag !== null && item.presets === undefined && operation.additions === undefined) {
    const untouched = { ...UNTOUCHED, id: remoteId, etag };
    const answer = yield* write(scope, operation.item.time, (zoned) => patchCall(zoned, operation, untouched));
    if (isSuccess(answer)) return written(scope, operation, answer, { effect: 'updated', stored: remoteId });
    if (!isGone(answer) && !isConflict(answer)) throw errors.of(answer);
    if (isGone(answer)) storedId = null;
  }
  return (yield* reconcile(scope, operation, 'updated', storedId)) ?? (yield* insert(scope, operation, 'recreated'));
}

/**
 * Fetches the event with the key and updates its content if required. An event with the right content is left unchanged, an event with a
 * later write ends the operation, and a foreign event makes the key unusable. Users' own content is kept.
 * @param storedId id of the event, which needs no marks; null if unknown or absent
 * @returns null if no event has the key or the id
 */
function* reconcile(
  scope: FlowScope,
  operation: Write,
  effect: WriteEffect,
  storedId: string | null = null,
): Flow<Outcome | null> {
  const { recordId, key } = operation;
  const event = yield* lookUp(scope, key, storedId);
  if (event === null) return null;
  if (event === 'foreign') return { recordId, result: 'key-burnt' };
  const superseded = supersededBy(operation, toRemoteItem(event));
  if (superseded !== null) return superseded;
  const { versionTag, remoteId, item: stored } = toRemoteItem(event);
  if (stored !== null && holds(event, operation)) {
    return { recordId, result: 'written', effect, versionTag, remoteId, stored };
  }
  if (event.hasGuests) throw errors.make('event-has-guests');
  const answer = yield* write(scope, operation.item.time, (zoned) => patchCall(zoned, operation, event));
  if (isSuccess(answer)) return written(scope, operation, answer, { effect, stored: event.id });
  throw meanwhileOr(answer);
}

/**
 * Sends a write, and sends it again in UTC if the zone may be unknown to Outlook. If Outlook accepts UTC, later writes in this zone use UTC too.
 */
function* write(scope: FlowScope, time: ItemTime, toCall: (scope: FlowScope) => WireCall): Flow<WireResponse> {
  const zone = writtenZone(time, scope);
  const answer = yield toCall(scope);
  if (zone === UTC || !mayMeanZone(answer)) return answer;
  const inUtc = { ...scope, refusedZones: new Set([...scope.refusedZones, zone]) };
  const again = yield toCall(inUtc);
  if (isSuccess(again)) scope.refusedZones.add(zone);
  return again;
}

function* remove(scope: FlowScope, operation: Deletion): Flow<Outcome> {
  const { recordId, key, remoteId } = operation;
  const etag = deletableTag(operation.versionTag);
  const isForGood = operation.erase === true || scope.deleteMode === 'permanent';
  let isToBeEmptied = false;
  let storedId = remoteId;
  if (remoteId !== null && etag !== null) {
    const answer = yield deleteCall(scope, isForGood, { id: remoteId, etag });
    if (isSuccess(answer)) return { recordId, result: 'deleted', effect: 'deleted' };
    const isElsewhere = isGone(answer) || isConflict(answer);
    if (isGone(answer)) storedId = null;
    isToBeEmptied = isForGood && !isElsewhere && isNoSuchAction(answer);
    if (!isElsewhere && !isToBeEmptied) throw errors.of(answer);
  }
  const event = operation.isDuplicate === true ? yield* copyAt(scope, storedId) : yield* lookUp(scope, key, storedId);
  if (event === null || event === 'foreign') return { recordId, result: 'deleted', effect: 'already-gone' };
  const superseded = supersededBy(operation, toRemoteItem(event));
  if (superseded !== null) return superseded;
  if (event.hasGuests) throw errors.make('event-has-guests');
  if (!isToBeEmptied) {
    const answer = yield deleteCall(scope, isForGood, event);
    if (isSuccess(answer)) return deletedWith(operation, additionsTextOf(event));
    if (!isForGood || !isNoSuchAction(answer)) throw meanwhileOr(answer);
  }
  return yield* removeEmptied(scope, operation, event);
}

/** Fetches a second event of a record by its id: the search by key would also find the first one. */
function* copyAt(scope: FlowScope, id: string | null): Flow<OwnEvent | null> {
  return id === null ? null : yield* readEvent(scope, id, null);
}

/** Clears and deletes an event if permanent deletion is unavailable, so that Deleted Items contains no data. */
function* removeEmptied(scope: FlowScope, operation: Deletion, event: OwnEvent): Flow<Outcome> {
  const blank = yield* write(scope, BLANK_ITEM.time, (zoned) => blankCall(zoned, operation.key, event));
  if (!isSuccess(blank)) throw meanwhileOr(blank);
  const head = eventHeadSchema.safeParse(blank.body).data;
  const answer = yield deleteCall(scope, false, { id: event.id, etag: storableTag(head?.['@odata.etag']) });
  if (isSuccess(answer)) return deletedWith(operation, additionsTextOf(event));
  throw meanwhileOr(answer);
}

/** Returns the error of a refused write to an event that was fetched a moment earlier. */
function meanwhileOr(answer: WireResponse): MirrorError {
  return isConflict(answer) || isGone(answer) ? errors.make('changed-meanwhile', { status: 412 }) : errors.of(answer);
}

/**
 * Searches the calendar for events with a key. An empty list proves that the calendar exists. An event that lost its marks is fetched by
 * its stored id. Of several events, as when a user copied an event, the event with the stored id is returned, otherwise the event that
 * clinic-mirror created.
 * @returns `foreign` if an event has the key but not the owner tag
 */
function* lookUp(scope: FlowScope, key: ItemKey, remoteId: string | null): Flow<OwnEvent | 'foreign' | null> {
  const events: unknown[] = [];
  let path: string | null = withQuery(eventsPath(scope), eventsQuery(PROPERTIES.key, key));
  const visit = guardWalk(() => errors.make('unexpected-answer'));
  while (path !== null) {
    visit(path);
    const answer: WireResponse = yield { method: 'GET', path };
    if (isGone(answer)) throw errors.make('calendar-gone', { status: answer.status });
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = readPage(answer);
    events.push(...page.elements);
    if (events.length > LARGEST_PAGE) throw errors.make('unexpected-answer');
    path = page.next;
  }
  if (events.length === 0) return remoteId === null ? null : yield* readEvent(scope, remoteId, key);
  return firstOwn(scope, events, { key, remoteId }) ?? 'foreign';
}

/** Reads the wanted event only, since reading takes up to twenty milliseconds per event. */
function firstOwn(
  scope: FlowScope,
  events: readonly unknown[],
  { key, remoteId }: { key: ItemKey; remoteId: string | null },
): OwnEvent | null {
  const ids = events.map((event) => ({ event, ...eventIdSchema.safeParse(event).data }));
  const [stored, others] = partition(ids, ({ id }) => id === remoteId && remoteId !== null);
  const [ours, copies] = partition(others, ({ transactionId }) => transactionId === key);
  for (const { event } of [...stored, ...ours, ...copies]) {
    const own = readOwnEvent(event, scope);
    if (own !== null) return own;
  }
  return null;
}

function partition<Element>(list: readonly Element[], isFirst: (element: Element) => boolean): [Element[], Element[]] {
  return [list.filter(isFirst), list.filter((element) => !isFirst(element))];
}

/**
 * Fetches the current state of one event, or null if the event is foreign or no longer in the calendar.
 * @param storedKey key of the event if its id is stored
 */
export function* readEvent(scope: FlowScope, id: string, storedKey: ItemKey | null): Flow<OwnEvent | null> {
  const path = withQuery(`${eventsPath(scope)}/${pathSegment(id)}`, EVENT_QUERY);
  const answer = yield { method: 'GET', path };
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  return readOwnEvent(answer.body, scope, storedKey);
}

/** Returns the id of the event with a transaction id. Graph has no filter for it; equal lists of one call are fetched once. */
function* findTransaction(scope: FlowScope, key: ItemKey): Flow<string | null> {
  let path: string | null = withQuery(eventsPath(scope), { $select: 'id,transactionId', $top: EVENTS_PAGE_SIZE });
  const visit = guardWalk(() => errors.make('unexpected-answer'));
  while (path !== null) {
    visit(path);
    const answer: WireResponse = yield { method: 'GET', path };
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = readPage(answer);
    const heads = page.elements.flatMap((event) => eventIdSchema.safeParse(event).data ?? []);
    const found = heads.find(({ transactionId }) => transactionId === key);
    if (found !== undefined) return found.id;
    path = page.next;
  }
  return null;
}

function written(
  scope: FlowScope,
  operation: Write,
  answer: WireResponse,
  { effect, stored: storedId = null }: { effect: WriteEffect; stored?: string | null },
): Outcome {
  const { recordId } = operation;
  const stored = storedEvent(scope, operation, answer);
  if (stored === null) return { recordId, result: 'written', effect, versionTag: null, remoteId: storedId };
  const { versionTag, remoteId, item } = toRemoteItem(stored);
  const outcome: Outcome = { recordId, result: 'written', effect, versionTag, remoteId };
  return item === null ? outcome : { ...outcome, stored: item };
}

/** Returns the event from the response to a write. The response omits extended properties, so the sent properties are used. */
function storedEvent(scope: FlowScope, operation: Write, { body }: WireResponse): OwnEvent | null {
  const { singleValueExtendedProperties } = contentOf(scope, operation);
  const event = { ...(body as object | null | undefined), singleValueExtendedProperties };
  return readOwnEvent(event, scope);
}

function insertCall(scope: FlowScope, operation: Write): WireCall {
  return {
    method: 'POST',
    path: eventsPath(scope),
    body: { transactionId: operation.key, ...contentOf(scope, operation) },
  };
}

type EventVersion = Pick<OwnEvent, 'id' | 'etag'>;

function patchCall(scope: FlowScope, operation: Write, event: EventVersion & Touched): WireCall {
  const descriptionParts = recoveredParts(event.descriptionParts, 'plain', operation);
  const added = operation.kind === 'update' ? operation.additions : undefined;
  const taken = withAdditionsOf({ ...event, descriptionParts }, added);
  const patch = toPatch(operation.item, labelsOf(scope.ownerTag, operation), scope, taken.event);
  const body = { ...taken.categories, ...patch, ...taken.reminder };
  return { method: 'PATCH', path: eventPath(scope, event.id), ifMatch: event.etag, body };
}

function blankCall(scope: FlowScope, key: ItemKey, event: OwnEvent): WireCall {
  const body = toBlankPatch({ ownerTag: scope.ownerTag, key }, scope, event);
  return { method: 'PATCH', path: eventPath(scope, event.id), ifMatch: event.etag, body };
}

function deleteCall(scope: FlowScope, isForGood: boolean, { id, etag }: EventVersion): WireCall {
  const path = eventPath(scope, id);
  if (isForGood) return { method: 'POST', path: `${path}/permanentDelete`, ifMatch: etag };
  return { method: 'DELETE', path, ifMatch: etag };
}

function contentOf(scope: FlowScope, operation: Write) {
  return toEvent(operation.item, labelsOf(scope.ownerTag, operation), scope);
}

/** Returns the path of the calendar's events. */
export function eventsPath({ mailboxPath, calendarId }: Pick<FlowScope, 'mailboxPath' | 'calendarId'>): string {
  return `${mailboxPath}/calendars/${pathSegment(calendarId)}/events`;
}

/** Returns the path of an event, which contains no calendar id: event ids are unique in the mailbox. */
function eventPath({ mailboxPath }: FlowScope, id: string): string {
  return `${mailboxPath}/events/${pathSegment(id)}`;
}
