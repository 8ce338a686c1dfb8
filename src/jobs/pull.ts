import { asMirrorError } from '../model/errors.ts';
import { DAY_MS } from '../model/time.ts';
import { PLAN_LEASE, SUPERSEDED } from '../state/generations.ts';
import type { Lease } from '../state/leases.ts';
import { type RunReport, runIdOf } from '../state/runs.ts';
import { confirmAll, noteMisses } from './confirm.ts';
import { gapsOf } from './gaps.ts';
import { endImpossibleWaits } from './lanes.ts';
import { keepLedgers } from './ledgers.ts';
import { differsByHand } from './marks.ts';
import { noteProtection } from './note-protection.ts';
import { openStates } from './open-states.ts';
import { nextOutside } from './outside.ts';
import { type Cycle, commitPlan, missingFrom, snapshotOf } from './plan.ts';
import {
  absentReminded,
  type Learned,
  planReminders,
  REMINDERS,
  remindedReading,
  resumeReminders,
} from './plan-reminders.ts';
import { planTargets } from './plan-targets.ts';
import { reportRun, targetRun } from './report.ts';
import { asOf, streamsOf } from './streams.ts';
import { type Reading, type Survey, surveyClinic, windowOf } from './survey.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** How long a person's command waits for a cycle that is under way. */
const LEASE_WAIT_MS = 60_000;
/** How long a rejection keeps the same records from being held again. */
const REJECTION_MS = 7 * DAY_MS;

/** Records that were put back and that no list shows are read alone up to this many; they must leave room for absent ones. */
const PINNED_READ_ALONE = 50;

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
    ? await tenant.leases.take(PLAN_LEASE, LEASE_WAIT_MS, signal)
    : await tenant.leases.tryTake(PLAN_LEASE);
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
    await resumeReminders(tenant);
    if (activeTargets(tenant).length === 0 && tenant.reminders === null)
      return await reportRun(tenant, startedAt, null, null);
    for (const target of activeTargets(tenant)) await endImpossibleWaits(tenant, target);
    const progress = options.progress ?? (() => {});
    const cycle = await planCycle(tenant, { lease, progress, fresh: options.wait }, guarded);
    await noteProtection(tenant, activeTargets(tenant), cycle.doubt);
    for (const plan of cycle.plans) await commitPlan(tenant, plan, lease, runIdOf(startedAt));
    await noteMisses(tenant, cycle);
    await noteFreshness(tenant, cycle);
    const isForeign = cycle.plans.some(({ replaced, target }) => replaced && target.stream === 'appointments');
    if (!isForeign) await planReminders(tenant, learnedOf(cycle));
    return await reportRun(tenant, startedAt, cycle, null);
  } catch (error) {
    if (signal.aborted) throw error;
    // Whoever is forgotten meanwhile stays in memory until the next cycle at most, however long the clinic can't be read.
    tenant.memory.appointments.forget();
    const failure = asMirrorError(error);
    if (failure.code === SUPERSEDED) throw failure;
    tenant.log.warn(
      { tenant: tenant.id, code: failure.code, actor: failure.actor, status: failure.status },
      'a cycle ended early',
    );
    return await reportRun(tenant, startedAt, null, failure);
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
  options: { lease: Lease | null; progress: Progress; fresh?: boolean },
  signal: AbortSignal,
): Promise<Cycle> {
  const configured = activeTargets(tenant);
  options.progress('reading the clinic');
  const besides = await readingsBesides(tenant, configured);
  const survey = await surveyClinic(tenant, configured, { besides, fresh: options.fresh ?? true }, signal);
  options.progress('reading the targets');
  const wentBackAt = await tenant.protection.wentBackAt();
  const opening = { survey, lease: options.lease, wentBackAt };
  const { states, left } = await openStates(tenant, configured, opening, signal);
  const absent = new Map<string, string[]>();
  const missing = new Map<string, string[]>();
  for (const [target, state] of states) {
    const pinned = await tenant.journal.pinned(target.id, tenant.clock());
    const unlisted = missingFrom(survey, target, state, pinned);
    const outside = { survey, state, targets: states.size, note: options.lease !== null };
    absent.set(target.id, unlisted);
    missing.set(target.id, [...unlisted, ...(await nextOutside(tenant, target, outside, unlisted))]);
  }
  const asked = new Map(missing).set(REMINDERS, await remindersMissing(tenant, survey));
  const questions = new Set([...asked.values()].flat()).size;
  if (questions > 0) options.progress('reading absent records alone', 0, questions);
  const confirmations = await confirmAll(tenant, survey, asked, signal);
  options.progress('planning');
  await keepLedgers(tenant, survey, confirmations, signal);
  // After the targets were opened: what was found there may tell that the state was lost.
  const doubt = await tenant.protection.doubt({ lookOnly: options.lease === null });
  const known = { survey, confirmations, absent, missing, states, isForgotten: await tenant.tombstones.load(), doubt };
  const { plans, failed } = await planTargets(tenant, known, signal);
  const gaps = gapsOf(tenant, configured, survey);
  // What the clinic does not have now it may have soon: an hour would be long to wait for a look.
  if ([...gaps.values()].flat().some(({ code }) => code.endsWith('-unknown'))) tenant.clinic.forget();
  return { survey, confirmations, plans, missing, left: [...left, ...failed], gaps, doubt };
}

