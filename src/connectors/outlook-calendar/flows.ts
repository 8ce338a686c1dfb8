import type { CalendarItem } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../../model/operations.ts';
import type { Flow } from '../flow.ts';
import { supersededBy } from '../revision.ts';
import { guardWalk } from '../walk.ts';
import { isSuccess, type WireCall, type WireResponse } from '../wire.ts';
import { errors, isConflict, isDuplicate, isGone } from './errors.ts';
import { holds, type OwnEvent, readOwnEvent, toEvent, toRemoteItem } from './from-model.ts';
import { PROPERTIES } from './limits.ts';
import { readPage } from './pages.ts';
import { eventsQuery, withQuery } from './paths.ts';
import { eventHeadSchema, type OutlookCalendarSettings } from './schemas.ts';

type Write = Exclude<Operation, { kind: 'delete' }>;
type Deletion = Extract<Operation, { kind: 'delete' }>;
type Effect = Extract<Outcome, { result: 'written' }>['effect'];

/** What the flows of one target have in common. */
export interface FlowScope extends Pick<OutlookCalendarSettings, 'deleteMode' | 'wholeDayZone'> {
  /** Path of the mailbox: `/me` or `/users/…`. */
  mailboxPath: string;
  calendarId: string;
  ownerTag: string;
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

/** Inserts under our key as transaction id, so that a second insert of the same key is refused rather than doubled. */
function* insert(scope: FlowScope, operation: Write, effect: Effect): Flow<Outcome> {
  const answer = yield insertCall(scope, operation);
  if (isSuccess(answer)) return yield* inserted(scope, operation, effect, answer);
  if (isGone(answer)) throw errors.make('calendar-gone', { status: answer.status });
  if (!isDuplicate(answer)) throw errors.of(answer);
  // What carried the key and stands here no more was deleted or moved away, and Outlook will not take the key again.
  return (yield* reconcile(scope, operation, 'adopted')) ?? { recordId: operation.recordId, result: 'key-burnt' };
}

/** An event whose id did not reach us can be found by its key, and must be: it carries the name that Outlook gave it. */
function* inserted(scope: FlowScope, operation: Write, effect: Effect, answer: WireResponse): Flow<Outcome> {
  if (eventHeadSchema.safeParse(answer.body).success) return written(scope, operation, effect, answer);
  const settled = yield* reconcile(scope, operation, effect);
  if (settled === null) throw errors.make('unexpected-answer', { ambiguous: true });
  return settled;
}

function* update(scope: FlowScope, operation: Extract<Operation, { kind: 'update' }>): Flow<Outcome> {
  const { remoteId, versionTag } = operation;
  if (remoteId !== null && versionTag !== null) {
    const answer = yield patchCall(scope, operation, remoteId, versionTag);
    if (isSuccess(answer)) return written(scope, operation, 'updated', answer, remoteId);
    if (!isGone(answer) && !isConflict(answer)) throw errors.of(answer);
  }
  return (yield* reconcile(scope, operation, 'updated')) ?? (yield* insert(scope, operation, 'recreated'));
}

/**
 * Reads what carries the key in the calendar and brings it to the wanted content: left alone when it holds the content already,
 * given up when it carries a later write, burnt when it is not ours.
 * @returns null when nothing carries the key
 */
function* reconcile(scope: FlowScope, operation: Write, effect: Effect): Flow<Outcome | null> {
  const { recordId, key } = operation;
  const event = yield* lookUp(scope, key, 'remoteId' in operation ? operation.remoteId : null);
  if (event === null) return null;
  if (event === 'foreign') return { recordId, result: 'key-burnt' };
  const superseded = supersededBy(operation, toRemoteItem(event));
  if (superseded !== null) return superseded;
  const stored = holds(event, operation) ? event.item : null;
  if (stored !== null) {
    const { etag: versionTag, id: remoteId } = event;
    return { recordId, result: 'written', effect, versionTag, remoteId, stored };
  }
  if (event.hasGuests) throw errors.make('event-has-guests');
  const answer = yield patchCall(scope, operation, event.id, event.etag);
  if (isSuccess(answer)) return written(scope, operation, effect, answer, event.id);
  throw isConflict(answer) || isGone(answer) ? errors.make('changed-meanwhile', { status: 412 }) : errors.of(answer);
}

function* remove(scope: FlowScope, operation: Deletion): Flow<Outcome> {
  const { recordId, key, remoteId, versionTag } = operation;
  if (remoteId !== null && versionTag !== null) {
    const answer = yield deleteCall(scope, operation, remoteId, versionTag);
    if (isSuccess(answer)) return { recordId, result: 'deleted', effect: 'deleted' };
    if (!isGone(answer) && !isConflict(answer)) throw errors.of(answer);
  }
  const event = yield* lookUp(scope, key, remoteId);
  if (event === null || event === 'foreign') return { recordId, result: 'deleted', effect: 'already-gone' };
  const superseded = supersededBy(operation, toRemoteItem(event));
  if (superseded !== null) return superseded;
  if (event.hasGuests) throw errors.make('event-has-guests');
  const answer = yield deleteCall(scope, operation, event.id, event.etag);
  if (isSuccess(answer)) return { recordId, result: 'deleted', effect: 'deleted' };
  throw isConflict(answer) || isGone(answer) ? errors.make('changed-meanwhile', { status: 412 }) : errors.of(answer);
}

/**
 * Looks in the calendar for what carries a key. An empty list proves both: the calendar is there, the event is not. Of several,
 * as when a person copied an event, it is the one of the known id, else the one that we created.
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
  effect: Effect,
  answer: WireResponse,
  known: string | null = null,
): Outcome {
  const head = eventHeadSchema.safeParse(answer.body).data;
  const [versionTag, remoteId] = [head?.['@odata.etag'] ?? null, head?.id ?? known];
  const stored = storedItem(scope, operation, answer);
  const outcome: Outcome = { recordId: operation.recordId, result: 'written', effect, versionTag, remoteId };
  return stored === null ? outcome : { ...outcome, stored };
}

/** The event as the answer to a write shows it. Extended properties are not in it: they are those that were sent. */
function storedItem(scope: FlowScope, operation: Write, { body }: WireResponse): CalendarItem | null {
  const { singleValueExtendedProperties } = contentOf(scope, operation);
  const event = { ...(body as object | null | undefined), singleValueExtendedProperties };
  return readOwnEvent(event, scope.ownerTag, scope.wholeDayZone)?.item ?? null;
}

function insertCall(scope: FlowScope, operation: Write): WireCall {
  return {
    method: 'POST',
    path: eventsPath(scope),
    body: { transactionId: operation.key, ...contentOf(scope, operation) },
  };
}

function patchCall(scope: FlowScope, operation: Write, id: string, ifMatch: string | null): WireCall {
  return { method: 'PATCH', path: eventPath(scope, id), ifMatch, body: contentOf(scope, operation) };
}

function deleteCall(scope: FlowScope, { erase }: Deletion, id: string, ifMatch: string | null): WireCall {
  const path = eventPath(scope, id);
  if (erase === true || scope.deleteMode === 'permanent')
    return { method: 'POST', path: `${path}/permanentDelete`, ifMatch };
  return { method: 'DELETE', path, ifMatch };
}

function contentOf({ ownerTag, wholeDayZone }: FlowScope, { key, sealedRecordId, item, revision }: Write) {
  return toEvent(item, { ownerTag, key, sealedRecordId, revision }, wholeDayZone);
}

/** The path of the calendar's events. */
export function eventsPath({ mailboxPath, calendarId }: Pick<FlowScope, 'mailboxPath' | 'calendarId'>): string {
  return `${mailboxPath}/calendars/${encodeURIComponent(calendarId)}/events`;
}

/** An event is addressed by its id alone, in whichever calendar of the mailbox it is. */
function eventPath({ mailboxPath }: FlowScope, id: string): string {
  return `${mailboxPath}/events/${encodeURIComponent(id)}`;
}
