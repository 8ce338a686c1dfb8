import type { OpenTenant } from '../jobs/tenant.ts';

/** Actors whose errors end by what a person does. */
const PERSONS = new Set(['settings', 'authorization']);

/**
 * A person has acted (logged in, mended something): targets that waited for that get their next turn now. Those that were asked by
 * the other side to wait go on waiting.
 */
export async function resumeTargets(tenant: OpenTenant): Promise<void> {
  for (const target of tenant.targets.values()) {
    const { trouble } = await tenant.records.read(target.id);
    if (trouble === null || !PERSONS.has(trouble.actor)) continue;
    await tenant.records.write(target.id, { pausedUntil: null });
    await tenant.outbox.hurry(target.id, tenant.clock());
  }
}
