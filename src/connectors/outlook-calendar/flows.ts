import type { MirrorError } from '../../model/errors.ts';
import type { ItemTime } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../../model/operations.ts';
import { BLANK_ITEM } from '../event-content.ts';
import type { Flow } from '../flow.ts';
import { supersededBy } from '../owner.ts';
import { guardWalk, isSuccess, type WireCall, type WireResponse } from '../wire.ts';
import { errors, isConflict, isDuplicate, isGone, isNoSuchAction, mayMeanZone } from './errors.ts';
import {
  holds,
  type OwnEvent,
  readOwnEvent,
  type Stamp,
  type Touched,
  toBlankPatch,
  toEvent,
  toPatch,
  toRemoteItem,
  UNTOUCHED,
  UTC,
  writtenZone,
} from './from-model.ts';
import { EARLIER_BY_MS, PROPERTIES } from './limits.ts';
import { eventsQuery, readPage, withQuery } from './paths.ts';
import { type EventHead, eventHeadSchema, type OutlookCalendarSettings, pageLinkSchema } from './schemas.ts';

type Write = Exclude<Operation, { kind: 'delete' }>;
type Deletion = Extract<Operation, { kind: 'delete' }>;
type Effect = Extract<Outcome, { result: 'written' }>['effect'];

/** What the flows of one target have in common. */
export interface FlowScope extends Pick<OutlookCalendarSettings, 'deleteMode'> {
  /** Path of the mailbox: `/me` or `/users/…`. */
  mailboxPath: string;
  calendarId: string;
  ownerTag: string;
  /** The zone in which whole days begin. */
  wholeDayZone: string;
  /** Zones that Outlook refused since the connector was opened. */
  refusedZones: Set<string>;
}

/** The flow of one operation: its calls, and its one outcome. It throws MirrorError for a failure. */
export function operationFlow(scope: FlowScope, operation: Operation): Flow<Outcome> {
  if (operation.kind === 'create') return insert(scope, operation, 'created');
  if (operation.kind === 'update') return update(scope, operation);
  return remove(scope, operation);
}

/** Looks for one event of ours; null when it is not there, deleted or not ours. */
export function* findFlow(scope: FlowScope, key: ItemKey): Flow<RemoteItem | null> {
  const found = yield* lookUp(scope, key, null);
  return typeof found === 'object' && found !== null ? toRemoteItem(found) : null;
}

/** The page that Outlook gives of an event, with its id; null when it gives none. */
export function* pageFlow(scope: FlowScope, id: string): Flow<[string, string] | null> {
  const answer = yield { method: 'GET', path: `${eventPath(scope, id)}?$select=webLink` };
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  const page = pageLinkSchema.safeParse(answer.body).data?.webLink;
  return page === undefined ? null : [id, page];
}

/** Inserts under our key as transaction id, so that a second insert of the same key is refused rather than doubled. */
function* insert(scope: FlowScope, operation: Write, effect: Effect): Flow<Outcome> {
  const answer = yield* write(scope, operation.item.time, (zoned) => insertCall(zoned, operation));
  if (isSuccess(answer)) return yield* inserted(scope, operation, effect, answer);
  if (isGone(answer)) throw errors.make('calendar-gone', { status: answer.status });
  if (!isDuplicate(answer)) throw errors.of(answer);
  // What carried the key and stands here no more was deleted or moved away, and Outlook will not take the key again.
  return (yield* reconcile(scope, operation, 'adopted')) ?? { recordId: operation.recordId, result: 'key-burnt' };
}

/**
 * An event whose id did not reach us can be found by its key, and must be: it carries the name that Outlook gave it. So must one that was
 * made before it was asked for: Outlook answers an equal request of before, whatever became of its event since.
 */
function* inserted(scope: FlowScope, operation: Write, effect: Effect, answer: WireResponse): Flow<Outcome> {
  const head = eventHeadSchema.safeParse(answer.body);
  const isEarlier = head.success && isMadeBefore(head.data, answer);
  if (head.success && !isEarlier) return written(scope, operation, answer, { effect });
  const resolved = yield* reconcile(scope, operation, isEarlier ? 'adopted' : effect);
  if (resolved !== null) return resolved;
  if (isEarlier) return { recordId: operation.recordId, result: 'key-burnt' };
  throw errors.make('unexpected-answer', { ambiguous: true });
}

/**
 * Whether an event that a create was answered with is that of an earlier, equal request.
 * @see https://blog.rykoma.net/2020/10/05/1559/ (observed; the reference says only that the id prevents duplicates)
 */
function isMadeBefore({ createdDateTime }: EventHead, { sentAt }: WireResponse): boolean {
  const createdAt = Date.parse(createdDateTime ?? '');
  return sentAt !== undefined && createdAt < sentAt - EARLIER_BY_MS;
}

function* update(scope: FlowScope, operation: Extract<Operation, { kind: 'update' }>): Flow<Outcome> {
  const { remoteId, versionTag, item } = operation;
  if (remoteId !== null && versionTag !== null && item.presets === undefined) {
    const untouched = { ...UNTOUCHED, id: remoteId, etag: versionTag };
    const answer = yield* write(scope, operation.item.time, (zoned) => patchCall(zoned, operation, untouched));
    if (isSuccess(answer)) return written(scope, operation, answer, { effect: 'updated', stored: remoteId });
    if (!isGone(answer) && !isConflict(answer)) throw errors.of(answer);
  }
  return (yield* reconcile(scope, operation, 'updated')) ?? (yield* insert(scope, operation, 'recreated'));
}

/**
 * Reads what carries the key in the calendar and brings it to the wanted content: left alone when it holds the content already,
 * given up when it carries a later write, burnt when it is not ours. What is a person's stays as it is.
 * @returns null when nothing carries the key
 */
