import type { OpenTenant } from '../jobs/tenant.ts';
import type { StoredTarget } from '../state/targets.ts';

/** Actors whose errors end by what a person does. */
const PERSONS = new Set(['settings', 'authorization', 'guard']);

/**
 * A person has acted (logged in, said whose account is right, mended something): targets that waited for that get their next turn now. Those that were asked by
 * the other side to wait go on waiting.
 */
export async function resumeTargets(tenant: OpenTenant): Promise<void> {
  for (const target of tenant.targets.values()) {
    if (!waitsForPerson(await tenant.targetStore.read(target.id))) continue;
    await tenant.targetStore.write(target.id, { pausedUntil: null });
    await tenant.outbox.hurry(target.id, tenant.clock());
  }
}

/** Whether what last kept a target from going on ends by what a person does, and not by waiting. */
export function waitsForPerson({ failure }: Pick<StoredTarget, 'failure'>): boolean {
  return failure !== null && PERSONS.has(failure.actor);
}
