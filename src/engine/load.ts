import type { SkippedTarget } from '../core/model/plan-view.ts';
import type { Uncertainty } from '../core/model/state-schemas.ts';
import type { Progress } from '../core/model/tasks.ts';
import type { Instant } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { confirmAll, gapsConfirmed, missingFrom, nextOutside } from './confirm.ts';
import type { PushedState } from './diff.ts';
import { restorationsOf } from './drift.ts';
import { loadOrRebuildStates, readState } from './load-or-rebuild.ts';
import { type LoadContext, plannedBefore } from './memo.ts';
import { withheldIn } from './policy.ts';
import type {
  Confirmations,
  CycleFacts,
  Engine,
  EngineTarget,
  Extension,
  OtherTarget,
  Reading,
  TargetInput,
} from './ports.ts';
import type { ErasedPersons, Lease } from './store.ts';
import type { TargetPlan } from './target-plan.ts';

/** A plan's input, and related results. */
export interface Loaded<T extends EngineTarget = EngineTarget, R extends Reading = Reading> {
  facts: CycleFacts<TargetInput<T>>;
  loadContext: LoadContext<R>;
  /** Targets with unchanged input and their earlier plan; their states are not opened. */
  resting: ReadonlyMap<T, TargetPlan<T>>;
  skippedTargets: readonly SkippedTarget[];
  uncertainty: Uncertainty | null;
}

/** A target with opened state, before the last values are read. */
type Opened<T extends EngineTarget> = Omit<TargetInput<T>, 'stored' | 'gone' | 'restorations' | 'recent'>;

/** Options of loading a cycle. */
export interface Loading<R extends Reading = Reading> {
  reading: R;
  /** Null for read-only use: no writes, no adoption. */
  lease: Lease | null;
  progress: Progress;
  /** Consecutive cycles before this one in which absent records could not be read individually. */
  unconfirmableCycles: number;
}

/** Loads a plan's additional input: the state, and the source's answers about absent records. */
export async function loadCycle<T extends EngineTarget, R extends Reading>(
  engine: Engine<T, R>,
  targets: readonly T[],
  { reading: listed, lease, progress, unconfirmableCycles }: Loading<R>,
  signal: AbortSignal,
): Promise<Loaded<T, R>> {
  progress('reading the targets');
  const before = await lookAround(engine, targets, { reading: listed, gaps: listed.gaps() });
  // Read-only use always computes its own result.
  const resting = lease === null ? new Map<T, TargetPlan<T>>() : await plannedBefore(engine, targets, before);
  const moving = targets.filter((target) => !resting.has(target));
  const some = await openAll(engine, moving, { loadContext: before, lease }, signal);
  const unlisted = await withUnlisted(engine, some.opened, { reading: listed, isRecorded: lease !== null });
  const confirmations = await confirmUnlisted(engine, unlisted, { reading: listed, progress }, signal);
  progress('planning');
  const reading = await listed.confirmed(confirmations, signal);
  const gaps = gapsConfirmed(reading, targets, confirmations, unconfirmableCycles);
  const loadContext = { ...before, reading, gaps };
  // After the targets are opened: objects found there may prove that the state was lost.
  const uncertainty = await engine.protection.uncertainty({ lookOnly: lease === null, whole: true });
  const isForgotten = await engine.tombstones.load();
  const isMore = isForgotten.version !== loadContext.forgotten || saysMore(confirmations, resting.keys());
  const others = await openAll(engine, isMore ? [...resting.keys()] : [], { loadContext, lease }, signal);
  const cycle = { reading, confirmations, isForgotten, isUncertain: uncertainty !== null };
  return {
    ...{ facts: await factsOf(engine, [...unlisted, ...others.opened], cycle), loadContext, uncertainty },
    resting: isMore ? new Map() : resting,
    skippedTargets: [...some.skippedTargets, ...others.skippedTargets],
  };
}

