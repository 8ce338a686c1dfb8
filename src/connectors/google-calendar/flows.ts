import type { MirrorError } from '../../core/model/errors.ts';
import type {
  Deleted,
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
import { deletableTag, recoveredParts, writableTag } from '../event-content.ts';
import type { Flow } from '../flow.ts';
import { labelsOf } from '../labels.ts';
import { deletedWith, failed } from '../outcomes.ts';
import { supersededBy } from '../owner.ts';
import { isSuccess, type WireCall, type WireResponse } from '../wire.ts';
import { additionsTextOf, withAdditionsOf } from './additions.ts';
import { errors, hasReason } from './errors.ts';
import {
  holds,
  isBlank,
  type OwnEvent,
  readOwnEvent,
  type Touched,
  toBlankEvent,
  toEvent,
  toPatch,
  toRemoteItem,
  UNTOUCHED,
} from './from-model.ts';
import { EVENT_FIELDS, UNREADABLE_FOR_MS } from './limits.ts';
import { pageSchema } from './schemas.ts';

/** Settings that the flows of one target share. */
export interface FlowScope {
  calendarId: string;
  ownerTag: string;
  /** If set, Google charges the calls to this user's quota. */
  quotaUser: string | null;
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
export function* findFlow(scope: FlowScope, key: ItemKey): Flow<RemoteItem | null> {
  const answer = yield getCall(scope, key);
  if (isGone(answer)) {
    yield* expectCalendar(scope);
    return null;
  }
  const event = readOwn(scope, answer);
  return event === null || event.cancelled ? null : toRemoteItem(event);
}

/** Fetches the web page of an event, with the event's id. Returns null if Google provides no page. */
export function* pageFlow(scope: FlowScope, id: string): Flow<[string, string] | null> {
  const answer = yield { method: 'GET', path: eventPath(scope, id, { fields: 'htmlLink' }) };
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  const page = pageSchema.safeParse(answer.body).data?.htmlLink;
  return page === undefined ? null : [id, page];
}

/** Inserts under the operation's own id: Google refuses a second insert of a key, which prevents duplicates. */
function* insert(scope: FlowScope, operation: Write, effect: WriteEffect): Flow<Outcome> {
  const answer = yield* write(insertCall(scope, operation));
  if (isSuccess(answer)) return written(scope, operation, answer, { effect, remoteId: null });
  if (answer.status === 404) throw errors.make('calendar-gone', { status: 404 });
  if (!hasReason(answer, 'duplicate')) throw errors.of(answer);
  const resolved = yield* reconcile(scope, operation, operation.key, 'adopted');
  if (resolved !== null) return resolved;
  return { ...failed(operation, errors.make('not-yet-readable', { status: 404 })), burnsKeyAfterMs: UNREADABLE_FOR_MS };
}

function* update(scope: FlowScope, operation: Update): Flow<Outcome> {
  const id = operation.remoteId ?? operation.key;
  const { item } = operation;
  const etag = writableTag(operation.versionTag);
  if (etag !== null && item.presets === undefined && operation.additions === undefined) {
    const untouched = { etag, ...UNTOUCHED };
    const answer = yield* write(patchCall(scope, operation, id, untouched));
    if (isSuccess(answer))
      return written(scope, operation, answer, { effect: 'updated', remoteId: operation.remoteId });
    if (answer.status === 404) return yield* insert(scope, operation, 'recreated');
    if (answer.status !== 410 && answer.status !== 412 && !mayLackSequence(answer)) throw errors.of(answer);
  }
  return (yield* reconcile(scope, operation, id, 'updated')) ?? (yield* insert(scope, operation, 'recreated'));
}

/**
 * Decides whether Google may have refused a write because of a missing sequence number. Practitioners report that Google treats a missing
 * number as 0, which is too low after a move. Google has no specific reason for this refusal.
 * @see https://stackoverflow.com/questions/24364004
 */
function mayLackSequence(answer: WireResponse): boolean {
  return answer.status === 400 && hasReason(answer, 'invalid');
}

/**
 * Fetches the event at an id and updates its content if required:
 * - A deleted event is revived.
 * - An event with the right content is left unchanged.
 * - An event with a later write ends the operation.
 * - A foreign event makes the key unusable.
 *
 * Users' own content is kept, except in a deleted event.
 * @returns null if no event has the id
 */
function* reconcile(scope: FlowScope, operation: Write, id: string, effect: WriteEffect): Flow<Outcome | null> {
  const answer = yield getCall(scope, id);
  if (isGone(answer)) return null;
  const event = readOwn(scope, answer);
  if (event === null) return { recordId: operation.recordId, result: 'key-burnt' };
  const superseded = supersededBy(operation, toRemoteItem(event), event.cancelled);
  if (superseded !== null) return superseded;
  const remoteId = id === operation.key ? null : id;
  if (!event.cancelled && holds(event, operation)) {
    return written(scope, operation, answer, { effect, remoteId });
  }
  const call = event.cancelled ? putCall(scope, operation, id, event) : patchCall(scope, operation, id, event);
  const answered = yield* write(call);
  if (isSuccess(answered))
    return written(scope, operation, answered, { effect: event.cancelled ? 'revived' : effect, remoteId });
  const error = errors.of(answered);
  if (event.cancelled && isRefusedRevival(error)) return { recordId: operation.recordId, result: 'key-burnt' };
  throw error;
}

function* remove(scope: FlowScope, operation: Deletion): Flow<Outcome> {
  if (operation.erase === true) return yield* erase(scope, operation);
  const id = operation.remoteId ?? operation.key;
  const gone: Outcome = { recordId: operation.recordId, result: 'deleted', effect: 'already-gone' };
  const tag = deletableTag(operation.versionTag);
  if (tag !== null) {
    const answer = yield* write(deleteCall(scope, id, tag));
    if (answer.status !== 412) return yield* deleted(scope, operation, answer);
  }
  const found = yield getCall(scope, id);
  if (isGone(found)) return yield* deleted(scope, operation, found);
  const event = readOwn(scope, found);
  if (event === null || event.cancelled) return gone;
  const superseded = supersededBy(operation, toRemoteItem(event));
  if (superseded !== null) return superseded;
  const answer = yield* write(deleteCall(scope, id, event.etag));
  const { effect } = yield* deleted(scope, operation, answer);
  return deletedWith(operation, additionsTextOf(event), effect);
}

/**
 * Clears the event before the deletion, since Google shows a deleted event to users with write access for an undocumented time (reference
 * of events, `status`). A previously deleted event is revived without content and deleted again.
 */
function* erase(scope: FlowScope, operation: Deletion): Flow<Outcome> {
  const id = operation.remoteId ?? operation.key;
  const gone: Outcome = { recordId: operation.recordId, result: 'deleted', effect: 'already-gone' };
  const found = yield getCall(scope, id);
  if (isGone(found)) return yield* deleted(scope, operation, found);
  const event = readOwn(scope, found);
  if (event === null || (event.cancelled && isBlank(event))) return gone;
  const blank = yield* write(blankCall(scope, id, event));
  if (!isSuccess(blank)) {
    const error = errors.of(blank);
    if (event.cancelled && isRefusedRevival(error)) return gone;
    throw error;
  }
  const answer = yield* write(deleteCall(scope, id, etagOf(blank)));
  return yield* deleted(scope, operation, answer);
}

/** Google sends 404 for a missing event and for a missing calendar. Only a missing event is a success. */
function* deleted(scope: FlowScope, { recordId }: Deletion, answer: WireResponse): Flow<Deleted> {
  if (isSuccess(answer)) return { recordId, result: 'deleted', effect: 'deleted' };
  if (!isGone(answer)) throw errors.of(answer);
  if (answer.status === 404) yield* expectCalendar(scope);
  return { recordId, result: 'deleted', effect: 'already-gone' };
}

/** Sends a call again outside the batch if Google could not process the call within the batch. */
function* write(call: WireCall): Flow<WireResponse> {
  const answer = yield call;
  if (answer.status !== 409 || !hasReason(answer, 'conflict')) return answer;
  return yield { ...call, alone: true };
}

/** Checks that Google lists events: a calendar can exist while all of its events return 404. */
function* expectCalendar(scope: FlowScope): Flow<void> {
  const answer = yield { method: 'GET', path: pathTo(scope, '/events', { maxResults: '1', fields: 'kind' }) };
  if (answer.status === 404) throw errors.make('calendar-gone', { status: 404 });
  if (!isSuccess(answer)) throw errors.of(answer);
}

function isGone(answer: WireResponse): boolean {
  return answer.status === 404 || answer.status === 410;
}

/** Google sometimes forbids, or no longer finds, the id of an event that a user deleted in Google Calendar. */
function isRefusedRevival(error: MirrorError): boolean {
  return error.actor === 'settings' || error.status === 404 || error.status === 410;
}

function readOwn(scope: FlowScope, answer: WireResponse): OwnEvent | null {
  if (!isSuccess(answer)) throw errors.of(answer);
  if (typeof answer.body !== 'object') throw errors.make('unexpected-answer');
  return readOwnEvent(answer.body, scope.ownerTag);
}

function written(
  { ownerTag }: FlowScope,
  { recordId }: Write,
  answer: WireResponse,
  { effect, remoteId }: { effect: WriteEffect; remoteId: string | null },
): Outcome {
  const event = readOwnEvent(answer.body, ownerTag);
  const { versionTag, item: stored } =
    event === null ? { versionTag: etagOf(answer), item: null } : toRemoteItem(event);
  const outcome: Outcome = { recordId, result: 'written', effect, versionTag, remoteId };
  const shown = event === null ? outcome : ({ ...outcome, marks: event.marksLost ? 'dropped' : 'kept' } as const);
  return stored === null ? shown : { ...shown, stored };
}

function etagOf({ body }: WireResponse): string | null {
  if (typeof body !== 'object' || body === null || !('etag' in body)) return null;
  return typeof body.etag === 'string' ? storableTag(body.etag) : null;
}

/** Suppresses e-mails to guests. The response contains the stored event, limited to the fields in use. */
const WRITE_QUERY = { sendUpdates: 'none', fields: EVENT_FIELDS };

function insertCall(scope: FlowScope, operation: Write): WireCall {
  const body = { id: operation.key, ...contentOf(scope, operation) };
  return { method: 'POST', path: pathTo(scope, '/events', WRITE_QUERY), body };
}

/** Version fields that a write needs. If an event has no sequence number, the write sends none. */
type EventVersion = Pick<OwnEvent, 'etag' | 'sequence'>;

/** Changes the fields of clinic-mirror and keeps all others. */
function patchCall(scope: FlowScope, operation: Write, id: string, event: EventVersion & Touched): WireCall {
  const recovered = recoveredParts(event.descriptionParts, 'html', operation);
  const added = operation.kind === 'update' ? operation.additions : undefined;
  const { descriptionParts, fields, query } = withAdditionsOf({ ...event, descriptionParts: recovered }, added);
  const touched = { ...event, descriptionParts };
  const body = {
    ...toPatch(operation.item, labelsOf(scope.ownerTag, operation), touched),
    ...fields,
    ...sequenceOf(event),
  };
  return { method: 'PATCH', path: eventPath(scope, id, { ...WRITE_QUERY, ...query }), ifMatch: event.etag, body };
}

/** Replaces the whole event. */
function putCall(scope: FlowScope, operation: Write, id: string, event: EventVersion): WireCall {
  const body = { ...contentOf(scope, operation), ...sequenceOf(event) };
  return { method: 'PUT', path: eventPath(scope, id, WRITE_QUERY), ifMatch: event.etag, body };
}

function contentOf(scope: FlowScope, operation: Write): object {
  return toEvent(operation.item, labelsOf(scope.ownerTag, operation));
}

function blankCall(scope: FlowScope, id: string, event: EventVersion): WireCall {
  const body = { ...toBlankEvent(scope.ownerTag), ...sequenceOf(event) };
  return { method: 'PUT', path: eventPath(scope, id, WRITE_QUERY), ifMatch: event.etag, body };
}

/** Google refuses a sequence number lower than the stored number (guides/version-resources). */
function sequenceOf({ sequence }: Pick<OwnEvent, 'sequence'>): { sequence?: number } {
  return sequence === undefined ? {} : { sequence };
}

function deleteCall(scope: FlowScope, id: string, ifMatch: string | null): WireCall {
  return { method: 'DELETE', path: eventPath(scope, id, { sendUpdates: 'none' }), ifMatch };
}

function getCall(scope: FlowScope, id: string): WireCall {
  return { method: 'GET', path: eventPath(scope, id, { fields: EVENT_FIELDS }) };
}

function eventPath(scope: FlowScope, id: string, query: Record<string, string>): string {
  return pathTo(scope, `/events/${pathSegment(id)}`, query);
}

function pathTo({ calendarId, quotaUser }: FlowScope, rest: string, query: Record<string, string> = {}): string {
  const search = new URLSearchParams(quotaUser === null ? query : { ...query, quotaUser }).toString();
  return `/calendar/v3/calendars/${pathSegment(calendarId)}${rest}${search === '' ? '' : `?${search}`}`;
}
