import { asMirrorError, type MirrorError } from '../model/errors.ts';
import { DAY_MS } from '../model/time.ts';
import type { Lease } from '../state/leases.ts';
import type { RunReport, TargetRun } from '../state/runs.ts';
import { adopt } from '../sync/adopt.ts';
import type { TargetState } from '../sync/diff.ts';
import { commitPlan, missingFrom, planTarget, type TargetPlan } from './plan.ts';
import { targetRestMs } from './retry.ts';
import { type Confirmation, confirmAbsence, type Survey, surveyClinic, windowOf } from './survey.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** How long a person's command waits for a cycle that is under way. */
const LEASE_WAIT_MS = 60_000;
/** How long a rejection keeps the same records from being held again. */
const REJECTION_MS = 7 * DAY_MS;
const SHOWN_EXAMPLES = 20;

/** What a cycle found and decided, before or after it was carried into the state. */
export interface Cycle {
  survey: Survey;
  confirmation: Confirmation;
  plans: TargetPlan[];
  /** Absent records of each target. */
  missing: ReadonlyMap<string, readonly string[]>;
}

/** Progress for whoever watches: a word and, where known, how far. */
export type Progress = (step: string, done?: number, total?: number) => void;

/**
 * One cycle of a tenant: pull, compare, plan, guard, and put what differs into the outboxes. One at a time per tenant.
 * @param options.wait wait for a cycle that is under way; else null is answered
 * @returns the report, with the error in it when the clinic could not be read
 */
export async function pullTenant(
  tenant: OpenTenant,
  options: { wait: boolean; progress?: Progress },
  signal: AbortSignal,
): Promise<RunReport | null> {
  const lease = options.wait
    ? await tenant.leases.take('plan', LEASE_WAIT_MS, signal)
    : await tenant.leases.tryTake('plan');
  if (lease === null) return null;
  const startedAt = tenant.clock();
  try {
    const guarded = AbortSignal.any([signal, lease.signal]);
    const now = tenant.clock();
    for (const hold of await tenant.holds.expire(now, now + REJECTION_MS)) {
      tenant.log.warn(
        { hold: hold.id, target: hold.target, kind: hold.kind },
        'a hold expired undecided: nothing was removed',
      );
    }
    if (activeTargets(tenant).length === 0) return await report(tenant, startedAt, null, null);
    const cycle = await planCycle(tenant, { lease, progress: options.progress ?? (() => {}) }, guarded);
    for (const plan of cycle.plans) await commitPlan(tenant, plan, lease);
    await noteFreshness(tenant, cycle);
    return await report(tenant, startedAt, cycle, null);
  } catch (error) {
    if (signal.aborted) throw error;
    const failure = asMirrorError(error);
    tenant.log.warn(
      { tenant: tenant.id, code: failure.code, actor: failure.actor, status: failure.status },
      'a cycle ended early',
    );
    return await report(tenant, startedAt, null, failure);
  } finally {
    await lease.release();
  }
}

/**
 * Reads the clinic and plans every target.
 * @param options.lease null to look only: nothing at all is written, adoption included
 */
export async function planCycle(
  tenant: OpenTenant,
  options: { lease: Lease | null; progress: Progress },
  signal: AbortSignal,
): Promise<Cycle> {
  const configured = activeTargets(tenant);
  options.progress('reading the clinic');
  const survey = await surveyClinic(tenant, configured, signal);
  options.progress('reading the targets');
  const states = await openStates(tenant, configured, survey, options.lease, signal);
  const missing = new Map([...states].map(([target, state]) => [target.id, missingFrom(survey, target, state)]));
  const candidates = new Set([...missing.values()].flat());
  if (candidates.size > 0) options.progress('reading absent appointments alone', 0, candidates.size);
  const confirmation = await confirmAbsence(tenant, candidates, signal);
  options.progress('planning');
  const plans: TargetPlan[] = [];
  for (const [target, state] of states) {
    plans.push(await planTarget(tenant, target, survey, confirmation, state));
  }
  return { survey, confirmation, plans, missing };
}

function activeTargets(tenant: OpenTenant): OpenTarget[] {
  return [...tenant.targets.values()].filter(({ configuration }) => !configuration.paused);
}

/** A target whose own objects can't be read is left out of this cycle; the others go on. */
async function openStates(
  tenant: OpenTenant,
  targets: readonly OpenTarget[],
  survey: Survey,
  lease: Lease | null,
  signal: AbortSignal,
): Promise<Map<OpenTarget, TargetState>> {
  const states = new Map<OpenTarget, TargetState>();
  for (const target of targets) {
    try {
      const state = await openState(tenant, target, survey, lease, signal);
      if (state !== null) states.set(target, state);
    } catch (error) {
      signal.throwIfAborted();
      if (lease !== null) await noteTrouble(tenant, target, asMirrorError(error));
    }
  }
  return states;
}

