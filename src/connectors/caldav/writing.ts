import { answerHeaders } from '../../core/http/headers.ts';
import type { MirrorError } from '../../core/model/errors.ts';
import type { Deletion, Operation, Outcome, Update, Write, WriteEffect } from '../../core/model/operations.ts';
import { BLANK_ITEM, NO_DESCRIPTION, NO_PRESETS, recoveredParts } from '../event-content.ts';
import { areOfWrite, labelsOf } from '../labels.ts';
import { deletedWith, effectOf } from '../outcomes.ts';
import { supersededBy } from '../owner.ts';
import { additionsTextOf, withAdditionsOf } from './additions.ts';
import { checked, mayWrite, proveThere } from './calendars.ts';
import {
  type Collection,
  keyOf,
  objectUrl,
  remoteIdOf,
  type StoredObject,
  toRemoteItem,
  versionTagOf,
} from './collection.ts';
import { errors } from './errors.ts';
import { isSameItem, type ObjectToWrite, toCalendarObject } from './from-model.ts';
import { findByUid, findRenamed, lookUp } from './reading.ts';
import {
  type DavProblem,
  type DavRequest,
  type DavResponse,
  isMember,
  isUidConflict,
  mayConcernCalendar,
  readProblem,
  refusal,
  resolveHref,
  strongTag,
  withOwnStatus,
} from './webdav.ts';

/** Outcome, with the object's URL after a write, so that a missing ETag can be fetched later. */
export interface LocatedOutcome {
  outcome: Outcome;
  url: URL | null;
}

const NOTHING_RETAINED = { userText: '', descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS };

/** Stored content that a write must keep. */
type Before = ObjectToWrite['stored'];

/** Result of the fetch before an operation: an object, null for an absent object, undefined without a fetch. */
export type Seen = StoredObject | null | undefined;

/**
 * Carries out one operation with the fewest requests: one PUT or DELETE under a precondition. If that request fails, the stored object is
 * fetched, owner tag and key decide, and the request is repeated once.
 * @throws MirrorError the reason why this operation, or the whole target, failed
 */
export async function carryOut(collection: Collection, operation: Operation, seen: Seen): Promise<LocatedOutcome> {
  if (operation.kind === 'delete') return await remove(collection, operation, seen);
  if (operation.kind === 'update') return await update(collection, operation, seen);
  if (seen !== undefined && seen !== null) return await overwrite(collection, operation, seen, 'adopted');
  if (operation.mayExist === true) return await makeAgain(collection, operation);
  return await create(collection, operation, 'created');
}

async function create(collection: Collection, operation: Write, effect: WriteEffect): Promise<LocatedOutcome> {
  const url = objectUrl(collection.url, operation.key, null);
  const answer = await put(collection, operation, url, { condition: { 'if-none-match': '*' } });
  if (isDone(answer)) return written(collection, operation, effect, { url, answer });
  const problem = readProblem(answer.body);
  if (isUidConflict(answer.status, problem)) return await adoptElsewhere(collection, operation, problem, url);
  if (!isUnmet(answer)) throw await explained(collection, answer);
  const stored = await lookUp(collection, url);
  if (stored !== null) return await overwrite(collection, operation, stored, 'adopted');
  // The object existed a moment earlier, so another client deleted it in the meantime.
  const again = await put(collection, operation, url, { condition: { 'if-none-match': '*' } });
  if (isDone(again)) return written(collection, operation, effect, { url, answer: again });
  throw await explained(collection, again);
}

/**
 * Handles a UID that is in use. If the calendar contains an object with this UID under a different name, which the server reports or a
 * search finds, the object is adopted. If the object is in a trash bin, or in a different calendar of an account with unique UIDs, the key
 * is unusable. An object that a user moved belongs to the user.
 */
async function adoptElsewhere(
  collection: Collection,
  operation: Write,
  { href }: DavProblem,
  url: URL,
): Promise<LocatedOutcome> {
  const named = href === null ? null : resolveHref(url, href);
  const stored = named !== null && isMember(collection.url, named) ? await lookUp(collection, named) : null;
  const elsewhere = stored?.content?.uid === operation.key ? stored : await findByUid(collection, operation.key);
  if (elsewhere !== null) return await overwrite(collection, operation, elsewhere, 'adopted');
  return { outcome: { recordId: operation.recordId, result: 'key-burnt' }, url: null };
}

/**
 * Creates an object again under a free name. Since a client may have renamed the object, and not all servers refuse a duplicate UID, a
 * renamed object is searched first.
 */
async function makeAgain(collection: Collection, operation: Write): Promise<LocatedOutcome> {
  const elsewhere = await findRenamed(collection, operation.key, { hadLink: operation.kind === 'update' });
  if (elsewhere !== null) return await overwrite(collection, operation, elsewhere, effectOf(operation, false));
  return await create(collection, operation, effectOf(operation, true));
}

