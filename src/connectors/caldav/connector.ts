import { asMirrorError, MirrorError } from '../../model/errors.ts';
import type { Operation, Outcome } from '../../model/operations.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { asCollection, comparablePath } from './addresses.ts';
import { locateCalendar, prepareCalendar } from './calendars.ts';
import { changesOf } from './changes.ts';
import { type Collection, isOurs, multiget, objectUrl, type StoredObject } from './collection.ts';
import { concernsOneItem, notSent } from './errors.ts';
import { findOurs, readOurs } from './reading.ts';
import { baseAddress, type CaldavSettings } from './schemas.ts';
import { DavSession, strongTag } from './webdav.ts';
import { carryOut, type Seen, type Settled } from './writing.ts';

/** Opens one calendar target. */
export function openCaldav(context: ConnectorContext<CaldavSettings>): Connector {
  const session = new DavSession(context, baseAddress(context.settings));
  const { mark, owner = null, clock, settings } = context;
  function collectionAt(container: string, signal: AbortSignal): Collection {
    return { session, url: asCollection(new URL(container)), mark, clock, signal };
  }
  return {
    async prepare(known, signal) {
      return (await prepareCalendar({ session, settings, mark, owner, signal }, known)).href;
    },
    async locate(signal) {
      return (await locateCalendar({ session, settings, mark, owner, signal }))?.href ?? null;
    },
    apply: (container, operations, signal) => applyAll(collectionAt(container, signal), operations),
    read: (container, window, signal) => readOurs(collectionAt(container, signal), window),
    find: (container, keys, signal) => findOurs(collectionAt(container, signal), keys),
    changes: (container, query, signal) => changesOf(collectionAt(container, signal), container, query),
  };
}

/** Carries out operations one after another; what fails for the whole target ends the series without another request. */
async function applyAll(collection: Collection, operations: readonly Operation[]): Promise<Outcome[]> {
  const seen = await lookBefore(collection, operations);
  const settled: Settled[] = [];
  let ending: MirrorError | null = null;
  for (const operation of operations) {
    if (ending === null && collection.signal.aborted) ending = aborted();
    if (ending !== null) {
      settled.push(failed(operation, ending));
      continue;
    }
    try {
      settled.push(await carryOut(collection, operation, seenOf(seen, collection, operation)));
    } catch (thrown) {
      const error = asMirrorError(thrown);
      const isLast = !concernsOneItem(error) || isSecondInARow(error, settled.at(-1));
      if (isLast && settled.length === 0) throw error;
      if (isLast) ending = notSent(error);
      settled.push(failed(operation, error));
    }
  }
  return await readBack(collection, settled);
}

/** A connection that breaks twice running will not carry the rest either. */
function isSecondInARow({ code }: MirrorError, before: Settled | undefined): boolean {
  return code === 'connection-failed' && before?.outcome.result === 'failed' && before.outcome.error.code === code;
}

/** Updates and deletes without a tag that If-Match can use are looked at first, all in one request. */
async function lookBefore(collection: Collection, operations: readonly Operation[]) {
  const unknown = operations.filter(
    (operation) => operation.kind !== 'create' && strongTag(operation.versionTag) === null,
  );
  if (unknown.length === 0) return null;
  const urls = unknown.map((operation) => urlOf(collection, operation));
  return { asked: new Set(urls.map(comparablePath)), found: await multiget(collection, urls) };
}

function seenOf(seen: Awaited<ReturnType<typeof lookBefore>>, collection: Collection, operation: Operation): Seen {
  const path = comparablePath(urlOf(collection, operation));
  return seen?.asked.has(path) ? (seen.found.get(path) ?? null) : undefined;
}

function urlOf(collection: Collection, operation: Operation): URL {
  return objectUrl(collection.url, operation.key, operation.kind === 'create' ? null : operation.remoteId);
}

/**
 * Reads back what the server gave no strong ETag for: it may have stored something else than was sent, and without the tag the next
 * update has to look first (RFC 4791 section 5.3.4). What can't be read now is left unknown.
 */
async function readBack(collection: Collection, settled: readonly Settled[]): Promise<Outcome[]> {
  const urls = settled.flatMap(({ outcome, url }) => (url !== null && isUntagged(outcome) ? [url] : []));
  const found = await multiget(collection, urls).catch(() => new Map<string, StoredObject>());
  return settled.map(({ outcome, url }) => {
    const stored = url === null ? undefined : found.get(comparablePath(url));
    if (!isUntagged(outcome) || stored === undefined || !isOurs(stored.content, collection.mark)) return outcome;
    const { item } = stored.content;
    return { ...outcome, versionTag: stored.etag, ...(item === null ? {} : { stored: item }) };
  });
}

function isUntagged(outcome: Outcome): outcome is Extract<Outcome, { result: 'written' }> {
  return outcome.result === 'written' && outcome.versionTag === null;
}

function failed({ recordId }: Operation, error: MirrorError): Settled {
  return { outcome: { recordId, result: 'failed', error }, url: null };
}

function aborted(): MirrorError {
  return new MirrorError('the request was stopped', { actor: 'remote', code: 'aborted', retry: 'later' });
}
