import { spanned } from '../core/log/logger.ts';
import type { Pieces } from '../core/model/pieces.ts';
import type { SkippedTarget } from '../core/model/plan-view.ts';
import type { Progress } from '../core/model/tasks.ts';
import type { Instant } from '../core/model/time.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';
import { message } from '../messages/message.ts';
import { type Loaded, loadCycle, loadPart, saysMore, withResting } from './load.ts';
import { type Cycle, remember } from './memo.ts';
import { canStand, partialTargets } from './parts.ts';
import { type PlannedTargets, planTargets } from './plan-targets.ts';
import {
  activeTargets,
  type Engine,
  type EngineTarget,
  type Reading,
  type ReadingRequest,
  type Readings,
} from './ports.ts';
import { withinStorage } from './storage-limit.ts';
import type { Lease } from './store.ts';
import { isDecided, type TargetPlan } from './target-plan.ts';

/** Maximum individual fetches of restored records that no list shows; the limit leaves capacity for absent records. */
const PINNED_READ_ALONE = 50;

/** Options of planning a cycle. */
export interface PlanOptions {
  /** Null for read-only use: no writes, no adoption. */
  lease: Lease | null;
  progress: Progress;
  /** Start of the cycle, if it may read only a part; absent: a full read. */
  pacedAt?: Instant;
  /** The slow lists were just read. */
  justRead?: boolean;
}

/**
 * One cycle up to its plans: reads the source, opens the state of each target, confirms that absent records are gone, and plans. The caller
 * commits the plans (`commit.ts`). A partial read is planned first. If it leaves a question open, a full read follows.
 */
export async function planCycle<T extends EngineTarget, R extends Reading>(
  engine: Engine<T, R>,
  options: PlanOptions,
  signal: AbortSignal,
): Promise<Cycle<T, R>> {
  const targets = activeTargets(engine);
  const { lease, progress, justRead = false, pacedAt = null } = options;
  // A requested cycle must also find changes that the source does not report.
  if (pacedAt === null) engine.source.distrust();
  const readings = await engine.source.open(pacedAt);
  const restored = await withManyPins(engine, targets);
  const request = { targets, restored, isLookOnly: lease === null, justRead, progress };
  const part = readings.mayBePart ? await planPart(engine, { readings, request, lease }, signal) : null;
  if (part !== null) return part;
  const loaded = await spanned(engine.spans, 'cycle read', {}, async () => {
    const reading = await readings.read({ ...request, reach: 'whole' }, signal);
    const { unconfirmableCycles } = readings;
    return loadCycle(engine, targets, { reading, lease, progress, unconfirmableCycles }, signal);
  });
  const cycle = await planWhole(engine, targets, { some: loaded, lease }, signal);
  engine.source.learn(cycle.confirmations, loaded.loadContext.gaps);
  return cycle;
}

/** A partial read before its request. */
interface PartRequest<T extends EngineTarget, R extends Reading> {
  readings: Readings<R>;
  request: Omit<ReadingRequest<T>, 'reach'>;
  lease: Lease | null;
}

/** Plans targets over a partial read. @returns null if a full read is required */
async function planPart<T extends EngineTarget, R extends Reading>(
  engine: Engine<T, R>,
  { readings, request, lease }: PartRequest<T, R>,
  signal: AbortSignal,
): Promise<Cycle<T, R> | null> {
  const { targets, progress } = request;
  const openTargets = await partialTargets(engine, targets, engine.clock());
  if (openTargets === null) return null;
  const loaded = await spanned(engine.spans, 'cycle read', {}, async () => {
    const reading = await readings.read({ ...request, reach: 'near' }, signal);
    if (reading.completeness === 'partial') return null;
    progress(message('step.next-days'));
    return loadPart(engine, openTargets, { reading, lease }, signal);
  });
  const planned = loaded && (await planInput(engine, loaded, signal));
  return loaded && planned?.plans.every(canStand) === true ? cycleOf(targets, loaded, planned) : null;
}

