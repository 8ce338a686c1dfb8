import { createHash } from 'node:crypto';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import type { PlannedChange } from '../../core/model/plan.ts';
import type { PlanLine, PlanLineView, PlanView, StoredPlan, TargetPlanView } from '../../core/model/plan-view.ts';
import type { ReadingRemark } from '../../core/model/run-schemas.ts';
import type { Progress } from '../../core/model/tasks.ts';
import type { Instant } from '../../core/model/time.ts';
import type { TargetSetup } from '../../domain/cycle-input.ts';
import { fieldTeller, hasPlainTitles } from '../../domain/field-changes.ts';
import type { TargetPlan } from '../../domain/plan-targets.ts';
import { planCycle } from '../../engine/cycle.ts';
import { policyViewOf } from '../../engine/policy.ts';
import type { StopSignals } from '../../engine/push.ts';
import { message } from '../../messages/message.ts';
import type { LinkLayout } from '../../state/links.ts';
import { DOCUMENT_RETENTION_MS } from '../../state/stored-documents.ts';
import type { OpenTarget, TenantCycle } from '../../tenant/tenant.ts';
import { type Installation, requireTenant } from './installation.ts';
import { asMatchable, findMatches, type MatchSource } from './matching.ts';
import type { SyncResult } from './status-schemas.ts';
import { syncTenant } from './sync.ts';
import { configuredCalendarOf } from './target-names.ts';
import { heldObjects } from './target-objects.ts';

