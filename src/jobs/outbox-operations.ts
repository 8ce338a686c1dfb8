import { linkOf } from '../engine/adopt.ts';
import { HIGHEST_ID_ATTEMPT, isSameContent, type TargetIdentity, UNKNOWN_FIELD } from '../engine/identity.ts';
import { nextTry, nextTryInTarget } from '../engine/retry.ts';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { CalendarItem, Item } from '../model/items.ts';
import type { FinalOutcome, ItemKey, Link, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import type { OutboxEntry, OutboxSettlement } from '../state/formats.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Returns the operation that gives the target the outbox entry's content; null if the target already has the content. */
export function operationFor(entry: OutboxEntry, link: Link | null, target: OpenTarget): Operation<Item> | null {
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
  const item = withoutIdleDenials(asMappedNow(entry.item, target), link, entry.fingerprint ?? '', target);
  if (link === null || link.idAttempt !== idAttempt) {
    const mayExist = entry.sent || entry.reason !== 'new';
    return { kind: 'create', recordId, key, sealedRecordId, item, revision, mayExist };
  }
  const isAsWanted = entry.fingerprint !== null && isSameContent(link.fingerprint, entry.fingerprint);
  if (isAsWanted && link.drift === null && !entry.sent && entry.replaces === undefined) return null;
  const { versionTag, remoteId } = link;
  const update = { kind: 'update', recordId, key, sealedRecordId, item, revision, versionTag, remoteId } as const;
  const isUsable = 'description' in item && link.isRebuilt !== true;
  return isUsable ? { ...update, hadDescription: hadDescription(link, item, target) } : update;
}

/** Returns a predicate: whether the last write had a description. It errs once in 262,144 times. */
function hadDescription({ fingerprint }: Link, item: CalendarItem, { identity }: OpenTarget) {
  return (description: string) => {
    const differing = identity.differingFields(fingerprint, identity.fingerprint({ ...item, description }));
    return !differing.includes('description') && !differing.includes(UNKNOWN_FIELD);
  };
}

/** Returns the stored item, completed with expected properties that the target's answer omits. */
export function wholeOf(stored: Item, wanted: Item | null): Item {
  if (wanted === null || !('properties' in wanted) || !('properties' in stored)) return stored;
  return { ...stored, properties: { ...wanted.properties, ...stored.properties } };
}

/**
 * Removes properties that the mapping no longer contains, since an operator may have removed them for privacy. The next plan finds the
 * difference and writes the other changes.
 */
function asMappedNow(item: Item, { crm }: OpenTarget): Item {
  if (crm === null || !('properties' in item)) return item;
  const names = new Set(crm.mapping.properties.map(({ name }) => name));
  const retained = Object.entries(item.properties).filter(([name]) => names.has(name));
  return { ...item, properties: Object.fromEntries(retained) };
}

/**
 * Returns an item without negative refusals, unless they revert a refusal that the daemon wrote. Someone with the same email address may
 * have refused in the CRM since, and no other patient data may revert that refusal.
 */
function withoutIdleDenials(item: Item, link: Link | null, fingerprint: string, { crm, identity }: OpenTarget): Item {
  if (crm === null || crm.refusals.length === 0 || !('properties' in item)) return item;
  const changed = link === null ? [] : identity.differingFields(link.fingerprint, fingerprint);
  const isIdle = (name: string) =>
    crm.refusals.some(({ property }) => property === name) && item.properties[name] !== true && !changed.includes(name);
  const retained = Object.entries(item.properties).filter(([name]) => !isIdle(name));
  return { ...item, properties: Object.fromEntries(retained) };
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
    target: { identity },
    now,
  }: { tenant: Pick<OpenTenant, 'random' | 'elapsedBetween'>; target: Pick<OpenTarget, 'identity'>; now: Instant },
): OutboxSettlement {
  switch (outcome.result) {
    case 'written': {
      const { versionTag, remoteId, stored } = outcome;
      const idAttempt = Math.max(entry.idAttempt, link?.idAttempt ?? 0);
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
          idAttempt,
          remoteId,
          drift: null,
          revision: entry.revision,
          ...storedFingerprint,
          ...(isAnew ? { recreations: entry.revision } : recreationsOf(outcome, link)),
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
function recreationsOf(
  { effect, remoteId }: Extract<Outcome<Item>, { result: 'written' }>,
  link: Link | null,
): Pick<Link, 'recreations'> {
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
 * Returns until when an entry must wait. The link may lack the object's location; or an unanswered write without a link may not be visible
 * to a key lookup yet. Returns null if the entry may be sent.
 */
export function restsUntil(
  { sent, sentAt }: OutboxEntry,
  link: Link | null,
  { supports: { keys } }: OpenTarget,
  { clock, elapsedBetween }: Pick<OpenTenant, 'clock' | 'elapsedBetween'>,
): Instant | null {
  if (link?.isUnplaced === true) return clock() + UNPLACED_REST_MS;
  if (keys === 'enforced' || !sent || sentAt === null || link !== null) return null;
  const now = clock();
  const elapsedMs = elapsedBetween(sentAt, now);
  const restMs = keys.lookedUp.lagMs - elapsedMs;
  // A future time was stored by a clock that was set back since.
  return elapsedMs >= 0 && restMs > 0 ? now + Math.ceil(restMs) : null;
}

/** Codes of activities and deals without an existing contact. */
export const CONTACT_MISSING: ReadonlySet<string> = new Set(['contact-missing']);

/**
 * Returns until when activities and deals wait for a refused contact: until the contact's next attempt. Contacts with a pending write delay
 * them less. Empty if no outcome requires it.
 * @returns delays by the contact's key
 */
export async function restsOfContacts(
  { outbox, targets }: Pick<OpenTenant, 'outbox' | 'targets'>,
  { configuration: { crm } }: Pick<OpenTarget, 'configuration'>,
  outcomes: readonly Outcome<Item>[],
): Promise<ReadonlyMap<ItemKey, Instant>> {
  const contacts = targets.get(crm?.contacts ?? '');
  const isAny = outcomes.some((one) => one.result === 'failed' && CONTACT_MISSING.has(one.error.code));
  if (contacts === undefined || !isAny) return new Map();
  const refused = [...(await outbox.pending(contacts.id)).values()].filter(({ parked }) => parked);
  return new Map(refused.map(({ recordId, dueAt }) => [contacts.identity.key(recordId, 0), dueAt]));
}

/** Returns the key of the contact of an entry's object. */
export function contactOf({ item }: OutboxEntry): string {
  return item !== null && 'contactKey' in item ? (item.contactKey ?? '') : '';
}

/**
 * Entries that failed because of a host outage wait for its end.
 * @returns one of them with its longest delay; null: each has its own delay
 */
export async function waitForHost(
  { id, outages, targetStore }: Pick<OpenTenant, 'id' | 'outages' | 'targetStore'>,
  target: OpenTarget,
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

/** Restarts entries that wait for contacts, after contacts were created. */
export async function wakeBelonging(
  { clock, outbox, targets }: Pick<OpenTenant, 'clock' | 'outbox' | 'targets'>,
  { id }: Pick<OpenTarget, 'id'>,
): Promise<void> {
  for (const { id: other, configuration } of targets.values()) {
    if (configuration.crm?.contacts === id) await outbox.hurry(other, clock(), CONTACT_MISSING);
  }
}

/** Counts pending erasures. An operator requested them, so they need no plan. */
export async function countErasures(
  { outbox }: Pick<OpenTenant, 'outbox'>,
  { id }: Pick<OpenTarget, 'id'>,
): Promise<number> {
  return [...(await outbox.pending(id)).values()].filter(({ reason }) => reason === 'forgotten').length;
}

/** Logs each deleted entry with ids only, and erasures without ids. */
export function logDeletions(
  { log }: Pick<OpenTenant, 'log'>,
  target: OpenTarget,
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