/** What reminders need, and every agenda where many records were put back whose own agendas may feed no target. */
async function readingsBesides(tenant: OpenTenant, targets: readonly OpenTarget[]): Promise<Reading[]> {
  const now = tenant.clock();
  const readings = tenant.reminders === null ? [] : [remindedReading(tenant.reminders, now)];
  for (const target of targets) {
    const { size } = await tenant.journal.pinned(target.id, now);
    if (size > PINNED_READ_ALONE) readings.push({ window: windowOf(target, now), agendas: 'all' });
  }
  return readings;
}

/** Appointments that wait for a reminder and that a complete list did not show. */
async function remindersMissing(tenant: OpenTenant, { snapshot }: Survey): Promise<string[]> {
  if (snapshot.completeness !== 'complete') return [];
  const present = new Set(snapshot.setAside.map(({ recordId }) => recordId));
  return absentReminded(tenant, (id) => snapshot.records.has(id) || present.has(id));
}

/** A reading that a target doubts takes no reminder back: whether its appointment is there is asked again when it is due. */
function learnedOf({ survey, confirmations, plans }: Cycle): Learned {
  const { found, vanished: gone } = confirmations.appointments;
  const isDoubted = plans.some(({ doubtsReading, target }) => doubtsReading && target.stream === 'appointments');
  const vanished = isDoubted ? new Set<string>() : gone;
  return { records: survey.snapshot.records, found, vanished, place: survey.directory };
}

function activeTargets(tenant: OpenTenant): OpenTarget[] {
  return [...tenant.targets.values()].filter(({ configuration }) => !configuration.paused);
}

/**
 * A target with absent records that nobody could read alone is as fresh as it was before; so is one whose first run was not
 * approved, one whose reading replaces nearly everything, and one whose calendar was replaced meanwhile. With gaps it is so but for them:
 * its clock stands, the rest is as of now.
 */
async function noteFreshness(tenant: OpenTenant, cycle: Cycle): Promise<void> {
  const { survey, plans } = cycle;
  for (const plan of plans) {
    const gaps = cycle.gaps.get(plan.target.id) ?? [];
    await tenant.records.write(plan.target.id, { gaps: gaps.length === 0 ? null : gaps });
    if (!isWhole(survey, plan.target)) continue;
    if (targetRun(plan, cycle).unconfirmed > 0) continue;
    const { target, held, refused } = plan;
    const isLookedAtOnly = held['first-run'].length > 0 || refused.some(({ wanted }) => wanted.want === 'present');
    if (isLookedAtOnly || plan.replaced) continue;
    const { adoptedAt, trouble } = await tenant.records.read(target.id);
    if (adoptedAt === null) continue;
    const heldBack = Object.values(held).flat().length;
    const { pending } = await tenant.outbox.counts(target.id);
    const isQuiet = pending === 0 && heldBack === 0 && trouble === null;
    const isSettled = isQuiet && gaps.length === 0 && !(await differsByHand(tenant, target));
    const plannedAsOf = asOf(target, survey);
    const settled = isSettled ? { settledAsOf: plannedAsOf } : {};
    await tenant.records.write(target.id, { plannedAsOf, ...settled });
  }
}

/** Whether all was read whole that a target follows and is computed from. */
function isWhole(survey: Survey, target: OpenTarget): boolean {
  const { streams, snapshot } = survey;
  if (streamsOf(target).some((name) => streams[name] === null)) return false;
  const needed = streamsOf(target).map((name) => (name === 'history' ? snapshot : streams[name]?.snapshot));
  return [snapshotOf(survey, target), ...needed].every((one) => one?.completeness === 'complete');
}
