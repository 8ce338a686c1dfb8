import type { Clock, Instant } from '../../core/model/time.ts';
import {
  type ChangeTable,
  type LeaseTable,
  type LinkTable,
  laneLease,
  type StoredTarget,
  type TargetTable,
} from '../../engine/store.ts';
import { REFUSAL_UNCONFIRMED } from '../../oauth/errors.ts';

/** Actors whose errors require human action. */
const PERSONS = new Set(['settings', 'authorization', 'guard']);
/** Errors of a target that does not show its first write. */
const FIRST_WRITE_MISSING = new Set(['events-not-kept', 'key-not-kept']);

/** Members of a tenant with which its waiting targets are resumed. */
interface WaitingWork {
  clock: Clock;
  outbox: ChangeTable;
  targets: ReadonlyMap<string, { id: string }>;
  targetStore: TargetTable;
}

/** Members of a tenant with which all of its waiting work is retried, first writes included. */
interface RetriedWork extends WaitingWork {
  leases: LeaseTable;
  links: LinkTable;
}

/**
 * Resumes targets after human action, such as a new grant, a confirmed account or a fix. Targets that wait at a vendor's request continue
 * to wait.
 * @returns the resumed targets
 */
export async function resumeTargets(tenant: WaitingWork): Promise<string[]> {
  const resumed: string[] = [];
  for (const { id } of tenant.targets.values()) {
    const stored = await tenant.targetStore.read(id);
    // An unconfirmed refusal ends after its delay, or with a new grant.
    if (!waitsForPerson(stored) && stored.failure?.code !== REFUSAL_UNCONFIRMED) continue;
    await resume(tenant, id);
    resumed.push(id);
  }
  return resumed;
}

/**
 * Retries all waiting work, except delays requested by a vendor. A target whose first write was not found may try another first write, since
 * an operator may have corrected the server.
 */
export async function tryWhatWaits(tenant: RetriedWork): Promise<void> {
  for (const { id } of tenant.targets.values()) {
    const stored = await tenant.targetStore.read(id);
    if (stored.readBack?.marks === null) {
      if (FIRST_WRITE_MISSING.has(stored.failure?.code ?? '')) await unlink(tenant, id, stored.readBack.recordId);
      await tenant.targetStore.write(id, { readBack: null });
    }
    if (!waitsForOtherSide(stored, tenant.clock())) await resume(tenant, id);
  }
}

/** Removes the link of a record whose object a read of the target did not show, so that the next cycle writes the record. */
async function unlink({ leases, links }: { leases: LeaseTable; links: LinkTable }, target: string, recordId: string) {
  const lease = await leases.tryTake(laneLease(target));
  if (lease === null) return;
  try {
    await links.release(target, [recordId], lease);
  } finally {
    await lease.release();
  }
}

/** Returns whether a vendor requested a delay for this target or its account. Only one target of the account has the failure. */
function waitsForOtherSide(stored: StoredTarget, now: Instant): boolean {
  if (stored.failure === null) return (stored.pausedUntil ?? 0) > now;
  return stored.failure.isAskedToWait === true && !waitsForPerson(stored);
}

async function resume({ clock, outbox, targetStore }: WaitingWork, target: string) {
  await targetStore.write(target, { pausedUntil: null });
  await outbox.hurry(target, clock());
}

/** Returns whether the last failure of the target requires human action. */
export function waitsForPerson({ failure }: Pick<StoredTarget, 'failure'>): boolean {
  return failure !== null && PERSONS.has(failure.actor);
}