/** @returns null while the target, which must be read first, asked to be left alone */
async function openState(
  tenant: OpenTenant,
  target: OpenTarget,
  survey: Survey,
  lease: Lease | null,
  signal: AbortSignal,
): Promise<TargetState | null> {
  const record = await tenant.records.read(target.id);
  if (record.adoptedAt !== null) {
    if (lease !== null) await makeRoom(tenant, target, survey.snapshot.records.size, lease);
    return { links: await tenant.links.read(target.id), pending: await tenant.outbox.pending(target.id) };
  }
  if (lease === null && record.container === null) return { links: new Map(), pending: new Map() };
  if (record.trouble?.actor === 'remote' && (record.pausedUntil ?? 0) > tenant.clock()) return null;
  const container = await openContainer(target, record.container, lease, signal);
  const remoteItems = [];
  for await (const page of target.connector.read(container, null, signal)) remoteItems.push(...page);
  const adoption = adopt(remoteItems, target.identity, windowOf(target, survey.startedAt).fromAt);
  const links = new Map(adoption.links.map((link) => [link.recordId, link]));
  if (lease !== null) {
    await tenant.links.fit(target.id, Math.max(links.size, survey.snapshot.records.size), lease);
    await tenant.links.writeAll(target.id, adoption.links, lease);
    await tenant.records.write(target.id, { container, adoptedAt: tenant.clock(), trouble: null });
    await tenant.records.count(target.id, { adopted: links.size, ambiguous: adoption.ambiguous });
    tenant.log.info(
      { target: target.id, links: links.size, ambiguous: adoption.ambiguous },
      'links rebuilt from the target',
    );
  }
  return { links, pending: await tenant.outbox.pending(target.id) };
}

/** A look only (without a lease) makes no calendar. */
async function openContainer(
  target: OpenTarget,
  known: string | null,
  lease: Lease | null,
  signal: AbortSignal,
): Promise<string> {
  if (lease === null && known !== null) return known;
  const container = await target.connector.prepare(known, signal);
  target.preparedContainer = container;
  return container;
}

/** The table is laid out anew only while the lane is out of it; when it is busy a later cycle does it. */
async function makeRoom(tenant: OpenTenant, target: OpenTarget, expected: number, lease: Lease): Promise<void> {
  const lane = await tenant.leases.tryTake(laneLease(target.id));
  if (lane === null) return;
  try {
    await tenant.links.fit(target.id, expected, lease);
  } finally {
    await lane.release();
  }
}

/** Name of the lease of a target's lane. */
export function laneLease(target: string): string {
  return `lane-${target}`;
}

/** Remembers what keeps a whole target from going on, and lets it rest. */
export async function noteTrouble(tenant: OpenTenant, target: OpenTarget, error: MirrorError): Promise<number> {
  const now = tenant.clock();
  const { trouble } = await tenant.records.read(target.id);
  const sinceAt = trouble?.code === error.code ? trouble.sinceAt : now;
  const restMs = targetRestMs(error, tenant.random, now - sinceAt);
  await tenant.records.write(target.id, {
    trouble: {
      code: error.code,
      actor: error.actor,
      message: error.message,
      remedy: error.remedy ?? null,
      sinceAt,
    },
    pausedUntil: now + restMs,
  });
  tenant.log.warn(
    { target: target.id, code: error.code, actor: error.actor, status: error.status, restMs },
    'a target rests',
  );
  return restMs;
}

/** A target with absent records that nobody could read alone is as fresh as it was before. */
async function noteFreshness(tenant: OpenTenant, cycle: Cycle): Promise<void> {
  const { survey, plans } = cycle;
  if (survey.snapshot.completeness !== 'complete') return;
  for (const plan of plans) {
    if (targetRun(plan, cycle).unconfirmed > 0) continue;
    const { target, held } = plan;
    const heldBack = Object.values(held).flat().length;
    const { pending } = await tenant.outbox.counts(target.id);
    const settled = pending === 0 && heldBack === 0 ? { settledAsOf: survey.startedAt } : {};
    await tenant.records.write(target.id, { plannedAsOf: survey.startedAt, ...settled });
  }
}

async function report(
  tenant: OpenTenant,
  startedAt: number,
  cycle: Cycle | null,
  error: MirrorError | null,
): Promise<RunReport> {
  const snapshot = cycle?.survey.snapshot ?? null;
  const unknown = new Set<string>();
  for (const { status, rawStatus } of snapshot?.records.values() ?? []) {
    if (status === 'unknown') unknown.add(rawStatus ?? '(none)');
  }
  const run: RunReport = {
    id: startedAt.toString(36),
    startedAt,
    finishedAt: tenant.clock(),
    snapshot:
      snapshot === null
        ? null
        : {
            completeness: snapshot.completeness,
            reason: snapshot.completeness === 'partial' ? snapshot.reason : null,
            records: snapshot.records.size,
            requests: snapshot.requests,
          },
    setAside: countBy(snapshot?.setAside ?? [], ({ code }) => code),
    setAsideExamples: (snapshot?.setAside ?? []).slice(0, SHOWN_EXAMPLES),
    unknownStatuses: [...unknown].slice(0, SHOWN_EXAMPLES),
    targets: cycle === null ? [] : cycle.plans.map((plan) => targetRun(plan, cycle)),
    error:
      error === null
        ? null
        : { code: error.code, actor: error.actor, message: error.message, remedy: error.remedy ?? null },
  };
  await tenant.runs.add(run);
  return run;
}

function targetRun(plan: TargetPlan, { confirmation, missing }: Cycle): TargetRun {
  const absent = missing.get(plan.target.id) ?? [];
  const found = new Set(confirmation.found.map(({ id }) => id));
  const vanished = absent.filter((id) => confirmation.vanished.has(id)).length;
  const stillThere = absent.filter((id) => found.has(id)).length;
  return {
    target: plan.target.id,
    planned: countBy(plan.passed, ({ reason }) => reason),
    held: Object.values(plan.held).flat().length,
    released: plan.released.length,
    unchanged: plan.unchanged,
    confirmed: vanished + stillThere,
    stillThere,
    unconfirmed: absent.length - vanished - stillThere,
  };
}

function countBy<Entry>(entries: readonly Entry[], nameOf: (entry: Entry) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const entry of entries) counts[nameOf(entry)] = (counts[nameOf(entry)] ?? 0) + 1;
  return counts;
}
