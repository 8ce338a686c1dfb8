import { MirrorError } from '../core/model/errors.ts';
import type { Item } from '../core/model/items.ts';
import type { FinalOutcome, ItemKey, Link, Operation, Outcome, RemoteItem, Written } from '../core/model/operations.ts';
import { type Instant, MINUTE_MS, type TimeSpan } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { linkOf } from './adopt.ts';
import { HIGHEST_ID_ATTEMPT, isSameContent, type TargetIdentity } from './identity.ts';
import type { Engine, EngineTarget } from './ports.ts';
import { nextTry, nextTryInTarget } from './retry.ts';
import type { OutboxEntry, OutboxSettlement } from './store.ts';

/** Returns the operation that gives the target the outbox entry's content; null if the target already has the content. */
export function operationFor(entry: OutboxEntry, link: Link | null, target: EngineTarget): Operation<Item> | null {
  const { recordId, revision } = entry;
  const idAttempt = Math.max(entry.idAttempt, link?.idAttempt ?? 0);
  const key = target.identity.key(recordId, idAttempt);
  if (entry.item === null) {
    const { versionTag = null, remoteId = null } = link ?? {};
    const deletion = { kind: 'delete', recordId, key, revision, versionTag, remoteId } as const;
    // Also without a link: a deleted object may still be readable in the target's bin.
    if (entry.reason === 'forgotten') return { ...deletion, erase: true };
    return link === null && !entry.sent ? null : deletion;
  }
  const sealedRecordId = target.identity.sealedRecordId(recordId);
  const item = target.writable(entry.item, link, entry.fingerprint ?? '');
  if (link === null || link.idAttempt !== idAttempt) {
    const mayExist = entry.sent || entry.reason !== 'new';
    return { kind: 'create', recordId, key, sealedRecordId, item, revision, mayExist };
  }
  const isAsWanted = entry.fingerprint !== null && isSameContent(link.fingerprint, entry.fingerprint);
  if (isAsWanted && link.drift === null && !entry.sent && entry.replaces === undefined) return null;
  const { versionTag, remoteId } = link;
  const update = { kind: 'update', recordId, key, sealedRecordId, item, revision, versionTag, remoteId } as const;
  return { ...update, ...target.updateFacts(item, link) };
}

/**
 * Attempts with a key that a target can neither read nor create before another key is used, counted per key: about half an hour with the
 * delays. Chosen by clinic-mirror.
 */
const TRIES_OF_A_KEY = 12;

/** A sent outbox entry, with the target's previous link of its record. */
interface SentEntry {
  entry: OutboxEntry;
  link: Link | null;
  /** The earlier object was removed, and another object is created. */
  isAnew: boolean;
}

/** Returns the effect of an operation's outcome on its outbox entry and link. */
export function settlementOf(
  outcome: FinalOutcome<Item>,
  { entry, link, isAnew }: SentEntry,
  {
    tenant: { random, elapsedBetween },
    target: { identity, completed },
    now,
  }: {
    tenant: Pick<Engine, 'random' | 'elapsedBetween'>;
    target: Pick<EngineTarget, 'completed' | 'identity'>;
    now: Instant;
  },
): OutboxSettlement {
  switch (outcome.result) {
    case 'written':
      return writtenSettlement(outcome, { entry, link, isAnew }, { identity, completed });
    case 'deleted':
      return { entry, kind: 'done', link: null, ...(link === null ? {} : { effect: 'deleted', before: spanOf(link) }) };
    case 'superseded': {
      const { revision: found, remote } = outcome;
      return {
        entry,
        kind: 'superseded',
        found,
        link: remote === null ? null : asFoundNow(remote, identity, link, now),
      };
    }
    case 'key-burnt':
      return withNextKey(entry, link, random, now);
    case 'failed': {
      const { burnsKeyAfterMs = Number.POSITIVE_INFINITY } = outcome;
      const hasLasted = elapsedBetween(entry.enqueuedAt, now) >= burnsKeyAfterMs;
      if (hasLasted && entry.attempts >= TRIES_OF_A_KEY) return withNextKey(entry, link, random, now);
      const { attempts, lastError } = entry;
      const isSecond = lastError === outcome.error.code;
      const next = nextTryInTarget(outcome.error, { attempts, isSecond }, random);
      return {
        entry,
        kind: 'retry',
        error: outcome.error.code,
        ...(outcome.error.about === undefined ? {} : { about: outcome.error.about }),
        dueAt: now + next.delayMs,
        parked: next.parked,
        ...(next.isAsked === true ? { isAsked: true } : {}),
      };
    }
  }
}