/** Reads clinic, state and the affected target objects, and returns the differences. Writes nothing. */
export async function planTenant(
  installation: Installation,
  id: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<PlanView> {
  const tenant = requireTenant(installation, id);
  return planView(tenant, await planCycle(tenant, { lease: null, progress }, signal), signal);
}

/** Members of a tenant that the view of its plan is made from. */
interface PlanViewSource extends MatchSource {
  id: string;
  clinic: { remarks(): ReadingRemark[] };
  targets: ReadonlyMap<string, OpenTarget>;
  /** Returns a time of this host by the clock of the store. */
  sharedTime(at: Instant): Promise<Instant>;
}

/** Returns a view of a cycle without writes. */
async function planView(tenant: PlanViewSource, cycle: TenantCycle, signal: AbortSignal): Promise<PlanView> {
  const { reading, confirmations, plans, skippedTargets } = cycle;
  const existing = new Map<string, TargetPlanView['existing']>();
  for (const plan of plans) existing.set(plan.target.id, await existingOf(tenant, plan, cycle, signal));
  const lines = await Promise.all(plans.map((plan) => linesWithFields(tenant, plan, cycle, signal)));
  const { snapshot } = reading;
  const remarks = tenant.clinic.remarks();
  return {
    tenant: tenant.id,
    asOf: await tenant.sharedTime(reading.startedAt),
    snapshot: {
      completeness: snapshot.completeness,
      reason: snapshot.completeness === 'partial' ? snapshot.reason : null,
      records: snapshot.records.size,
      unusable: snapshot.unusable.length,
    },
    ...(remarks.length > 0 && { remarks }),
    unconfirmed: Object.values(confirmations).reduce((sum, { unconfirmed }) => sum + unconfirmed, 0),
    skippedTargets,
    targets: plans.map((plan, at) => ({
      target: plan.target.id,
      calendar: calendarOf(plan.target),
      links: plan.linkCount,
      unchanged: plan.unchanged - plan.unsettled,
      ...plan.backlog,
      released: plan.released.length,
      ...policyViewOf(plan.target.configuration, plan.withheld),
      existing: existing.get(plan.target.id) ?? null,
      lines: lines[at] ?? [],
    })),
  };
}

/** Lists the planned changes of a target, by record time. */
function planLines(plan: TargetPlan): PlanLine[] {
  return judgedChanges(plan).map(({ change, decision }) => lineOf(change, decision, plan.target));
}

function judgedChanges({
  permitted,
  held,
  refused,
}: TargetPlan): { change: PlannedChange; decision: PlanLine['decision'] }[] {
  return [
    ...permitted.map((change) => ({ change, decision: 'write' as const })),
    ...Object.values(held)
      .flat()
      .map((change) => ({ change, decision: 'on-hold' as const })),
    ...refused.map((change) => ({ change, decision: 'refused' as const })),
  ].sort((one, other) => one.change.wanted.startAt - other.change.wanted.startAt);
}

/** For a deletion, shows the target's present object. */
async function linesWithFields(
  tenant: PlanViewSource,
  plan: TargetPlan,
  { reading: { directory, snapshot } }: TenantCycle,
  signal: AbortSignal,
): Promise<PlanLineView[]> {
  const changes = judgedChanges(plan);
  const target = tenant.targets.get(plan.target.id);
  if (target === undefined || changes.length === 0) return [];
  const held = await heldObjects(
    tenant,
    target,
    changes.map(({ change }) => change.recordId),
    signal,
  );
  const describe = fieldTeller(plan.target, directory);
  const agendaOf = (recordId: string) => {
    const id = target.stream === 'appointments' ? snapshot.records.get(recordId)?.agendaId : undefined;
    return id === undefined ? null : (directory.agendas.get(id)?.name ?? id);
  };
  return changes.map(({ change, decision }) => {
    const { recordId, fields, wanted } = change;
    const item = wanted.want === 'absent' ? null : wanted.item;
    return {
      ...lineOf(change, decision, plan.target),
      agenda: agendaOf(recordId),
      fieldChanges: describe({ fields, wanted: item, held: held(recordId) }),
    };
  });
}

async function existingOf(
  tenant: PlanViewSource,
  { target: { id }, linkCount }: TargetPlan,
  cycle: TenantCycle,
  signal: AbortSignal,
): Promise<TargetPlanView['existing']> {
  const target = tenant.targets.get(id);
  const matchable = target === undefined || linkCount > 0 ? null : asMatchable(target);
  if (matchable === null) return null;
  try {
    const { contacts, alike } = await findMatches(tenant, matchable, cycle, signal);
    return { contacts, alike };
  } catch (error) {
    signal.throwIfAborted();
    return { unread: asMirrorError(error).code };
  }
}

/** Returns the name or configured id of a target's calendar; null for a CRM, and for a calendar configured by URL. */
export function calendarOf({ crm, configuration }: TargetSetup): string | null {
  if (crm !== null) return null;
  const { name, id } = configuredCalendarOf(configuration);
  return name ?? id;
}

function titleOf({ wanted }: PlannedChange, { configuration }: TargetSetup): string | null {
  if (wanted.want === 'absent' || !('title' in wanted.item)) return null;
  return hasPlainTitles(configuration) ? wanted.item.title : null;
}

function lineOf(change: PlannedChange, guardResult: PlanLine['decision'], target: TargetSetup): PlanLine {
  const { recordId, reason, fields, wanted } = change;
  const isCreated = reason === 'new' || reason === 'removed-by-hand';
  const operation = wanted.want === 'absent' ? 'delete' : isCreated ? 'create' : 'update';
  return {
    record: recordId,
    operation,
    reason,
    fields,
    startAt: wanted.startAt === 0 ? null : wanted.startAt,
    title: titleOf(change, target),
    decision: guardResult,
    fingerprint: wanted.want === 'absent' ? null : wanted.fingerprint,
  };
}

/** Largest number of differences listed in an error. The error gives the number of further differences. */
const NAMED_DIFFERENCES = 5;
/** Hexadecimal digits of a plan id: 96 bits of the digest. */
const ID_LENGTH = 24;

/**
 * Makes a plan and stores the plan for an hour, so that exactly this plan can be applied. The id is a digest of the lines and their inputs,
 * so equal inputs give an equal id. Writes only the stored plan.
 * @throws errors of the clinic API; MirrorError `settings`, code `no-such-tenant`
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
    storedAt,
    expiresAt: storedAt + DOCUMENT_RETENTION_MS,
    madeOf,
    excluded: cycle.plans.map(({ target, omitted, omittedRecords }) => ({
      target: target.id,
      counts: omitted,
      records: [...omittedRecords].map(([record, why]) => ({ record, why })),
    })),
  };
  await tenant.plans.put(plan.id, plan);
  return plan;
}

/** Members of a tenant that say what a plan was made of. */
interface Origin {
  configVersion: { newest(): Promise<{ number: number }> };
  links: { layout(target: string): Promise<LinkLayout> };
}

async function originOf({ configVersion, links }: Origin, { plans }: TenantCycle): Promise<StoredPlan['madeOf']> {
  const { number } = await configVersion.newest();
  const targets = plans.map(async ({ target: { id }, waiting }) => {
    const { version } = await links.layout(id);
    return { target: id, links: version, waiting };
  });
  return { configuration: number, targets: await Promise.all(targets) };
}

function digestOf(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, ID_LENGTH);
}

