import type { RunReport } from '../../src/domain/runs.ts';
import { type PushResult, pushTarget } from '../../src/engine/push.ts';
import { pullTenant, readStreamsInTurn } from '../../src/tenant/pull.ts';
import type { OpenTarget, OpenTenant } from '../../src/tenant/tenant.ts';

/** A signal that never comes. */
export const NEVER = new AbortController().signal;

/**
 * Runs one pull as if no other process existed, after reading the CRM's registry if that is due. A process that has read nothing yet
 * replaces the previous one.
 */
export async function pull(tenant: OpenTenant): Promise<RunReport> {
  const isFollower = [...tenant.targets.values()].some(({ crm }) => crm !== null);
  const { run } = isFollower
    ? await readStreamsInTurn(tenant, { takesOver: tenant.memory.patients === null }, NEVER)
    : { run: null };
  return run ?? pullAlone(tenant);
}

/** Runs one pull that reads appointments only, as the daemon does. */
export async function pullAlone(tenant: OpenTenant): Promise<RunReport> {
  const run = await pullTenant(tenant, NEVER);
  if (run === null) throw new Error('another pull is at work');
  return run;
}

/** Runs a lane until it requests a later run, or none. */
export async function drain(tenant: OpenTenant, target: OpenTarget): Promise<PushResult> {
  for (let turns = 0; turns < 200; turns += 1) {
    const turn = await pushTarget(tenant, target, { stop: NEVER, abort: NEVER });
    if (turn.nextInMs !== 0) return turn;
  }
  throw new Error('the lane never comes to rest');
}

/** A pull, and a push of every target to its end. */
export async function cycle(tenant: OpenTenant): Promise<RunReport> {
  const run = await pull(tenant);
  for (const target of tenant.targets.values()) await drain(tenant, target);
  return run;
}

/** Runs a cycle that reads everything, regardless of the pace, and writes all changes. */
export async function wholeCycle(tenant: OpenTenant): Promise<void> {
  await pullTenant(tenant, NEVER, { asked: true });
  for (const target of tenant.targets.values()) await drain(tenant, target);
}

/** Two cycles: the second believes what the first missed. */
export async function twoCycles(tenant: OpenTenant): Promise<RunReport> {
  await cycle(tenant);
  return cycle(tenant);
}

/** The target by its id. */
export function targetOf(tenant: OpenTenant, id = 'doctor'): OpenTarget {
  const target = tenant.targets.get(id);
  if (target === undefined) throw new Error(`there is no target ${id}`);
  return target;
}
