import type { Progress } from '../model/progress.ts';
import type { Instant } from '../model/time.ts';
import type { Lease } from '../state/leases.ts';
import { indexByAgenda } from '../sync/agenda-index.ts';
import type { TargetState } from '../sync/diff.ts';
import { type Cycle, missingFrom, type TargetPlan } from '../sync/plan.ts';
import { planTargets } from '../sync/plan-targets.ts';
import type { Confirmations } from '../sync/views.ts';
import { type Basis, basisOf } from './basis.ts';
import { confirmAll } from './confirm.ts';
import { gapsOf } from './gaps.ts';
import { keepLedgers } from './ledgers.ts';
import { isDecided, nearCalendars, planNear } from './near.ts';
import { openStates } from './open-states.ts';
import { nextOutside } from './outside.ts';
import { absentReminded, REMINDERS, remindedReading } from './plan-reminders.ts';
import { plannedBefore, remember } from './settled.ts';
import { readAllStreams } from './stream-readers.ts';
import { lookAtStreams } from './streams.ts';
import { type Reading, type Survey, surveyClinic, windowOf } from './survey.ts';
import { activeTargets, type OpenTarget, type OpenTenant } from './tenant.ts';

/** Records that were put back and that no list shows are read alone up to this many; they must leave room for absent ones. */
const PINNED_READ_ALONE = 50;

/** How a cycle is planned. */
export interface PlanOptions {
  /** Null to look only: nothing at all is written, adoption included. */
  lease: Lease | null;
  progress: Progress;
  /** When the cycle began, where it may read less than all; absent: it reads all. */
  pacedAt?: Instant;
}

/**
 * Reads the clinic and plans every target; or, in their turn, calendars by the next two days. What CRMs need beside appointments is read before
 * by a job of its own, and what of it is not there is left out of the cycle. Whoever only looks reads all by itself.
 */
export async function planCycle(tenant: OpenTenant, options: PlanOptions, signal: AbortSignal): Promise<Cycle> {
  const configured = activeTargets(tenant);
  options.progress('reading the clinic');
  const besides = await readingsBesides(tenant, configured);
  const { pacedAt: startedAt } = options;
  const [last] = await tenant.runs.list(1);
  const known = startedAt === undefined ? null : await nearCalendars(tenant, configured, { startedAt, last });
  const near = known && (await planNear(tenant, configured, { ...options, known, besides, last }, signal));
  if (near !== null) return near;
  const lastRun = last && { lastRun: last };
  const streams =
    options.lease === null
      ? await readAllStreams(tenant, configured, options.progress, signal)
      : (await lookAtStreams(tenant, configured, lastRun)).streams;
  const survey = await surveyClinic(tenant, configured, { besides, streams, ...(last && { last }) }, signal);
  options.progress('reading the targets');
  const basis = await lookAround(tenant, configured, survey);
  // Whoever only looks gives the same answer by itself.
  const settled =
    options.lease === null ? new Map<OpenTarget, TargetPlan>() : await plannedBefore(tenant, configured, basis);
  const cycle = await planMoving(tenant, configured, { ...options, basis, settled }, signal);
  // What the clinic does not have now it may have soon: an hour would be long to wait for a look.
  if ([...basis.gaps.values()].flat().some(({ code }) => code.endsWith('-unknown'))) tenant.clinic.forget();
  return cycle;
}

async function lookAround(tenant: OpenTenant, targets: readonly OpenTarget[], survey: Survey): Promise<Basis> {
  const byAgenda = indexByAgenda(survey.snapshot.records.values(), tenant.memory.byAgenda);
  tenant.memory.byAgenda = byAgenda;
  const wentBackAt = await tenant.protection.wentBackAt();
  return basisOf(tenant, targets, { survey, byAgenda, wentBackAt, gaps: gapsOf(tenant, targets, survey) });
}

interface Moving extends PlanOptions {
  basis: Basis;
  /** Targets for which nothing is to be planned unless more turns out than the lists tell. */
  settled: ReadonlyMap<OpenTarget, TargetPlan>;
}

