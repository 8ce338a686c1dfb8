import { noSpans, silentLogger } from '../../core/log/logger.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../core/model/time.ts';
import { createTargetIdentity } from '../identity.ts';
import type { Engine, EngineTarget, HostOutages, TargetTraits } from '../ports.ts';
import type { TargetRules } from '../target.ts';
import { type MemoryRecord, memoryForm } from './items.ts';
import type { MemoryShown } from './projection.ts';
import type { MemoryReading } from './reading.ts';
import type { MemorySource } from './source.ts';
import { type MemoryState, type MemoryStore, openMemoryStore } from './store.ts';
import type { MemoryTarget } from './target.ts';

/** A target in memory, opened. */
export interface MemoryEngineTarget extends EngineTarget, MemoryShown {
  configuration: EngineTarget['configuration'];
  connector: MemoryTarget;
}

/** An engine in memory. */
export type MemoryEngine = Engine<MemoryEngineTarget, MemoryReading> & MemoryStore;

/** Settings of one target. */
export interface MemoryTargetOptions extends Partial<TargetRules> {
  id: string;
  stream: string;
  connector: MemoryTarget;
  paused?: boolean;
  exclusionOf?(record: MemoryRecord): string | null;
}

/** Rules of a target without own rules. */
const RULES: TargetRules = {
  policy: 'sync',
  firstRun: 'apply',
  guard: { cancelled: { share: 0.5, count: 20 }, vanished: { share: 0.1, count: 5 }, holdExpiresAfterHours: 168 },
  audit: { drift: 'repair', rewritesPerDay: 3 },
};

/** Hosts that always answer. */
const NO_OUTAGES: HostOutages = {
  watch: (work) => work(),
  causeOf: () => null,
  wait: async () => null,
  hasAnswered: () => true,
  end: async () => {},
  failed: () => null,
};

/** Options of an engine in one process. */
export interface MemoryEngineOptions {
  state: MemoryState;
  source: MemorySource;
  targets: readonly MemoryTargetOptions[];
  /** Name of all settings that affect plans. */
  configuration?: string;
  random?: () => number;
}

/** Opens an engine as one process over a state. Another process may open the same state. */
export function openMemoryEngine(options: MemoryEngineOptions): MemoryEngine {
  const { state, source, targets, configuration = 'first', random = () => 0 } = options;
  const store = openMemoryStore(state, configuration);
  return {
    ...store,
    ...{ id: 'memory', source, followers: [], outages: NO_OUTAGES, log: silentLogger, spans: noSpans, random },
    targets: new Map(targets.map((target) => [target.id, openTarget(target, source)])),
    elapsedBetween: (fromAt, toAt) => toAt - fromAt,
    sharedTime: async (at) => at,
    missedForMs: MINUTE_MS,
    planLifeMs: HOUR_MS,
    slice: { operations: 1_000, durationMs: MINUTE_MS },
  };
}

/** Opens a target. */
function openTarget(options: MemoryTargetOptions, source: MemorySource): MemoryEngineTarget {
  const { id, stream, connector, paused = false, exclusionOf = () => null, ...rules } = options;
  return {
    ...{ id, stream, connector, exclusionOf },
    configuration: { ...RULES, ...rules, paused, connection: id, connector: 'memory' },
    identity: createTargetIdentity(new Uint8Array(32), 'memory', id, memoryForm(stream)),
    supports: { batchSize: 50, concurrency: 1, keys: 'enforced', duplicatesAreOurs: false },
    ...{ preparedContainer: null, idleTarget: null },
    ...TRAITS,
    windowAt: (now) => source.windowAt(now),
  };
}

/** Objects that stand alone, in a container that is found without writing. */
const TRAITS: Omit<TargetTraits, 'windowAt'> = {
  ...{ sharesLimits: false, dependsOn: null, hasDependents: false, takesOver: false, plansParts: true },
  ...{ findsContainer: true, readsBack: false, listsCopies: false, containerGone: 'container-gone' },
  invalidate() {},
  writable: (item) => item,
  updateFacts: () => ({}),
  completed: (stored) => stored,
  *refusedIn() {
    yield;
    return {};
  },
  containerMissing: () => absentError('container is gone'),
  firstWriteMissing: () => absentError('object is gone'),
};

function absentError(text: string): MirrorError {
  return new MirrorError(text, { actor: 'remote', code: 'unavailable', retry: 'later' });
}
