import { message, type Text } from '../messages/message.ts';
import { exponentialBackoffMs } from '../model/backoff.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import type { Progress } from '../model/tasks.ts';
import { CLOCK_TOLERANCE_MS, DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import type { RunReport, StreamsRead } from '../state/runs.ts';
import { computesFromHistory, type Follower, type SlowStream, streamsOf, unusableIn } from '../sync/mapping-sources.ts';
import { type FailedReading, isBelievable, type StreamMemory, type StreamReadings } from './stream-memory.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** The far past is read again after this time: what happened there seldom changes. */
const HISTORY_EVERY_MS = 6 * HOUR_MS;
/**
 * A reading is planned by for so many of its intervals: a new one is asked for after the first, and takes its time. However long it
 * took, the cycle that follows it plans by it.
 */
const LIFE_IN_INTERVALS = 2;
/**
 * A stream that could not be read is asked for again with the next cycle, then after this time, then after twice as long, and so on up to
 * its interval.
 */
const FIRST_BACKOFF_MS = 5 * MINUTE_MS;

/** The streams of one cycle beside its appointments. One that can't be planned by is null. */
export interface Streams extends StreamReadings {
  /** Those that could not be read: targets that need them are left as they are. */
  failed: ReadonlyMap<SlowStream, MirrorError>;
  /** Those that this process has yet to read: targets that need them are left as they are until then. */
  awaited: ReadonlySet<SlowStream>;
  /** The readings that were planned by last, in whatever process. */
  plannedBy: StreamsRead;
}

/** What targets in a CRM need beside the appointments of their window. */
interface StreamNeeds {
  /** Days before today whose invoices' doctors are told; 0 for none. */
  doctorsDays: number;
  /** When the far past must begin that is read now. */
  historyFromAt: Instant;
  /** After how long each stream that is needed is read again. */
  everyMs: ReadonlyMap<SlowStream, number>;
}

/** Where a tenant's streams stand in this process. */
interface DueStreams {
  needs: StreamNeeds;
  streams: Streams;
  /** To be read now. */
  due: readonly SlowStream[];
  /** Another process planned the tenant's CRMs last: reading and planning are its work, as long as it is there. */
  isElsewhere: boolean;
}

function needsOf(targets: readonly OpenTarget[], now: Instant): StreamNeeds {
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
  // A day for the midnight at which a local day begins, and one for the days that pass until the next reading.
  return { doctorsDays, historyFromAt: now - (historyDays + 2) * DAY_MS, everyMs: new Map(intervals) };
}

/**
 * Tells which streams this process can plan by and which are to be read: patients and invoices by the targets' `everyMinutes`, the far past
 * every six hours. One that is older than the one that was planned by last is never planned by: planning would go back in time.
 * @param options.fresh a person waits: patients and invoices are due, and what could not be read
 * @param options.justRead whoever asks has read what was due: it counts, whatever its age
 * @param options.lastRun the report of the last cycle, where it is known
 */
export async function findDueStreams(
  tenant: Pick<OpenTenant, 'clock' | 'memory' | 'runs'>,
  targets: readonly OpenTarget[],
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

/** Nothing was read, and nothing is waited for. */
export const NO_STREAMS: Streams = {
  ...{ patients: null, invoices: null, history: null },
  ...{ failed: new Map(), awaited: new Set<SlowStream>(), plannedBy: {} },
};

/** What is in memory, of streams that are needed. */
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

/** What a clock that ran ahead dated in a time to come says nothing. */
function notToCome(read: StreamsRead, now: Instant): StreamsRead {
  return Object.fromEntries(Object.entries(read).filter(([, readAt]) => readAt <= now + CLOCK_TOLERANCE_MS));
}

interface FreshnessInput {
  memory: StreamMemory;
  needs: StreamNeeds;
  plannedBy: StreamsRead;
  now: Instant;
}

/** `old`: a new reading is due, and this one is planned by until it is there; `expired`: for too long. */
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

/** As of when a target's stream is known, with everything that its properties are computed from but the far past. */
export function asOf(target: Follower, { streams, startedAt }: { streams: Streams; startedAt: Instant }): Instant {
  const names = streamsOf(target).filter((name) => name !== 'history');
  return Math.min(startedAt, ...names.map((name) => streams[name]?.readAt ?? startedAt));
}

/** When the streams of a cycle were read, for its report. */
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
export interface StreamReader extends Pick<OpenTenant, 'clinic' | 'clock' | 'log' | 'memory' | 'outages'> {}

/** Reads all that targets in CRMs need beside appointments, for whoever only looks. What can't be read is told of. */
export async function readAllStreams(
  tenant: StreamReader & Pick<OpenTenant, 'runs'>,
  targets: readonly OpenTarget[],
  progress: Progress,
  signal: AbortSignal,
): Promise<Streams> {
  const found = await findDueStreams(tenant, targets, { fresh: true });
  await readStreams(tenant, found, progress, signal);
  const names = [...found.needs.everyMs.keys()];
  // Whatever others planned by meanwhile: nothing is written by it.
  const read = new Set(names.filter((name) => tenant.memory[name] !== null));
  return { ...streamsIn(tenant.memory, names, read), plannedBy: found.streams.plannedBy };
}

/**
 * Reads streams that are due, one after the other.
 * @returns whether any of them could be read
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
    // After what was planned by, also by the clock of a machine that is behind the other one's.
    const readAt = Math.max(tenant.clock(), plannedBy[name] ?? -Infinity);
    isRead = (await attemptReading(tenant, name, { ...needs, readAt }, signal)) || isRead;
  }
  return isRead;
}

/** What fails is not known any more, and rests for a while: a list of years must not be begun again with every cycle. */
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
    // That a server is away is told once.
    const level = inTurn === 1 || tenant.outages.causeOf(failure) === null ? 'warn' : 'debug';
    tenant.log[level]({ stream: name, code: failure.code, inTurn }, 'what CRMs follow could not be read');
    return false;
  }
}

/** What is asked for, and when. */
interface Question extends StreamNeeds {
  readAt: Instant;
}

type Reader = (tenant: Pick<OpenTenant, 'clinic' | 'memory'>, question: Question, signal: AbortSignal) => Promise<void>;

const READERS: Readonly<Record<SlowStream, Reader>> = {
  async patients({ memory, clinic }, { readAt }, signal) {
    memory.patients = { readAt, snapshot: await clinic.readPatients(signal), gone: new Map() };
  },
  async invoices({ memory, clinic }, question, signal) {
    const { readAt } = question;
    memory.invoices = { readAt, snapshot: await clinic.readInvoices(invoiceQuery(question), signal) };
  },
  async history({ memory, clinic }, { readAt, historyFromAt: fromAt }, signal) {
    // Up to now: each cycle's own window moves on, and nothing may fall between the two.
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

/** What is computed from a part would be wrong, and nobody would notice. */
function historyPartial(): MirrorError {
  return new MirrorError(message('history-partial'), {
    actor: 'contract',
    code: 'history-partial',
    retry: 'later',
    remedy: message('history-partial.remedy'),
  });
}