/** Plans the targets that may have something to do, and all of them where that casts doubt on the others. */
async function planMoving(
  tenant: OpenTenant,
  targets: readonly OpenTarget[],
  { lease, progress, basis, settled }: Moving,
  signal: AbortSignal,
): Promise<Cycle> {
  const { survey, byAgenda, wentBackAt } = basis;
  const open = (some: readonly OpenTarget[]) => openStates(tenant, some, { survey, lease, wentBackAt }, signal);
  const { states, left } = await open(targets.filter((target) => !settled.has(target)));
  const { absent, missing } = await unlistedIn(tenant, survey, states, lease);
  const asked = new Map(missing).set(REMINDERS, await remindersMissing(tenant, survey));
  const questions = new Set([...asked.values()].flat()).size;
  if (questions > 0) progress('reading absent records alone', 0, questions);
  const confirmations = await confirmAll(tenant, survey, asked, signal);
  progress('planning');
  await keepLedgers(tenant, survey, confirmations, signal);
  // After the targets were opened: what was found there may tell that the state was lost.
  const doubt = await tenant.protection.doubt({ lookOnly: lease === null });
  const isForgotten = await tenant.tombstones.load();
  const known = { survey, byAgenda, confirmations, absent, missing, states, isForgotten, doubt };
  const leftOut = [...left];
  let resting = settled;
  const openResting = async () => {
    const rest = await open([...resting.keys()]);
    for (const [target, state] of rest.states) states.set(target, state);
    leftOut.push(...rest.left);
    resting = new Map();
  };
  if (resting.size > 0 && (isForgotten.version !== basis.forgotten || saysMore(confirmations))) await openResting();
  let planned = await planTargets(tenant, known, signal);
  if (resting.size > 0 && planned.plans.some(isDoubted)) {
    await openResting();
    planned = await planTargets(tenant, known, signal);
  }
  for (const plan of planned.plans)
    remember(plan, saysMore(confirmations) ? null : (states.get(plan.target) ?? null), basis);
  const plans = new Map([...planned.plans.map((plan) => [plan.target, plan] as const), ...resting]);
  return {
    ...{ survey, basis, confirmations, missing, doubt, gaps: basis.gaps },
    plans: targets.flatMap((target) => plans.get(target) ?? []),
    settled: [...resting.keys()],
    left: [...leftOut, ...planned.failed],
    isPlain: doubt === null && isPlain(survey, absent, planned.plans),
  };
}

/** Absent records by target: those that the lists should show, and with them those that are read alone in this cycle. */
async function unlistedIn(
  tenant: OpenTenant,
  survey: Survey,
  states: ReadonlyMap<OpenTarget, TargetState>,
  lease: Lease | null,
) {
  const absent = new Map<string, string[]>();
  const missing = new Map<string, string[]>();
  for (const [target, state] of states) {
    const pinned = await tenant.journal.pinned(target.id, tenant.clock());
    const unlisted = missingFrom(survey, target, state, pinned);
    const outside = { survey, state, targets: states.size, note: lease !== null };
    absent.set(target.id, unlisted);
    missing.set(target.id, [...unlisted, ...(await nextOutside(tenant, target, outside, unlisted))]);
  }
  return { absent, missing };
}

/** Whether reading records alone told of any appointment: what it tells may belong to every target. */
function saysMore({ appointments }: Confirmations): boolean {
  const { found, unusable, vanished, missedOnce, kept } = appointments;
  return found.length + unusable.size + vanished.size + missedOnce.size + kept.size > 0;
}

/** Of calendars: what belongs to CRMs is never planned by less than all. */
function isPlain({ snapshot }: Survey, absent: ReadonlyMap<string, readonly string[]>, plans: readonly TargetPlan[]) {
  const calendars = plans.filter(({ target }) => target.crm === null);
  const isUndoubted = (plan: TargetPlan) => isDecided(plan) && (absent.get(plan.target.id) ?? []).length === 0;
  return snapshot.completeness === 'complete' && calendars.every(isUndoubted);
}

/** Whether a plan asks if the reading can be believed, which is a question about all targets. */
function isDoubted({ replaced, doubtsReading, reading }: TargetPlan): boolean {
  return replaced || doubtsReading || (reading?.decided ?? null) !== null;
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