/** Loads a plan's input from a partial read, without a judgement about absent records. */
export async function loadPart<T extends EngineTarget, R extends Reading>(
  engine: Engine<T, R>,
  targets: readonly T[],
  { reading, lease }: Pick<Loading<R>, 'reading' | 'lease'>,
  signal: AbortSignal,
): Promise<Loaded<T, R> | null> {
  const loadContext = await lookAround(engine, targets, { reading, gaps: new Map() });
  const { opened, skippedTargets } = await openAll(engine, targets, { loadContext, lease }, signal);
  if (opened.some(({ target, state }) => missingFrom(reading, target, state, new Set()).length > 0)) return null;
  if ((await engine.protection.uncertainty({ lookOnly: lease === null })) !== null) return null;
  const confirmations = await confirmAll(engine, reading, NOTHING_ABSENT, signal);
  const isForgotten = await engine.tombstones.load();
  const facts = await factsOf(engine, opened, { reading, confirmations, isForgotten, isUncertain: false });
  return { facts, loadContext, resting: new Map(), skippedTargets, uncertainty: null };
}

const NOTHING_ABSENT = { toConfirm: new Map(), streamOf: () => '', startsBefore: () => [] };

/** Opens the states of the resting targets too, because a plan makes the reading suspect. */
export async function withResting<T extends EngineTarget, R extends Reading>(
  engine: Engine<T, R>,
  loaded: Loaded<T, R>,
  lease: Lease | null,
  signal: AbortSignal,
): Promise<Loaded<T, R>> {
  const { facts, loadContext, resting, skippedTargets, uncertainty } = loaded;
  const rest = await openAll(engine, [...resting.keys()], { loadContext, lease }, signal);
  const all = await factsOf(engine, [...facts.targets, ...rest.opened], { ...facts, reading: loadContext.reading });
  return {
    facts: all,
    loadContext,
    resting: new Map(),
    skippedTargets: [...skippedTargets, ...rest.skippedTargets],
    uncertainty,
  };
}

/** Reads the summaries of all targets in one request. */
async function lookAround<R extends Reading>(
  { tombstones, holds, targetStore, protection }: Engine,
  targets: readonly EngineTarget[],
  prepared: Pick<LoadContext<R>, 'reading' | 'gaps'>,
): Promise<LoadContext<R>> {
  return {
    ...prepared,
    wentBackAt: await protection.wentBackAt(),
    forgotten: (await tombstones.load()).version,
    holds: await holds.list(),
    summaries: await targetStore.summarize(targets.map(({ id }) => id)),
  };
}

/** Opens the states of targets, before absent records are known. */
async function openAll<T extends EngineTarget>(
  engine: Engine<T>,
  targets: readonly T[],
  { loadContext: { reading, wentBackAt }, lease }: { loadContext: LoadContext; lease: Lease | null },
  signal: AbortSignal,
): Promise<{ opened: Opened<T>[]; skippedTargets: readonly SkippedTarget[] }> {
  const { states, skippedTargets } = await loadOrRebuildStates(engine, targets, { reading, lease, wentBackAt }, signal);
  const opened: Opened<T>[] = [];
  for (const [target, state] of states) {
    // Records that an operator restored. The planner removes damaged pins.
    const { journal, clock } = engine;
    const pinned = await (lease === null
      ? journal.pinned(target.id, clock())
      : journal.confirmPins(target.id, clock()));
    opened.push({ target, state, pinned, absent: [], toConfirm: [] });
  }
  return { opened, skippedTargets };
}

/** Adds absent records by target: missing from lists, and due for individual fetches. */
async function withUnlisted<T extends EngineTarget>(
  { targetStore }: Pick<Engine, 'targetStore'>,
  opened: readonly Opened<T>[],
  { reading, isRecorded }: { reading: Reading; isRecorded: boolean },
): Promise<Opened<T>[]> {
  const found: Opened<T>[] = [];
  for (const one of opened) {
    const { target, state, pinned } = one;
    const absent = missingFrom(reading, target, state, pinned);
    const cycle = { reading, state, targets: opened.length, isRecorded };
    const beyond = await nextOutside(targetStore, target, cycle, absent);
    found.push({ ...one, absent, toConfirm: [...absent, ...beyond] });
  }
  return found;
}