function* reconcile(scope: FlowScope, operation: Write, effect: Effect): Flow<Outcome | null> {
  const { recordId, key } = operation;
  const event = yield* lookUp(scope, key, 'remoteId' in operation ? operation.remoteId : null);
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

/** A write whose zone Outlook may not know goes out once more in UTC; if that is taken, so do all that follow in that zone. */
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
  const { recordId, key, remoteId, versionTag } = operation;
  const isForGood = operation.erase === true || scope.deleteMode === 'permanent';
  let isToBeEmptied = false;
  if (remoteId !== null && versionTag !== null) {
    const answer = yield deleteCall(scope, isForGood, { id: remoteId, etag: versionTag });
    if (isSuccess(answer)) return { recordId, result: 'deleted', effect: 'deleted' };
    const isElsewhere = isGone(answer) || isConflict(answer);
    isToBeEmptied = isForGood && !isElsewhere && isNoSuchAction(answer);
    if (!isElsewhere && !isToBeEmptied) throw errors.of(answer);
  }
  const event = yield* lookUp(scope, key, remoteId);
  if (event === null || event === 'foreign') return { recordId, result: 'deleted', effect: 'already-gone' };
  const superseded = supersededBy(operation, toRemoteItem(event));
  if (superseded !== null) return superseded;
  if (event.hasGuests) throw errors.make('event-has-guests');
  if (!isToBeEmptied) {
    const answer = yield deleteCall(scope, isForGood, event);
    if (isSuccess(answer)) return { recordId, result: 'deleted', effect: 'deleted' };
    if (!isForGood || !isNoSuchAction(answer)) throw meanwhileOr(answer);
  }
  return yield* removeEmptied(scope, operation, event);
}

/** Where nothing can be deleted for good: what goes into Deleted Items says nothing. */
function* removeEmptied(scope: FlowScope, { recordId, key }: Deletion, event: OwnEvent): Flow<Outcome> {
  const blank = yield* write(scope, BLANK_ITEM.time, (zoned) => blankCall(zoned, key, event));
  if (!isSuccess(blank)) throw meanwhileOr(blank);
  const head = eventHeadSchema.safeParse(blank.body).data;
  const answer = yield deleteCall(scope, false, { id: event.id, etag: head?.['@odata.etag'] ?? null });
  if (isSuccess(answer)) return { recordId, result: 'deleted', effect: 'deleted' };
  throw meanwhileOr(answer);
}

/** The refusal of a write to what was just looked at. */
function meanwhileOr(answer: WireResponse): MirrorError {
  return isConflict(answer) || isGone(answer) ? errors.make('changed-meanwhile', { status: 412 }) : errors.of(answer);
}

/**
 * Looks in the calendar for what carries a key. An empty list proves both: the calendar is there, the event is not. Of several,
 * as when a person copied an event, it is the one of the storedId id, else the one that we created.
 * @returns `foreign` when something carries the key and not our owner tag
 */
function* lookUp(scope: FlowScope, key: ItemKey, remoteId: string | null): Flow<OwnEvent | 'foreign' | null> {
  const events: (OwnEvent | null)[] = [];
  let path: string | null = withQuery(eventsPath(scope), eventsQuery(PROPERTIES.key, key));
  const visit = guardWalk(() => errors.make('unexpected-answer'));
  while (path !== null) {
    visit(path);
    const answer: WireResponse = yield { method: 'GET', path };
    if (isGone(answer)) throw errors.make('calendar-gone', { status: answer.status });
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = readPage(answer);
    events.push(...page.elements.map((event) => readOwnEvent(event, scope.ownerTag, scope.wholeDayZone)));
    path = page.next;
  }
  const own = events.filter((event) => event !== null);
  if (own.length === 0) return events.length === 0 ? null : 'foreign';
  return own.find(({ id }) => id === remoteId) ?? own.find((event) => event.transactionId === key) ?? own[0]!;
}

function written(
  scope: FlowScope,
  operation: Write,
  answer: WireResponse,
  { effect, stored: storedId = null }: { effect: Effect; stored?: string | null },
): Outcome {
  const { recordId } = operation;
  const stored = storedEvent(scope, operation, answer);
  if (stored === null) return { recordId, result: 'written', effect, versionTag: null, remoteId: storedId };
  const { versionTag, remoteId, item } = toRemoteItem(stored);
  const outcome: Outcome = { recordId, result: 'written', effect, versionTag, remoteId };
  return item === null ? outcome : { ...outcome, stored: item };
}

/** The event as the answer to a write shows it. Extended properties are not in it: they are those that were sent. */
function storedEvent(scope: FlowScope, operation: Write, { body }: WireResponse): OwnEvent | null {
  const { singleValueExtendedProperties } = contentOf(scope, operation);
  const event = { ...(body as object | null | undefined), singleValueExtendedProperties };
  return readOwnEvent(event, scope.ownerTag, scope.wholeDayZone);
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
  const body = toPatch(operation.item, stampOf(scope, operation), scope, event);
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
  return toEvent(operation.item, stampOf(scope, operation), scope);
}

function stampOf({ ownerTag }: FlowScope, { key, sealedRecordId, revision }: Write): Stamp {
  return { ownerTag, key, sealedRecordId, revision };
}

/** The path of the calendar's events. */
export function eventsPath({ mailboxPath, calendarId }: Pick<FlowScope, 'mailboxPath' | 'calendarId'>): string {
  return `${mailboxPath}/calendars/${encodeURIComponent(calendarId)}/events`;
}

/** An event is addressed by its id alone, in whichever calendar of the mailbox it is. */
function eventPath({ mailboxPath }: FlowScope, id: string): string {
  return `${mailboxPath}/events/${encodeURIComponent(id)}`;
}
