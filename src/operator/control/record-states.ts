import type { Link } from '../../core/model/operations.ts';
import type { Hold, PendingChange } from '../../core/model/plan.ts';
import type { Outbox } from '../../state/outbox.ts';

/** States of a record by the stored data, each record in exactly one. */
export type StoredRecordState = 'in-sync' | 'pending' | 'failed' | 'on-hold' | 'changed-by-hand';

/** Stored data of a target's records. */
export interface RecordEvidence {
  links: ReadonlyMap<string, Pick<Link, 'drift'>>;
  pending: ReadonlyMap<string, Pick<PendingChange, 'lastError'>>;
  held: ReadonlySet<string>;
}

/** Returns the records of a target in open holds, each once, with the oldest hold. */
export function heldRecords(holds: readonly Hold[], target: string): Map<string, Hold> {
  const open = holds.filter((hold) => hold.target === target && hold.state === 'open');
  const oldestLast = [...open].sort((one, other) => other.createdAt - one.createdAt);
  return new Map(oldestLast.flatMap((hold) => hold.recordIds.map((record) => [record, hold] as const)));
}

/** Returns the state of a record, or null for a record without stored data. A hold comes first, since only an operator ends it. */
export function stateOfRecord(recordId: string, { links, pending, held }: RecordEvidence): StoredRecordState | null {
  if (held.has(recordId)) return 'on-hold';
  const change = pending.get(recordId);
  if (change !== undefined) return change.lastError === null ? 'pending' : 'failed';
  const link = links.get(recordId);
  if (link === undefined) return null;
  return link.drift === null ? 'in-sync' : 'changed-by-hand';
}

/** Counts the queued changes of a target, failing ones among them, without records on hold: each record is counted in one state. */
export async function countQueued(
  outbox: Pick<Outbox, 'counts' | 'pendingOfSome'>,
  target: string,
  held: readonly string[],
): Promise<{ pending: number; failing: number }> {
  const { pending, failing } = await outbox.counts(target);
  if (held.length === 0 || pending === 0) return { pending, failing };
  const both = [...(await outbox.pendingOfSome(target, held)).values()];
  return {
    // The queue may grow between the two reads.
    pending: Math.max(0, pending - both.length),
    failing: Math.max(0, failing - both.filter(({ lastError }) => lastError !== null).length),
  };
}
