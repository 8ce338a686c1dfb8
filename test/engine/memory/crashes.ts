import { MirrorError } from '../../../src/core/model/errors.ts';
import type { MemoryEngine, MemoryEngineTarget } from '../../../src/engine/memory/engine.ts';
import type { MemoryReading } from '../../../src/engine/memory/reading.ts';

/** When a process ends, or fails: at which call of a port, before or after the call's effect. */
export interface Crash {
  at: number;
  when: 'before' | 'after';
  /** `hangs`: the process makes no further step. `throws`: the call fails, and the process continues. */
  how: 'hangs' | 'throws';
}

/** A process whose calls are counted. */
export interface Watched {
  engine: MemoryEngine;
  /** Fulfilled when the process hangs. */
  hung: Promise<void>;
}

/** Counts calls over several processes; only one process crashes. */
export class CrashPlan {
  readonly #crash: Crash | null;
  calls = 0;

  constructor(crash: Crash | null) {
    this.#crash = crash;
  }

  /** Returns the engine with a crash at the planned call. */
  watch(engine: MemoryEngine): Watched {
    let hang = () => {};
    const hung = new Promise<void>((resolve) => {
      hang = resolve;
    });
    let isDead = false;
    const never = () => new Promise<never>(() => {});
    const step: Step = async (call) => {
      if (isDead) return never();
      this.calls += 1;
      if (this.calls !== this.#crash?.at) return call();
      if (this.#crash.when === 'after') await call();
      if (this.#crash.how === 'throws') throw failure();
      isDead = true;
      hang();
      return never();
    };
    return { engine: watched(engine, step), hung };
  }
}

/** Makes one call. */
type Step = <Result>(call: () => Promise<Result>) => Promise<Result>;

const TABLES = [
  ...(['links', 'outbox', 'targetStore', 'holds', 'journal', 'leases', 'recentObjects', 'protection'] as const),
  ...(['tombstones', 'storage', 'unanswered', 'configVersion'] as const),
];

function watched(engine: MemoryEngine, step: Step): MemoryEngine {
  const tables = Object.fromEntries(TABLES.map((name) => [name, allOf(engine[name], step)]));
  const targets = [...engine.targets].map(([id, target]): [string, MemoryEngineTarget] => [
    id,
    { ...target, connector: allOf(target.connector, step) },
  ]);
  return { ...engine, ...tables, targets: new Map(targets), source: sourceOf(engine, step) };
}

/** Watches all asynchronous methods of a port. The pages of a container are not watched. */
function allOf<Port extends object>(port: Port, step: Step): Port {
  return new Proxy(port, {
    get(_, name) {
      const value: unknown = Reflect.get(port, name, port);
      if (typeof value !== 'function') return value;
      return isAsync(value) ? (...given: unknown[]) => step(() => value.apply(port, given)) : value.bind(port);
    },
  });
}

function isAsync(value: object): boolean {
  return value.constructor.name === 'AsyncFunction';
}

function sourceOf({ source }: MemoryEngine, step: Step): MemoryEngine['source'] {
  const open = async (pacedAt: number | null) => {
    const readings = await step(() => source.open(pacedAt));
    const read: typeof readings.read = async (...given) => readingOf(await step(() => readings.read(...given)), step);
    return { ...readings, read };
  };
  return {
    open,
    distrust: () => source.distrust(),
    invalidate: () => source.invalidate(),
    isInvalidated: () => source.isInvalidated(),
    learn: (...given) => source.learn(...given),
  };
}

function readingOf(reading: MemoryReading, step: Step): MemoryReading {
  return new Proxy(reading, {
    get(_, name) {
      if (name === 'single') return singlesOf(reading, step);
      const value: unknown = Reflect.get(reading, name, reading);
      return typeof value === 'function' ? value.bind(reading) : value;
    },
  });
}

function singlesOf(reading: MemoryReading, step: Step): MemoryReading['single'] {
  return (stream) => {
    const single = reading.single(stream);
    return { ...single, readAlone: (...given) => step(() => single.readAlone(...given)) };
  };
}

function failure(): MirrorError {
  return new MirrorError('no answer', { actor: 'remote', code: 'unavailable', retry: 'later' });
}
