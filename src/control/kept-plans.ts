import { createHash } from 'node:crypto';
import type { Cycle } from '../jobs/cycle.ts';
import { planCycle } from '../jobs/plan-cycle.ts';
import type { StopSignals } from '../jobs/push.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import { MirrorError } from '../model/errors.ts';
import type { PlanLine, StoredPlan } from '../model/plan-view.ts';
import type { Progress } from '../model/tasks.ts';
import { DOCUMENT_RETENTION_MS } from '../state/stored-documents.ts';
import { type Installation, requireTenant } from './installation.ts';
import { planLines, planView } from './plan.ts';
import { type SyncResult, syncTenant } from './sync.ts';

/** Differences that an error names; of the others it gives the number. */
const NAMED_DIFFERENCES = 5;
/** Hexadecimal digits of a plan's id: 96 bits of its digest. */
const ID_LENGTH = 24;

/**
 * Makes a plan and keeps it for an hour, so that exactly it can be applied. Its id is a digest of the lines and of what they were made
 * of: the same world gives the same plan. Nothing is written anywhere else.
 * @throws what the clinic's calls throw; MirrorError `settings`, code `no-such-tenant`
 */
export async function storePlan(
  installation: Installation,
  id: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<StoredPlan> {
  const tenant = requireTenant(installation, id);
  const cycle = await planCycle(tenant, { lease: null, progress }, signal);
  const view = await planView(tenant, cycle, signal);
  const madeOf = await originOf(tenant, cycle);
  const storedAt = installation.clock();
  const plan: StoredPlan = {
    ...view,
    id: digestOf([tenant.id, madeOf, cycle.plans.map((plan) => [plan.target.id, planLines(plan)])]),
    keptAt: storedAt,
    expiresAt: storedAt + DOCUMENT_RETENTION_MS,
    madeOf,
    excluded: cycle.plans.map(({ target, leftOut, leftOutRecords }) => ({
      target: target.id,
      counts: leftOut,
      records: [...leftOutRecords].map(([record, why]) => ({ record, why })),
    })),
  };
  await tenant.plans.put(plan.id, plan);
  return plan;
}

async function originOf(
  { generation, links }: Pick<OpenTenant, 'generation' | 'links'>,
  { plans }: Cycle,
): Promise<StoredPlan['madeOf']> {
  const { number } = await generation.newest();
  const targets = plans.map(async ({ target: { id }, waiting }) => {
    const { version } = await links.layout(id);
    return { target: id, links: version, waiting };
  });
  return { configuration: number, targets: await Promise.all(targets) };
}

function digestOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, ID_LENGTH);
}

/** A plan that was kept. @throws MirrorError `settings`, code `no-such-plan` or `no-such-tenant` */
export async function readStoredPlan(
  installation: Installation,
  tenantId: string,
  planId: string,
): Promise<StoredPlan> {
  const plan = await requireTenant(installation, tenantId).plans.read(planId);
  if (plan !== null) return plan;
  throw new MirrorError('no plan of that id is kept', {
    actor: 'settings',
    code: 'no-such-plan',
    retry: 'never',
    remedy: `plans are kept for an hour: make one with "clinic-mirror plan ${tenantId} --save"`,
  });
}

/** The plan that was kept last; null where none is. @throws MirrorError `settings`, code `no-such-tenant` */
export async function newestPlan(installation: Installation, tenantId: string): Promise<StoredPlan | null> {
  const { plans } = requireTenant(installation, tenantId);
  const [newest] = await plans.ids();
  return newest === undefined ? null : plans.read(newest);
}

/**
 * One cycle of a tenant now, to its end, if it would do exactly what the plan says: the cycle's own plan is compared before anything of
 * it is carried into the state, under the lease that keeps other cycles out.
 * @throws MirrorError `conflict`, code `plan-drifted`, that names what differs; `settings`, code `no-such-plan` or `tenant-paused`
 */
export async function applyPlan(
  installation: Installation,
  tenantId: string,
  planId: string,
  { progress, signals }: { progress: Progress; signals: StopSignals },
): Promise<SyncResult> {
  const plan = await readStoredPlan(installation, tenantId, planId);
  return syncTenant(installation, tenantId, { progress, signals }, (cycle) => {
    const differences = differencesOf(plan, cycle);
    return differences.length === 0 ? null : planDrifted(tenantId, differences);
  });
}

/** How one line of a plan is not as it was, as `<target> <record> (<what>)`. */
function differencesOf({ targets }: StoredPlan, { plans }: Cycle): string[] {
  const before = linesByKey(targets.map(({ target, lines }) => [target, lines]));
  const now = linesByKey(plans.map((plan) => [plan.target.id, planLines(plan)]));
  const keys = [...new Set([...before.keys(), ...now.keys()])].sort();
  return keys.flatMap((key) => {
    const [was, is] = [before.get(key), now.get(key)];
    if (was === undefined) return `${key} (new)`;
    if (is === undefined) return `${key} (nothing to do any more)`;
    return decisionOf(was) === decisionOf(is) ? [] : `${key} (otherwise)`;
  });
}

function linesByKey(targets: readonly (readonly [string, readonly PlanLine[]])[]): Map<string, PlanLine> {
  return new Map(
    targets.flatMap(([target, lines]) => lines.map((line) => [`${target} ${line.record}`, line] as const)),
  );
}

/** All that decides what is written; names of fields are told as far as they are known only. */
function decisionOf({ operation, reason, verdict, fingerprint }: PlanLine): string {
  return [operation, reason, verdict, fingerprint].join('\n');
}

function planDrifted(tenant: string, differences: readonly string[]): MirrorError {
  const more = differences.length - NAMED_DIFFERENCES;
  const about = differences.slice(0, NAMED_DIFFERENCES).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return new MirrorError(`a cycle would not do what the plan says, and nothing was done: ${about}`, {
    actor: 'conflict',
    code: 'plan-drifted',
    retry: 'never',
    about,
    remedy: `make another plan ("clinic-mirror plan ${tenant} --save"), look at it, and apply that one`,
  });
}

/** A plan with how many lines it has of what, in place of the lines. */
export function planSummary({ excluded, targets, ...others }: StoredPlan) {
  const exclusions = new Map(excluded.map(({ target, counts }) => [target, counts]));
  return {
    ...others,
    targets: targets.map(({ lines, ...target }) => {
      const operations: Record<string, number> = {};
      for (const { operation, verdict } of lines) {
        if (verdict === 'go') operations[operation] = (operations[operation] ?? 0) + 1;
      }
      return { ...target, lines: lines.length, operations, excluded: exclusions.get(target.target) ?? {} };
    }),
  };
}