function writtenSettlement(
  outcome: Extract<FinalOutcome<Item>, { result: 'written' }>,
  { entry, link, isAnew }: SentEntry,
  { identity, completed }: Pick<EngineTarget, 'completed' | 'identity'>,
): OutboxSettlement {
  const { versionTag, remoteId, stored } = outcome;
  const idAttempt = Math.max(entry.idAttempt, link?.idAttempt ?? 0);
  const { recordId, startAt, endAt, revision } = entry;
  const fingerprint = entry.fingerprint ?? '';
  const storedAs = stored === undefined ? fingerprint : identity.fingerprint(completed(stored, entry.item));
  const now = {
    ...{ recordId, startAt, endAt, fingerprint, versionTag, idAttempt, remoteId, drift: null, revision },
    ...(isSameContent(storedAs, fingerprint) ? {} : { storedFingerprint: storedAs }),
    ...(isAnew ? { recreations: revision } : recreationsOf(outcome, link)),
  };
  return { entry, kind: 'done', link: now, ...(link === null ? {} : { effect: 'updated', before: spanOf(link) }) };
}

function spanOf({ startAt, endAt }: Link): TimeSpan {
  return { startAt, endAt };
}

/** Outcomes for operations without a result from the connector: each may or may not have been completed. */
export function unanswered(
  batch: readonly { operation: Operation<Item> }[],
  outcomes: readonly Outcome<Item>[],
): FinalOutcome<Item>[] {
  const answered = new Set(outcomes.map(({ recordId }) => recordId));
  return batch
    .filter(({ operation }) => !answered.has(operation.recordId))
    .map(({ operation: { recordId } }) => ({ recordId, result: 'failed', error: outcomeMissing() }));
}

function outcomeMissing(): MirrorError {
  return new MirrorError(message('outcome-missing'), {
    actor: 'contract',
    code: 'outcome-missing',
    retry: 'later',
    ambiguous: true,
  });
}

function withNextKey(entry: OutboxEntry, link: Link | null, random: () => number, now: Instant): OutboxSettlement {
  const idAttempt = Math.max(entry.idAttempt, link?.idAttempt ?? 0);
  if (idAttempt < HIGHEST_ID_ATTEMPT) return { entry: { ...entry, idAttempt }, kind: 'next-epoch' };
  const { delayMs, parked } = nextTry(keysExhausted(), entry.attempts, random);
  return { entry, kind: 'retry', error: 'keys-exhausted', dueAt: now + delayMs, parked };
}

/** Returns a link of the target's current object, whoever wrote it last. If the object names no known record, the earlier link remains. */
function asFoundNow(remote: RemoteItem<Item>, identity: TargetIdentity, link: Link | null, now: Instant): Link | null {
  const found = linkOf(remote, identity, link?.startAt ?? now);
  if (found === null) return link;
  return link?.recreations === undefined ? found : { ...found, recreations: link.recreations };
}

/**
 * Counts recreations and replacements of a record's object, after which dependent records must be associated again. If the link was deleted
 * with the object, the write's revision exceeds every count.
 */
function recreationsOf({ effect, remoteId }: Written<Item>, link: Link | null): Pick<Link, 'recreations'> {
  if (link === null) return {};
  const isMadeAgain = effect === 'created' || effect === 'recreated' || effect === 'revived';
  const isAnother = remoteId !== null && link.remoteId !== null && remoteId !== link.remoteId;
  const recreations = (link.recreations ?? 0) + (isMadeAgain || isAnother ? 1 : 0);
  return recreations === 0 ? {} : { recreations };
}

function keysExhausted(): MirrorError {
  return new MirrorError(message('keys-exhausted'), {
    actor: 'contract',
    code: 'keys-exhausted',
    retry: 'never',
  });
}

/** Delay of an entry whose object must be found by a full read of the target, repeated until that read. Chosen by clinic-mirror. */
const UNPLACED_REST_MS = MINUTE_MS;