async function update(collection: Collection, operation: Update, seen: Seen): Promise<LocatedOutcome> {
  const url = objectUrl(collection.url, operation.key, operation.remoteId);
  const tag = strongTag(operation.versionTag);
  const mustLook = tag === null || operation.additions !== undefined;
  let stored = seen === undefined && mustLook ? await lookUp(collection, url) : seen;
  if (stored === undefined) {
    const answer = await put(collection, operation, url, { condition: ifMatch(tag) });
    if (isDone(answer)) return written(collection, operation, 'updated', { url, answer });
    if (!isMissingOrChanged(answer)) throw await explained(collection, answer);
    stored = await lookUp(collection, url);
  }
  if (stored === null) return await makeAgain(collection, operation);
  return await overwrite(collection, operation, stored, 'updated');
}

/** Updates an existing own object and keeps users' additions. An object with the right content is left unchanged. */
async function overwrite(
  collection: Collection,
  operation: Write,
  stored: StoredObject,
  effect: WriteEffect,
): Promise<LocatedOutcome> {
  const { content, url, etag } = stored;
  const { recordId, key } = operation;
  if (keyOf(stored, collection.ownerTag) !== key) return { outcome: { recordId, result: 'key-burnt' }, url: null };
  const superseded = supersededBy(operation, toRemoteItem(stored, key, collection.ownerTag));
  if (superseded !== null) return { outcome: superseded, url: null };
  if (content !== null && areOfWrite(content, operation) && isSameItem(content.item, operation.item)) {
    const versionTag = versionTagOf(etag, content);
    return { outcome: { recordId, result: 'written', effect, versionTag, remoteId: foreignName(url, key) }, url };
  }
  const added = operation.kind === 'update' ? operation.additions : undefined;
  const descriptionParts = content && recoveredParts(content.descriptionParts, 'plain', operation);
  const before = content && descriptionParts && withAdditionsOf({ ...content, descriptionParts }, added);
  const answer = await put(collection, operation, url, { condition: ifMatch(etag), stored: before });
  if (isDone(answer)) return written(collection, operation, effect, { url, answer, before });
  if (content !== null && content.uid !== key && isUidConflict(answer.status, readProblem(answer.body))) {
    // A server may refuse another UID under an existing name (RFC 4791 section 5.3.2.1).
    if (isDone(await sendDelete(collection, url, etag))) return await create(collection, operation, 'recreated');
  }
  if (isMissingOrChanged(answer)) throw errors.make('changed-meanwhile', { status: 412 });
  throw await explained(collection, answer);
}

async function remove(collection: Collection, operation: Deletion, seen: Seen): Promise<LocatedOutcome> {
  const url = objectUrl(collection.url, operation.key, operation.remoteId);
  const tag = strongTag(operation.versionTag);
  const mustLook = tag === null || operation.erase === true;
  let stored = seen === undefined && mustLook ? await lookUp(collection, url) : seen;
  if (stored === undefined) {
    const answer = await sendDelete(collection, url, tag);
    if (isDone(answer)) return deleted(operation);
    if (!isMissingOrChanged(answer)) throw await explained(collection, answer);
    stored = await lookUp(collection, url);
  }
  if (stored === null && operation.isDuplicate !== true)
    stored = await findRenamed(collection, operation.key, { hadLink: true });
  // An object with neither the key's name nor its UID is foreign, so the own object is absent.
  if (stored === null || keyOf(stored, collection.ownerTag) !== operation.key)
    return deleted(operation, 'already-gone');
  const superseded = supersededBy(operation, toRemoteItem(stored, operation.key, collection.ownerTag));
  if (superseded !== null) return { outcome: superseded, url: null };
  const etag = operation.erase === true ? await emptied(collection, operation, stored) : stored.etag;
  const answer = await sendDelete(collection, stored.url, etag);
  if (isDone(answer)) return deleted(operation, 'deleted', stored.content);
  if (answer.status === 404 || answer.status === 410) return deleted(operation, 'already-gone');
  throw await explained(collection, answer);
}

/**
 * Clears an object before its deletion, including users' additions, so that a server's trash bin keeps no content. If the server refuses
 * the cleared object, the object is deleted with its content.
 * @returns the tag for the deletion
 */
async function emptied(
  collection: Collection,
  { recordId, key, revision }: Deletion,
  { url, etag, content }: StoredObject,
): Promise<string | null> {
  const blank = {
    kind: 'update',
    recordId,
    key,
    sealedRecordId: '',
    item: BLANK_ITEM,
    revision,
    versionTag: null,
    remoteId: null,
  } as const;
  const before = { ...NOTHING_RETAINED, sequence: content?.sequence ?? -1 };
  const answer = await put(collection, blank, url, { condition: ifMatch(etag), stored: before });
  if (isDone(answer)) return strongTag(answer.headers.get('etag'));
  if (isMissingOrChanged(answer)) throw errors.make('changed-meanwhile', { status: 412 });
  return etag;
}

