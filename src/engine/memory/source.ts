import { MirrorError } from '../../core/model/errors.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import { type Clock, DAY_MS, HOUR_MS, type Instant, overlaps, type TimeWindow } from '../../core/model/time.ts';
import { unconfirmableAfter } from '../confirm.ts';
import type { Confirmations, ReadingRequest, Readings, Source } from '../ports.ts';
import { type MemoryRecord, spanOf } from './items.ts';
import { type ListRead, MemoryReading } from './reading.ts';

/** Faults of a stream. */
export interface StreamFaults {
  /** Records that the list omits, without saying so. */
  hidden: ReadonlySet<string>;
  /** Number of records after which the list ends, and is known to be incomplete; null: the list is complete. */
  endsAfter: number | null;
  /** Records that cannot be read individually. */
  failingAlone: ReadonlySet<string>;
  /** Records of another source, which are read instead; null: the own records. */
  foreign: ReadonlyMap<string, MemoryRecord> | null;
  /** Code of why the stream cannot be read; null if it can. */
  unread: string | null;
}

/** Faults of a source that works. */
export const NO_FAULTS: StreamFaults = {
  ...{ hidden: new Set(), endsAfter: null, failingAlone: new Set(), foreign: null, unread: null },
};

/** One stream of a source. */
export interface MemoryStream {
  records: Map<string, MemoryRecord>;
  /** Records that the source reports as deleted. */
  tombstones: Set<string>;
  faults: StreamFaults;
}

/** Options of a source. */
export interface MemorySourceOptions {
  /** Extent of the targets' windows before and after now. */
  window?: { pastMs: number; futureMs: number };
  /** Whether paced cycles read only the next two days. */
  hasParts?: boolean;
}

const WINDOW = { pastMs: 30 * DAY_MS, futureMs: 60 * DAY_MS };
/** Extent of a part. */
const NEXT_DAYS = { pastMs: 12 * HOUR_MS, futureMs: 2 * DAY_MS };

/** Plain records as a source. Tests change records and faults between cycles. */
export class MemorySource implements Source<MemoryReading> {
  readonly streams: ReadonlyMap<string, MemoryStream>;
  /** Number of readings, and of single reads. */
  readonly calls = { read: 0, readAlone: 0 };
  readonly #clock: Clock;
  readonly #options: Required<MemorySourceOptions>;
  #unconfirmableCycles = 0;
  #isInvalidated = false;

  constructor(clock: Clock, streams: readonly string[], options: MemorySourceOptions = {}) {
    this.#clock = clock;
    this.#options = { window: WINDOW, hasParts: false, ...options };
    this.streams = new Map(
      streams.map((name) => [name, { records: new Map(), tombstones: new Set(), faults: NO_FAULTS }]),
    );
  }

  /** Returns a stream of this source. */
  stream(name: string): MemoryStream {
    const stream = this.streams.get(name);
    if (stream === undefined) throw new RangeError(`no stream ${name}`);
    return stream;
  }

  /** Returns the window of every target. */
  windowAt(now: Instant): TimeWindow {
    return windowAt(now, this.#options.window);
  }

  async open(pacedAt: Instant | null): Promise<Readings<MemoryReading>> {
    return {
      mayBePart: pacedAt !== null && this.#options.hasParts,
      unconfirmableCycles: this.#unconfirmableCycles,
      read: (request) => this.#read(request),
    };
  }

  /** Nothing is reused from an earlier reading. */
  distrust(): void {}

  invalidate(): void {
    this.#isInvalidated = true;
  }

  isInvalidated(): boolean {
    return this.#isInvalidated;
  }

  learn(confirmations: Confirmations): void {
    this.#unconfirmableCycles = unconfirmableAfter(confirmations, this.#unconfirmableCycles);
  }

  /** Reads one record, as the source of the moment answers. */
  async readAlone(name: string, recordId: string): Promise<Lookup<MemoryRecord>> {
    this.calls.readAlone += 1;
    const { records, faults } = this.stream(name);
    if (faults.failingAlone.has(recordId)) throw unavailable();
    const found = (faults.foreign ?? records).get(recordId);
    return found === undefined ? { absent: true } : { found };
  }

  async #read({ reach }: ReadingRequest): Promise<MemoryReading> {
    this.calls.read += 1;
    this.#isInvalidated = false;
    const startedAt = this.#clock();
    const window = this.windowAt(startedAt);
    const windowRead = reach === 'whole' ? window : commonWindow(window, windowAt(startedAt, NEXT_DAYS));
    const lists = new Map([...this.streams].map(([name, stream]) => [name, listOf(stream, windowRead)]));
    const readAlone = (name: string, recordId: string) => this.readAlone(name, recordId);
    return new MemoryReading({ reach, startedAt, window, windowRead, lists, readAlone });
  }
}

function listOf({ records, tombstones, faults }: MemoryStream, window: TimeWindow): ListRead {
  const { hidden, endsAfter, foreign, unread } = faults;
  const shown = [...(foreign ?? records).values()].filter(
    (record) => !hidden.has(record.id) && overlaps(spanOf(record), window),
  );
  const listed = shown.slice(0, endsAfter ?? shown.length);
  return {
    records: new Map(listed.map((record) => [record.id, record])),
    tombstones: foreign === null ? [...tombstones] : [],
    isComplete: endsAfter === null,
    unread,
  };
}

function windowAt(now: Instant, { pastMs, futureMs }: { pastMs: number; futureMs: number }): TimeWindow {
  return { fromAt: now - pastMs, toAt: now + futureMs };
}

function commonWindow(one: TimeWindow, other: TimeWindow): TimeWindow {
  return { fromAt: Math.max(one.fromAt, other.fromAt), toAt: Math.min(one.toAt, other.toAt) };
}

function unavailable(): MirrorError {
  return new MirrorError('no answer', { actor: 'remote', code: 'unavailable', retry: 'later' });
}