/** Returns a stored plan. @throws MirrorError `settings`, code `no-such-plan` or `no-such-tenant` */
export async function readStoredPlan(
  installation: Installation,
  tenantId: string,
  planId: string,
): Promise<StoredPlan> {
  const plan = await requireTenant(installation, tenantId).plans.read(planId);
  if (plan !== null) return plan;
  throw new MirrorError(message('no-such-plan'), {
    actor: 'settings',
    code: 'no-such-plan',
    retry: 'never',
    remedy: message('no-such-plan.remedy', { tenantId }),
  });
}

/** Returns the newest stored plan, or null. @throws MirrorError `settings`, code `no-such-tenant` */
export async function newestPlan(installation: Installation, tenantId: string): Promise<StoredPlan | null> {
  const { plans } = requireTenant(installation, tenantId);
  const [newest] = await plans.ids();
  return newest === undefined ? null : plans.read(newest);
}

/**
 * Runs a complete cycle of a tenant now if the cycle's plan equals the stored plan. The plans are compared before the state changes, under
 * the lease that excludes other cycles.
 * @throws MirrorError `conflict`, code `plan-drifted`, with the differences; `settings`, code `no-such-plan` or `tenant-paused`
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

/** Lists differing plan lines as `<target> <record> (<difference>)`. */
function differencesOf({ targets }: StoredPlan, { plans }: TenantCycle): string[] {
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

/** Properties that determine the write. Field names may be incomplete, so they are not compared. */
function decisionOf({ operation, reason, decision, fingerprint }: PlanLine): string {
  return [operation, reason, decision, fingerprint].join('\n');
}

function planDrifted(tenant: string, differences: readonly string[]): MirrorError {
  const more = differences.length - NAMED_DIFFERENCES;
  const about = differences.slice(0, NAMED_DIFFERENCES).join(', ') + (more > 0 ? ` and ${more} more` : '');
  return new MirrorError(message('plan-drifted', { about }), {
    actor: 'conflict',
    code: 'plan-drifted',
    retry: 'never',
    about,
    remedy: message('plan-drifted.remedy', { tenant }),
  });
}

/** Returns a plan with line counts instead of lines. */
export function planSummary({ excluded, targets, ...others }: StoredPlan) {
  const exclusions = new Map(excluded.map(({ target, counts }) => [target, counts]));
  return {
    ...others,
    targets: targets.map(({ lines, ...target }) => {
      const operations: Record<string, number> = {};
      for (const { operation, decision } of lines) {
        if (decision === 'write') operations[operation] = (operations[operation] ?? 0) + 1;
      }
      return { ...target, lines: lines.length, operations, excluded: exclusions.get(target.target) ?? {} };
    }),
  };
}
