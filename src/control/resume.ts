import type { OpenTenant } from '../jobs/tenant.ts';
import type { Instant } from '../model/time.ts';
import { REFUSAL_UNCONFIRMED } from '../oauth/errors.ts';
import type { StoredTarget } from '../state/targets.ts';

/** Actors whose errors end by what a person does. */
const PERSONS = new Set(['settings', 'authorization', 'guard']);

/**
 * A person has acted (logged in, said whose account is right, mended something): targets that waited for that get their next turn now. Those that were asked by
 * the other side to wait go on waiting.
 * @returns which ones
 */
export async function resumeTargets(
  tenant: Pick<OpenTenant, 'clock' | 'outbox' | 'targets' | 'targetStore'>,
): Promise<string[]> {
  const resumed: string[] = [];
  for (const { id } of tenant.targets.values()) {
    const stored = await tenant.targetStore.read(id);
    // A refusal that is to be confirmed ends by waiting, and by a new login.
    if (!waitsForPerson(stored) && stored.failure?.code !== REFUSAL_UNCONFIRMED) continue;
    await resume(tenant, id);
    resumed.push(id);
  }
  return resumed;
}

/** A person wants all to be tried that waits, whyever, but for what the other side asked to wait with. */
export async function tryWhatWaits(
  tenant: Pick<OpenTenant, 'clock' | 'outbox' | 'targets' | 'targetStore'>,
): Promise<void> {
  for (const { id } of tenant.targets.values()) {
    const stored = await tenant.targetStore.read(id);
    if (!waitsForOtherSide(stored, tenant.clock())) await resume(tenant, id);
  }
}

/** The other side asked this target to wait, or another one of its account: that one alone has the failure. */
function waitsForOtherSide(stored: StoredTarget, now: Instant): boolean {
  if (stored.failure === null) return (stored.pausedUntil ?? 0) > now;
  return stored.failure.isAskedToWait === true && !waitsForPerson(stored);
}

async function resume(
  { clock, outbox, targetStore }: Pick<OpenTenant, 'clock' | 'outbox' | 'targetStore'>,
  target: string,
) {
  await targetStore.write(target, { pausedUntil: null });
  await outbox.hurry(target, clock());
}

/** Whether what last kept a target from going on ends by what a person does, and not by waiting. */
export function waitsForPerson({ failure }: Pick<StoredTarget, 'failure'>): boolean {
  return failure !== null && PERSONS.has(failure.actor);
}