/** Fetches absent records of targets and extensions individually. */
async function confirmUnlisted(
  engine: Engine,
  opened: readonly Opened<EngineTarget>[],
  { reading, progress }: Pick<Loading, 'reading' | 'progress'>,
  signal: AbortSignal,
): Promise<Confirmations> {
  const toConfirm = new Map<string, readonly string[]>(opened.map((one) => [one.target.id, one.toConfirm]));
  const streams = new Map(opened.map(({ target }) => [target.id, target.stream]));
  const followed: ReadonlyMap<string, readonly Instant[]>[] = [];
  for (const follower of engine.followers) {
    const absent = await followedAbsences(follower, reading);
    toConfirm.set(follower.name, [...absent.keys()]);
    streams.set(follower.name, follower.stream);
    followed.push(absent);
  }
  const questions = new Set([...toConfirm.values()].flat()).size;
  if (questions > 0) progress(message('step.absent-records'), 0, questions);
  const startsBefore = (id: string) => [
    ...opened.flatMap(({ state: { links, pending } }) => (pending.get(id) ?? links.get(id))?.startAt ?? []),
    ...followed.flatMap((absent) => absent.get(id) ?? []),
  ];
  const streamOf = (name: string) => streams.get(name) ?? '';
  return confirmAll(engine, reading, { toConfirm, streamOf, startsBefore }, signal);
}

/** Returns whether individual fetches found any record that may belong to the targets. */
export function saysMore(confirmations: Confirmations, targets: Iterable<EngineTarget>): boolean {
  const streams = new Set([...targets].map(({ stream }) => stream));
  return [...streams].some((stream) => {
    const confirmation = confirmations[stream];
    if (confirmation === undefined) return false;
    const { found, unusable, vanished, missedOnce, held } = confirmation;
    return found.length + unusable.size + vanished.size + missedOnce.size + held.size > 0;
  });
}

/** Returns records that an extension waits for and that a complete list omitted, with their known start. */
async function followedAbsences(
  extension: Extension,
  reading: Reading,
): Promise<ReadonlyMap<string, readonly Instant[]>> {
  const listing = reading.listing(extension.stream);
  return listing?.isComplete === true ? extension.absent(listing.isListed) : new Map();
}

/** Source data of the cycle. */
interface Seen {
  reading: Reading;
  confirmations: Confirmations;
  isForgotten: ErasedPersons;
  isUncertain: boolean;
}

/** Reads the last values of a plan's input. Later decisions apply in the next cycle. */
async function factsOf<T extends EngineTarget>(
  engine: Engine<T>,
  opened: readonly Opened<T>[],
  { reading, confirmations, isForgotten, isUncertain }: Seen,
): Promise<CycleFacts<TargetInput<T>>> {
  const now = engine.clock();
  const configVersion = await engine.configVersion.newest();
  // Read holds before target records: an approval updates the hold first.
  const holds = await engine.holds.list();
  const targets: TargetInput<T>[] = [];
  for (const one of opened) targets.push({ ...one, ...(await storedOf(engine, one.target, now)) });
  return {
    ...{ now, reach: reading.reach, isUncertain, configVersion, holds, targets },
    ...{ confirmations, isForgotten, others: await othersOf(engine, opened) },
  };
}

async function storedOf(
  { recentObjects, targetStore }: Pick<Engine, 'recentObjects' | 'targetStore'>,
  target: EngineTarget,
  now: Instant,
): Promise<Pick<TargetInput, 'stored' | 'gone' | 'restorations' | 'recent'>> {
  const { id } = target;
  const [record, gone, restorations, recent] = await Promise.all([
    targetStore.read(id),
    targetStore.gone(id, now),
    restorationsOf(targetStore, target, now),
    target.takesOver ? recentObjects.read(id, now) : new Map(),
  ]);
  const { notRemoved, notUpdated } = withheldIn(target, record);
  const { firstRunApprovedAt, comparableUnder, refusedThere } = record;
  const withheldBefore = new Set([...notRemoved, ...notUpdated]);
  return { stored: { firstRunApprovedAt, comparableUnder, refusedThere, withheldBefore }, gone, restorations, recent };
}

/** Returns paused or unreadable targets on which planned ones depend. */
async function othersOf<T extends EngineTarget>(
  engine: Engine<T>,
  opened: readonly { target: T; state: PushedState }[],
): Promise<Map<string, OtherTarget<T>>> {
  const planned = new Set(opened.map(({ target }) => target.id));
  const others = new Map<string, OtherTarget<T>>();
  for (const { target } of opened) {
    const other = engine.targets.get(target.dependsOn?.target ?? '');
    if (other === undefined || planned.has(other.id) || others.has(other.id)) continue;
    const state = await readState(engine, other.id);
    others.set(other.id, { target: other, state, pinned: await engine.journal.pinned(other.id, engine.clock()) });
  }
  return others;
}