/** Plans targets with possible changes, and all targets if a plan makes the reading suspect. */
async function planWhole<T extends EngineTarget, R extends Reading>(
  engine: Engine<T, R>,
  targets: readonly T[],
  { some, lease }: { some: Loaded<T, R>; lease: Lease | null },
  signal: AbortSignal,
): Promise<Cycle<T, R>> {
  const first = await planInput(engine, some, signal);
  const isEnough = some.resting.size === 0 || !first.plans.some(needsWholeReading);
  const loaded = isEnough ? some : await withResting(engine, some, lease, signal);
  const planned = isEnough ? first : await planInput(engine, loaded, signal);
  const { facts, loadContext } = loaded;
  const states = new Map(facts.targets.map(({ target, state }) => [target.id, state]));
  const plans = new Map(planned.plans.map((plan) => [plan.target.id, plan]));
  for (const target of targets) {
    const plan = plans.get(target.id);
    const state = saysMore(facts.confirmations, [target]) ? null : (states.get(target.id) ?? null);
    if (plan !== undefined) remember(target, plan, state, loadContext);
    if (engine.source.isInvalidated()) target.invalidate();
  }
  return cycleOf(targets, loaded, planned);
}

/** Plans, and targets with a failed plan. */
interface Planned<T extends EngineTarget> {
  plans: TargetPlan<T>[];
  failed: SkippedTarget[];
}

async function planInput<T extends EngineTarget>(
  { log, spans, storage }: Engine<T>,
  { facts, loadContext: { reading } }: Loaded<T>,
  signal: AbortSignal,
): Promise<Planned<T>> {
  const projections = reading.projections(facts);
  const work = planTargets(facts, projections) as Pieces<PlannedTargets<T>>;
  const planned = await spanned(spans, 'cycle plan', {}, () => inPieces(work, signal));
  reading.recordFound(projections);
  const isQuiet = planned.plans.every(({ permitted }) => permitted.length === 0);
  const plans = isQuiet ? planned.plans : await inPieces(withinStorage(planned.plans, await storage.read()), signal);
  for (const [target, { code, actor }] of planned.failed)
    log.warn({ target, code, actor }, 'target could not be planned');
  return { plans, failed: [...planned.failed].map(([target, { code }]) => ({ target, code })) };
}

function cycleOf<T extends EngineTarget, R extends Reading>(
  targets: readonly T[],
  loaded: Loaded<T, R>,
  { plans, failed }: Planned<T>,
): Cycle<T, R> {
  const { facts, loadContext, resting, skippedTargets, uncertainty } = loaded;
  const planned = new Map(plans.map((plan) => [plan.target.id, plan]));
  return {
    ...{ reading: loadContext.reading, loadContext, confirmations: facts.confirmations, uncertainty },
    toConfirm: new Map(facts.targets.map(({ target, toConfirm }) => [target.id, toConfirm])),
    plans: targets.flatMap((target) => planned.get(target.id) ?? resting.get(target) ?? []),
    doneTargets: [...resting.keys()],
    skippedTargets: [...skippedTargets, ...failed],
    isPlain: uncertainty === null && isPlain(loaded, plans),
  };
}

/** Decides about targets that can be planned in parts; the others always need a full read. */
function isPlain({ facts, loadContext: { reading } }: Loaded, plans: readonly TargetPlan<EngineTarget>[]): boolean {
  return (
    reading.completeness === 'complete' &&
    plans.filter(({ target }) => target.plansParts).every(isDecided) &&
    facts.targets.filter(({ target }) => target.plansParts).every(({ absent }) => absent.length === 0)
  );
}

/** Returns whether a plan makes the reading suspect, which affects all targets. */
function needsWholeReading({ replacesAll, distrustsReading, reading }: TargetPlan): boolean {
  return replacesAll || distrustsReading || (reading?.decided ?? null) !== null;
}

/** Returns targets with more restored records than single reads can find in a cycle. */
async function withManyPins<T extends EngineTarget>(
  { clock, journal }: Pick<Engine, 'clock' | 'journal'>,
  targets: readonly T[],
): Promise<T[]> {
  const ids = targets.map(({ id }) => id);
  const pinned = await journal.pinnedByTarget(ids, clock());
  return targets.filter(({ id }) => (pinned.get(id)?.size ?? 0) > PINNED_READ_ALONE);
}
