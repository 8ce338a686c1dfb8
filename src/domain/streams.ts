import type { Logger } from '../core/log/logger.ts';
import { exponentialBackoffMs } from '../core/model/backoff.ts';
import { asMirrorError, MirrorError } from '../core/model/errors.ts';
import type { Progress } from '../core/model/tasks.ts';
import { CLOCK_TOLERANCE_MS, DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../core/model/time.ts';
import { message, type Text } from '../messages/message.ts';
import type { ClinicReader } from './clinic-requests.ts';
import type { ClinicTarget } from './cycle-input.ts';
import { computesFromHistory, type Follower, type SlowStream, streamsOf, unusableIn } from './mapping-sources.ts';
import type { RunReport, StreamsRead } from './runs.ts';
import { type FailedReading, isBelievable, type StreamMemory, type StreamReadings } from './stream-memory.ts';

/** Interval of reading past appointments, which rarely change. */
const HISTORY_EVERY_MS = 6 * HOUR_MS;
/**
 * Number of intervals for which plans use a read. A new read is requested after the first interval and takes time. The cycle after a read
 * always uses the read, however long the read took.
 */
const LIFE_IN_INTERVALS = 2;
/** A failed read is requested again in the next cycle, then after this delay, which doubles up to the stream's interval. */
const FIRST_BACKOFF_MS = 5 * MINUTE_MS;

/** The additional streams of one cycle. A stream unusable for plans is null. */
export interface Streams extends StreamReadings {
  /** Failed streams: targets that require them remain unchanged. */
  failed: ReadonlyMap<SlowStream, MirrorError>;
  /** Streams that this process has not read yet: targets that require them remain unchanged until then. */
  awaited: ReadonlySet<SlowStream>;
  /** Reads used by the last plan, in any process. */
  plannedBy: StreamsRead;
}

/** Data that CRM targets require in addition to appointments of their window. */
interface StreamNeeds {
  /** Number of past days of invoices with doctors; 0 for none. */
  doctorsDays: number;
  /** Required start of a read of past appointments. */
  historyFromAt: Instant;
  /** Interval of each required stream. */
  everyMs: ReadonlyMap<SlowStream, number>;
}

/** State of a tenant's streams in this process. */
interface DueStreams {
  needs: StreamNeeds;
  streams: Streams;
  /** Streams to be read now. */
  due: readonly SlowStream[];
  /** Another process planned the tenant's CRMs last: that process reads and plans while it runs. */
  isElsewhere: boolean;
}

function needsOf(targets: readonly ClinicTarget[], now: Instant): StreamNeeds {
  const names = new Set<SlowStream>();
  let [everyMs, doctorsDays, historyDays] = [Infinity, 0, 0];
  for (const target of targets) {
    const { crm, window } = target.configuration;
    if (crm === undefined) continue;
    for (const name of streamsOf(target)) names.add(name);
    everyMs = Math.min(everyMs, crm.everyMinutes * MINUTE_MS);
    if (target.crm?.mapping.needs.doctors === true) doctorsDays = Math.max(doctorsDays, window.pastDays);
    if (computesFromHistory(target)) historyDays = Math.max(historyDays, crm.derived.historyDays);
  }
  const intervals = [...names].map((name) => [name, name === 'history' ? HISTORY_EVERY_MS : everyMs] as const);
  // One day for the midnight at which a local day begins, and one for the time until the next read.
  return { doctorsDays, historyFromAt: now - (historyDays + 2) * DAY_MS, everyMs: new Map(intervals) };
}

/**
 * Returns the streams that this process can plan with, and the due streams: patients and invoices by the targets' `everyMinutes`, past
 * appointments every six hours. A read older than the last planned read is never used, because the plan would go back in time.
 * @param options.fresh a user waits: patients, invoices and failed streams are due
 * @param options.justRead the caller has read the due streams; they are used at any age
 * @param options.lastRun the report of the last cycle, if known
 */
export async function findDueStreams(
  tenant: Pick<ClinicReader, 'clock' | 'memory' | 'runs'>,
  targets: readonly ClinicTarget[],
  options: { fresh?: boolean; justRead?: boolean; lastRun?: RunReport } = {},
): Promise<DueStreams> {
  const { memory } = tenant;
  const now = tenant.clock();
  const needs = needsOf(targets, now);
  const names = [...needs.everyMs.keys()];
  if (names.length === 0) return { needs, streams: NO_STREAMS, due: [], isElsewhere: false };
  const lastRun = options.lastRun ?? (await tenant.runs.list(1))[0];
  const plannedBy = notToCome(lastRun?.read ?? {}, now);
  const freshness = (name: SlowStream) => freshnessOf(name, { memory, needs, plannedBy, now });
  const isDue = (name: SlowStream) => {
    const everyMs = needs.everyMs.get(name) ?? Infinity;
    if (options.fresh === true) return name !== 'history' || freshness(name) !== 'young';
    return freshness(name) !== 'young' && !isResting(memory.failures.get(name), everyMs, now);
  };
  const unusable = options.justRead === true ? ['unusable'] : ['unusable', 'expired'];
  const usable = new Set(names.filter((name) => !unusable.includes(freshness(name))));
  const streams = { ...streamsIn(memory, names, usable), plannedBy };
  const planner = lastRun?.crmPlanner ?? null;
  const isElsewhere = planner !== null && planner !== memory.process;
  return { needs, streams, due: names.filter(isDue), isElsewhere };
}

/** No stream was read, and none is awaited. */
export const NO_STREAMS: Streams = {
  ...{ patients: null, invoices: null, history: null },
  ...{ failed: new Map(), awaited: new Set<SlowStream>(), plannedBy: {} },
};

/** Returns the required streams in memory. */
function streamsIn(
  { patients, invoices, history, failures }: StreamMemory,
  names: readonly SlowStream[],
  usable: ReadonlySet<SlowStream>,
): Omit<Streams, 'plannedBy'> {
  const failed = names.flatMap((name): [SlowStream, MirrorError][] => {
    const failure = failures.get(name);
    return failure === undefined ? [] : [[name, failure.error]];
  });
  return {
    patients: usable.has('patients') ? patients : null,
    invoices: usable.has('invoices') ? invoices : null,
    history: usable.has('history') ? history : null,
    failed: new Map(failed),
    awaited: new Set(names.filter((name) => !usable.has(name) && !failures.has(name))),
  };
}

/** Ignores future times, stored by a clock that ran ahead. */
function notToCome(read: StreamsRead, now: Instant): StreamsRead {
  return Object.fromEntries(Object.entries(read).filter(([, readAt]) => readAt <= now + CLOCK_TOLERANCE_MS));
}

interface FreshnessInput {
  memory: StreamMemory;
  needs: StreamNeeds;
  plannedBy: StreamsRead;
  now: Instant;
}

/** `old`: a new read is due, and plans use this one until then; `expired`: this read is too old for plans. */
function freshnessOf(
  name: SlowStream,
  { memory, needs, plannedBy, now }: FreshnessInput,
): 'young' | 'old' | 'expired' | 'unusable' {
  const reading = memory[name];
  if (reading === null || reading.readAt > now + CLOCK_TOLERANCE_MS) return 'unusable';
  if (reading.readAt < (plannedBy[name] ?? -Infinity)) return 'unusable';
  if (name === 'history' && (memory.history?.fromAt ?? Infinity) > needs.historyFromAt + DAY_MS) return 'unusable';
  const ageMs = now - reading.readAt;
  const everyMs = needs.everyMs.get(name) ?? Infinity;
  if (ageMs < everyMs) return 'young';
  return ageMs < LIFE_IN_INTERVALS * everyMs ? 'old' : 'expired';
}

function isResting(failed: FailedReading | undefined, longestBackoffMs: number, now: Instant): boolean {
  if (failed === undefined) return false;
  const { failedAt, inTurn } = failed;
  const backoffMs =
    inTurn === 1 ? 0 : exponentialBackoffMs({ firstMs: FIRST_BACKOFF_MS, longestMs: longestBackoffMs }, inTurn - 2);
  return now >= failedAt && now - failedAt < backoffMs;
}

/** Returns the time of a target's stream, with all streams of its properties except past appointments. */
export function asOf(target: Follower, { streams, startedAt }: { streams: Streams; startedAt: Instant }): Instant {
  const names = streamsOf(target).filter((name) => name !== 'history');
  return Math.min(startedAt, ...names.map((name) => streams[name]?.readAt ?? startedAt));
}

/** Returns the read times of a cycle's streams, for its report. */
export function streamsRead({ patients, invoices, history }: Streams): StreamsRead {
  const present = Object.entries({ patients, invoices, history }).filter(([, reading]) => reading !== null);
  return Object.fromEntries(present.map(([name, reading]) => [name, reading?.readAt]));
}

const READING: Readonly<Record<SlowStream, Text>> = {
  patients: 'reading patients',
  invoices: 'reading invoices',
  history: message('step.past'),
};

/** Members of a tenant that reading patients, invoices and past appointments uses. */
export interface StreamReader extends Pick<ClinicReader, 'clinic' | 'clock' | 'memory'> {
  log: Logger;
  /** Returns the host that caused an error, or null. */
  outages: { causeOf(error: MirrorError): string | null };
}

/** Reads all additional streams of CRM targets, for read-only use. Failures are part of the result. */
export async function readAllStreams(
  tenant: StreamReader & Pick<ClinicReader, 'runs'>,
  targets: readonly ClinicTarget[],
  progress: Progress,
  signal: AbortSignal,
): Promise<Streams> {
  const found = await findDueStreams(tenant, targets, { fresh: true });
  await readStreams(tenant, found, progress, signal);
  const names = [...found.needs.everyMs.keys()];
  // Later plans of other processes do not matter, because nothing is written.
  const read = new Set(names.filter((name) => tenant.memory[name] !== null));
  return { ...streamsIn(tenant.memory, names, read), plannedBy: found.streams.plannedBy };
}

/**
 * Reads due streams one after the other.
 * @returns whether any read succeeded
 */
export async function readStreams(
  tenant: StreamReader,
  { needs, due, streams: { plannedBy } }: Pick<DueStreams, 'needs' | 'due' | 'streams'>,
  progress: Progress,
  signal: AbortSignal,
): Promise<boolean> {
  let isRead = false;
  for (const name of due) {
    progress(READING[name]);
    // After the last planned read, even if this host's clock is behind the other host's.
    const readAt = Math.max(tenant.clock(), plannedBy[name] ?? -Infinity);
    isRead = (await attemptReading(tenant, name, { ...needs, readAt }, signal)) || isRead;
  }
  return isRead;
}

/** A failed stream is discarded and delayed: a list of years must not be restarted in every cycle. */
async function attemptReading(
  tenant: StreamReader,
  name: SlowStream,
  question: Question,
  signal: AbortSignal,
): Promise<boolean> {
  const { memory, clock } = tenant;
  try {
    await READERS[name](tenant, question, signal);
    memory.failures.delete(name);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    const inTurn = (memory.failures.get(name)?.inTurn ?? 0) + 1;
    memory[name] = null;
    memory.failures.set(name, { error: failure, failedAt: clock(), inTurn });
    // A host outage is logged once.
    const level = inTurn === 1 || tenant.outages.causeOf(failure) === null ? 'warn' : 'debug';
    tenant.log[level]({ stream: name, code: failure.code, inTurn }, 'clinic data for CRMs could not be read');
    return false;
  }
}

/** Parameters of a read. */
interface Question extends StreamNeeds {
  readAt: Instant;
}

type Reader = (
  tenant: Pick<ClinicReader, 'clinic' | 'memory'>,
  question: Question,
  signal: AbortSignal,
) => Promise<void>;

const READERS: Readonly<Record<SlowStream, Reader>> = {
  async patients({ memory, clinic }, { readAt }, signal) {
    const snapshot = await clinic.readPatients(signal);
    const earlier = [...(memory.patients?.merged ?? [])].filter(([, remaining]) => snapshot.records.has(remaining));
    memory.patients = { readAt, snapshot, gone: new Map(), merged: new Map(earlier) };
  },
  async invoices({ memory, clinic }, question, signal) {
    const { readAt } = question;
    memory.invoices = { readAt, snapshot: await clinic.readInvoices(invoiceQuery(question), signal) };
  },
  async history({ memory, clinic }, { readAt, historyFromAt: fromAt }, signal) {
    // Until now: each cycle's window moves, and no gap may remain between the two.
    const reading = { agendaIds: null, window: { fromAt, toAt: readAt } };
    const snapshot = await clinic.readAppointments(reading, signal);
    const { records, completeness } = snapshot;
    if (completeness === 'partial') throw historyPartial();
    if (!isBelievable(memory.historySize, records.size, readAt)) throw historyShrunk();
    memory.history = { readAt, fromAt, appointments: records, unusable: unusableIn(snapshot) };
  },
};

function invoiceQuery({ doctorsDays, readAt }: Question): { withDoctors: boolean; doctorsFrom: string } {
  const doctorsFrom = new Date(readAt - doctorsDays * DAY_MS).toISOString().slice(0, 10);
  return { withDoctors: doctorsDays > 0, doctorsFrom };
}

function historyShrunk(): MirrorError {
  return new MirrorError(message('history-shrunk'), {
    actor: 'contract',
    code: 'history-shrunk',
    retry: 'later',
    remedy: message('history-shrunk.remedy'),
  });
}

/** Values computed from an incomplete history would be wrong without notice. */
function historyPartial(): MirrorError {
  return new MirrorError(message('history-partial'), {
    actor: 'contract',
    code: 'history-partial',
    retry: 'later',
    remedy: message('history-partial.remedy'),
  });
}
