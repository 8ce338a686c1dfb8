import type { Item } from '../core/model/items.ts';
import type { Link, Operation, Outcome } from '../core/model/operations.ts';
import type { Instant } from '../core/model/time.ts';
import type { Engine } from './ports.ts';
import type { OutboxEntry } from './store.ts';

/** Sent changes of a batch, by record. */
type Sent = ReadonlyMap<string, { entry: OutboxEntry; link: Link | null }>;

/** Adds additions of users to the object of a replaced record, if the entry replaces one and no object took it over yet. */
export async function withAdditions(
  { recentObjects }: Pick<Engine, 'recentObjects'>,
  target: string,
  { replaces }: OutboxEntry,
  operation: Operation<Item>,
): Promise<Operation<Item>> {
  if (replaces === undefined || operation.kind !== 'update') return operation;
  const additions = await recentObjects.additionsOf(target, replaces);
  return additions === null ? operation : { ...operation, additions };
}

/**
 * Stores additions of users to removed objects, before the removals are acknowledged. A process that dies between the removal and this step
 * loses the additions.
 */
export async function recordAdditions(
  { recentObjects }: Pick<Engine, 'recentObjects'>,
  target: string,
  { outcomes, sent }: { outcomes: readonly Outcome<Item>[]; sent: Sent },
  now: Instant,
): Promise<void> {
  for (const outcome of outcomes) {
    if (outcome.result !== 'deleted' || outcome.additions === undefined) continue;
    const { additions, recordId } = outcome;
    const { entry, link = null } = sent.get(recordId) ?? {};
    if (link === null || entry?.reason === 'forgotten') continue;
    await recentObjects.recordRemoved(target, recordId, { additions, fingerprint: link.fingerprint }, now);
  }
}

/** Removes the additions that acknowledged writes took over. */
export async function removeAdditions(
  { recentObjects }: Pick<Engine, 'recentObjects'>,
  target: string,
  { outcomes, sent }: { outcomes: readonly Outcome<Item>[]; sent: Sent },
): Promise<void> {
  for (const { recordId, result } of outcomes) {
    const replaces = result === 'written' ? sent.get(recordId)?.entry.replaces : undefined;
    if (replaces !== undefined) await recentObjects.remove(target, replaces);
  }
}
