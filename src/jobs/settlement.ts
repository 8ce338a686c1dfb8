import { MirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { FinalOutcome, Link, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import type { Instant } from '../model/time.ts';
import type { OutboxEntry, OutboxSettlement } from '../state/outbox-format.ts';
import { linkOf } from '../sync/adopt.ts';
import { HIGHEST_ID_ATTEMPT, isSameContent, type TargetIdentity } from '../sync/identity.ts';
import { wholeOf } from './operation-for.ts';
import { nextTry, nextTryInTarget } from './retry.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/**
 * A key that a target can neither read nor give is tried so often before it counts as burnt, each key of a record anew: with the pauses
 * between tries about half an hour. Our choice.
 */
const TRIES_OF_A_KEY = 12;

/** What was sent, and what the target held of its record before. */
interface SentEntry {
  entry: OutboxEntry;
  link: Link | null;
  /** Its object was taken out before: another one is made. */
  isAnew: boolean;
}

/** What an operation's outcome makes of its entry and its link. */
export function settlementOf(
  outcome: FinalOutcome<Item>,
  { entry, link, isAnew }: SentEntry,
  {
    tenant: { random, elapsedBetween },
    target: { identity },
    now,
  }: { tenant: Pick<OpenTenant, 'random' | 'elapsedBetween'>; target: Pick<OpenTarget, 'identity'>; now: Instant },
): OutboxSettlement {
  switch (outcome.result) {
    case 'written': {
      const { versionTag, remoteId, stored } = outcome;
      const idAttempt = Math.max(entry.epoch, link?.epoch ?? 0);
      const { recordId, startAt, endAt } = entry;
      const fingerprint = entry.fingerprint ?? '';
      const storedAs = stored === undefined ? fingerprint : identity.fingerprint(wholeOf(stored, entry.item));
      const storedFingerprint = isSameContent(storedAs, fingerprint) ? {} : { storedFingerprint: storedAs };
      return {
        entry,
        kind: 'done',
        link: {
          recordId,
          startAt,
          endAt,
          fingerprint,
          versionTag,
          epoch: idAttempt,
          remoteId,
          drift: null,
          revision: entry.revision,
          ...storedFingerprint,
          ...(isAnew ? { generation: entry.revision } : recreationsOf(outcome, link)),
        },
        ...(link === null ? {} : { effect: 'updated' }),
      };
    }
    case 'deleted':
      return { entry, kind: 'done', link: null, ...(link === null ? {} : { effect: 'deleted' }) };
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

/** An operation that a connector said nothing of may or may not have been carried out. */
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
  return new MirrorError('the connector said nothing of an operation', {
    actor: 'contract',
    code: 'outcome-missing',
    retry: 'later',
    ambiguous: true,
  });
}

function withNextKey(entry: OutboxEntry, link: Link | null, random: () => number, now: Instant): OutboxSettlement {
  const idAttempt = Math.max(entry.epoch, link?.epoch ?? 0);
  if (idAttempt < HIGHEST_ID_ATTEMPT) return { entry: { ...entry, epoch: idAttempt }, kind: 'next-epoch' };
  const { delayMs, parked } = nextTry(keysExhausted(), entry.attempts, random);
  return { entry, kind: 'retry', error: 'keys-exhausted', dueAt: now + delayMs, parked };
}

/** A link that tells what stands in the target, written by whoever was later; what can't be named any more stays as it was. */
function asFoundNow(remote: RemoteItem<Item>, identity: TargetIdentity, link: Link | null, now: Instant): Link | null {
  const found = linkOf(remote, identity, link?.startAt ?? now);
  if (found === null) return link;
  return link?.generation === undefined ? found : { ...found, generation: link.generation };
}

/**
 * Counts how often a record's object was made again, or another one took its place: what belongs to it must be joined again. Where the
 * link went with the object before, the write's revision is above every count.
 */
function recreationsOf(
  { effect, remoteId }: Extract<Outcome<Item>, { result: 'written' }>,
  link: Link | null,
): Pick<Link, 'generation'> {
  if (link === null) return {};
  const isMadeAgain = effect === 'created' || effect === 'recreated' || effect === 'revived';
  const isAnother = remoteId !== null && link.remoteId !== null && remoteId !== link.remoteId;
  const recreations = (link.generation ?? 0) + (isMadeAgain || isAnother ? 1 : 0);
  return recreations === 0 ? {} : { generation: recreations };
}

function keysExhausted(): MirrorError {
  return new MirrorError('the target refuses every name for a record', {
    actor: 'contract',
    code: 'keys-exhausted',
    retry: 'never',
  });
}