/**
 * Returns until when an entry must wait. The link may lack the object's location; or an unanswered write without a link cannot be visible
 * to a key lookup yet. Returns null if the entry may be sent.
 */
export function restsUntil(
  { sent, sentAt }: OutboxEntry,
  link: Link | null,
  { supports: { keys } }: EngineTarget,
  { clock, elapsedBetween }: Pick<Engine, 'clock' | 'elapsedBetween'>,
): Instant | null {
  if (link?.isUnplaced === true) return clock() + UNPLACED_REST_MS;
  if (keys === 'enforced' || !sent || sentAt === null || link !== null) return null;
  const now = clock();
  const elapsedMs = elapsedBetween(sentAt, now);
  const restMs = keys.lookedUp.lagMs - elapsedMs;
  // A future time was stored by a clock that was set back since.
  return elapsedMs >= 0 && restMs > 0 ? now + Math.ceil(restMs) : null;
}

/**
 * Returns until when objects wait for refused objects on which they depend: until the next attempt of each. Objects with a pending write
 * delay them less. Empty if no outcome requires it.
 * @returns delays by the key of the other object
 */
export async function restsOfDependencies(
  { outbox, targets }: Pick<Engine, 'outbox' | 'targets'>,
  { dependsOn }: Pick<EngineTarget, 'dependsOn'>,
  outcomes: readonly Outcome<Item>[],
): Promise<ReadonlyMap<ItemKey, Instant>> {
  const other = targets.get(dependsOn?.target ?? '');
  const isAny = outcomes.some((one) => one.result === 'failed' && one.error.code === dependsOn?.missing);
  if (other === undefined || !isAny) return new Map();
  const refused = [...(await outbox.pending(other.id)).values()].filter(({ parked }) => parked);
  return new Map(refused.map(({ recordId, dueAt }) => [other.identity.key(recordId, 0), dueAt]));
}

/**
 * Entries that failed because of a host outage wait for its end.
 * @returns one of them with its longest delay; null: each has its own delay
 */
export async function waitForHost(
  { id, outages, targetStore }: Pick<Engine, 'id' | 'outages' | 'targetStore'>,
  target: EngineTarget,
  outcomes: readonly Outcome<Item>[],
): Promise<{ recordId: string; longestMs: number } | null> {
  for (const outcome of outcomes) {
    if (outcome.result !== 'failed') continue;
    const outage = outages.causeOf(outcome.error);
    if (outage === null) continue;
    await targetStore.write(target.id, { outage });
    const longestMs = await outages.wait(outage, { tenant: id, target: target.id }, outcome.error);
    return longestMs === null ? null : { recordId: outcome.recordId, longestMs };
  }
  return null;
}

/** Restarts entries of other targets that wait for objects of this one, after some were created. */
export async function wakeDependents(
  { clock, outbox, targets }: Pick<Engine, 'clock' | 'outbox' | 'targets'>,
  { id }: Pick<EngineTarget, 'id'>,
): Promise<void> {
  for (const { id: other, dependsOn } of targets.values()) {
    if (dependsOn?.target === id) await outbox.hurry(other, clock(), new Set([dependsOn.missing]));
  }
}

/** Counts pending erasures. An operator requested them, so they need no plan. */
export async function countErasures(
  { outbox }: Pick<Engine, 'outbox'>,
  { id }: Pick<EngineTarget, 'id'>,
): Promise<number> {
  return [...(await outbox.pending(id)).values()].filter(({ reason }) => reason === 'forgotten').length;
}

/** Logs each deleted entry with ids only, and erasures without ids. */
export function logDeletions(
  { log }: Pick<Engine, 'log'>,
  target: EngineTarget,
  outcomes: readonly Outcome<Item>[],
  sent: ReadonlyMap<string, { entry: OutboxEntry }>,
): void {
  for (const outcome of outcomes) {
    if (outcome.result !== 'deleted' || outcome.effect !== 'deleted') continue;
    const { reason, run } = sent.get(outcome.recordId)?.entry ?? {};
    const record = reason === 'forgotten' ? null : outcome.recordId;
    log.info({ target: target.id, record, reason, run }, 'object was deleted');
  }
}