async function put(
  collection: Collection,
  write: Write,
  url: URL,
  { condition, stored = null }: { condition: Record<string, string>; stored?: Before },
): Promise<DavResponse> {
  const { ownerTag, clock } = collection;
  const { key, item, revision } = write;
  const body = toCalendarObject({ ...labelsOf(ownerTag, write), item, writtenAt: clock(), stored });
  const headers = { 'content-type': 'text/calendar; charset=utf-8', ...condition };
  const answer = await sendWrite(collection, { method: 'PUT', url, headers, body });
  if (!isUnproved(answer)) return answer;
  const there = await lookUp(collection, url);
  const content = there?.content ?? null;
  if (there === null || content === null || keyOf(there, ownerTag) !== key) throw unproved(answer);
  // A server may have dropped the revision.
  const isAsSent = (content.revision ?? revision) === revision && isSameItem(content.item, item);
  if (!isAsSent) throw unproved(answer);
  const etag: Record<string, string> = there.etag === null ? {} : { etag: there.etag };
  return { ...answer, status: 204, headers: answerHeaders(Object.entries(etag)) };
}

async function sendDelete(collection: Collection, url: URL, etag: string | null): Promise<DavResponse> {
  const answer = await sendWrite(collection, { method: 'DELETE', url, headers: ifMatch(etag) });
  if (isUnproved(answer) && (await lookUp(collection, url)) !== null) throw unproved(answer);
  return answer;
}

async function sendWrite({ session, signal }: Collection, request: DavRequest): Promise<DavResponse> {
  return withOwnStatus(await session.send(request, signal));
}

/** Some success statuses prove nothing, since a proxy in front of the server sends them too. */
function isUnproved({ status }: DavResponse): boolean {
  return isDone({ status }) && status !== 201 && status !== 204;
}

/** A proxy may have responded instead of the server. */
function unproved({ status }: DavResponse): MirrorError {
  return errors.make('not-a-caldav-answer', { status, ambiguous: true });
}

/** Without strong ETags, the write is sent without a condition directly after a fetch. */
function ifMatch(etag: string | null): Record<string, string> {
  return etag === null ? {} : { 'if-match': etag };
}

function isDone({ status }: Pick<DavResponse, 'status'>): boolean {
  return status >= 200 && status < 300;
}

/** Checks whether the precondition failed. A 412 with a condition has a different meaning: Xandikos uses it to refuse content. */
function isUnmet({ status, body }: DavResponse): boolean {
  return status === 412 && readProblem(body).conditions.length === 0;
}

function isMissingOrChanged(answer: DavResponse): boolean {
  return answer.status === 404 || answer.status === 410 || isUnmet(answer);
}

/**
 * Returns the error of a refused write. A refusal without a reason may mean an absent or read-only calendar, so the calendar is checked. If
 * the calendar is writable, a 403 concerns only the object.
 */
async function explained(collection: Collection, { status, body }: DavResponse): Promise<MirrorError> {
  const problem = readProblem(body);
  if (!mayConcernCalendar(status, problem)) return refusal(status, problem);
  const calendar = await proveThere(collection);
  checked(calendar);
  return status === 403 && mayWrite(calendar) === true
    ? errors.make('record-refused', { status })
    : refusal(status, problem);
}

function written(
  collection: Collection,
  operation: Write,
  effect: WriteEffect,
  { url: asked, answer, before = null }: { url: URL; answer: DavResponse; before?: Before },
): LocatedOutcome {
  const url = namedByServer(asked, answer, collection.url);
  const versionTag = versionTagOf(strongTag(answer.headers.get('etag')), before ?? NOTHING_RETAINED);
  const { recordId, key } = operation;
  return { outcome: { recordId, result: 'written', effect, versionTag, remoteId: foreignName(url, key) }, url };
}

/** Some servers store a new object under a name of their choice and report it in the Location header. */
function namedByServer(asked: URL, answer: DavResponse, collection: URL): URL {
  const location = answer.status === 201 ? answer.headers.get('location') : null;
  const url = location === null ? asked : resolveHref(asked, location);
  return url !== null && isMember(collection, url) ? url : asked;
}

function foreignName(url: URL, key: string): string | null {
  const remoteId = remoteIdOf(url, key);
  return remoteId === key ? null : remoteId;
}

function deleted(
  operation: Deletion,
  effect: 'deleted' | 'already-gone' = 'deleted',
  content: StoredObject['content'] = null,
): LocatedOutcome {
  const additions = content === null ? undefined : additionsTextOf(content);
  return { outcome: deletedWith(operation, additions, effect), url: null };
}
