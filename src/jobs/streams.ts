import { asMirrorError, MirrorError } from '../model/errors.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import type { StreamsRead } from '../state/runs.ts';
import { isBelievable } from './doubt.ts';
import type { FailedReading, StreamReadings } from './stream-memory.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** The far past is read again after this time: what happened there seldom changes. */
const HISTORY_EVERY_MS = 6 * HOUR_MS;
/**
 * By so much a process's reading of the far past may be older than that of another one: two that take turns would else read years of
 * appointments with every cycle.
 */
const HISTORY_TOLERANCE_MS = 15 * MINUTE_MS;
/**
 * A stream that could not be read is asked for again with the next cycle, then after this time, then after twice as long, and so on up to
 * its interval.
 */
const FIRST_REST_MS = 5 * MINUTE_MS;

/** The streams of one cycle beside its appointments. */
export interface Streams extends StreamReadings {
  /** Those that could not be read: targets that need them are left as they are. */
  failed: ReadonlyMap<keyof StreamsRead, MirrorError>;
}

/** What targets in a CRM need beside the appointments of their window. */
interface Needs {
  patients: boolean;
  invoices: boolean;
  /** Days before today whose invoices' doctors are told; 0 for none. */
  doctorsDays: number;
  historyDays: number;
  everyMs: number;
}

/** The streams that a target follows or computes with. */
export function streamsOf({ stream, crm }: OpenTarget): (keyof StreamsRead)[] {
  if (crm === null) return [];
  const { history, invoices } = crm.mapping.needs;
  const names: (keyof StreamsRead)[] = ['patients'];
  if (stream === 'invoices' || invoices) names.push('invoices');
  if (history) names.push('history');
  return names;
}

/** Those without which nothing can be said of a target's records. What contacts are computed from besides keeps them as they are. */
export function neededBy(target: OpenTarget): (keyof StreamsRead)[] {
  return target.stream === 'patients' && target.crm !== null ? ['patients'] : streamsOf(target);
}

/** Whether a target's properties tell of appointments of the past and of those to come. */
export function computesFromHistory(target: OpenTarget): boolean {
  return streamsOf(target).includes('history');
}

function needsOf(targets: readonly OpenTarget[]): Needs {
  const needs: Needs = { patients: false, invoices: false, doctorsDays: 0, historyDays: 0, everyMs: Infinity };
  for (const target of targets) {
    const { configuration } = target;
    if (configuration.crm === undefined) continue;
    const names = streamsOf(target);
    needs.patients = true;
    needs.invoices ||= names.includes('invoices');
    if (target.crm?.mapping.needs.doctors === true) {
      needs.doctorsDays = Math.max(needs.doctorsDays, configuration.window.pastDays);
    }
    if (names.includes('history'))
      needs.historyDays = Math.max(needs.historyDays, configuration.crm.derived.historyDays);
    needs.everyMs = Math.min(needs.everyMs, configuration.crm.everyMinutes * MINUTE_MS);
  }
  return needs;
}

/**
 * Reads what targets in CRMs need and what has become old since it was read: patients and invoices by the targets' `everyMinutes`, the
 * far past every six hours. A process whose reading is older than the one that was planned by last reads again: else two would
 * rewrite each other's work.
 * @param options.fresh a person waits: read patients and invoices now, and what could not be read
 */
export async function readStreams(
  tenant: OpenTenant,
  targets: readonly OpenTarget[],
  options: { fresh: boolean },
  signal: AbortSignal,
): Promise<Streams> {
  const needs = needsOf(targets);
  const { memory } = tenant;
  const failed = new Map<keyof StreamsRead, MirrorError>();
  if (!needs.patients) return { patients: null, invoices: null, history: null, failed };
  const [lastRun] = await tenant.runs.list(1);
  const plannedBy = lastRun?.read ?? {};
  const now = tenant.clock();
  const everyMs = options.fresh ? 0 : needs.everyMs;
  const isOld = (readAt: Instant | undefined, plannedAt = 0, lifeMs = everyMs) =>
    readAt === undefined || now - readAt >= lifeMs || readAt < plannedAt;
  const attempt = (name: keyof StreamsRead, longestRestMs: number, read: () => Promise<void>) =>
    attemptReading(tenant, { name, longestRestMs, failed }, read, signal);
  if (isOld(memory.patients?.readAt, plannedBy.patients)) {
    await attempt('patients', everyMs, async () => {
      const readAt = tenant.clock();
      memory.patients = { readAt, snapshot: await tenant.clinic.readPatients(signal) };
    });
  }
  if (needs.invoices && isOld(memory.invoices?.readAt, plannedBy.invoices)) {
    await attempt('invoices', everyMs, async () => {
      const readAt = tenant.clock();
      memory.invoices = { readAt, snapshot: await tenant.clinic.readInvoices(invoiceQuery(needs, readAt), signal) };
    });
  }
  // A day for the midnight at which a local day begins, and one for the days that pass until the next reading.
  const fromAt = now - (needs.historyDays + 2) * DAY_MS;
  const isShort = memory.history === null || memory.history.fromAt > fromAt + DAY_MS;
  const plannedAt = (plannedBy.history ?? 0) - HISTORY_TOLERANCE_MS;
  if (needs.historyDays > 0 && (isShort || isOld(memory.history?.readAt, plannedAt, HISTORY_EVERY_MS))) {
    await attempt('history', options.fresh ? 0 : HISTORY_EVERY_MS, () => readHistory(tenant, fromAt, signal));
  }
  const { patients, invoices, history } = memory;
  return { patients, invoices, history, failed };
}

/** What fails is not known any more, and rests for a while: a list of years must not be begun again with every cycle. */
async function attemptReading(
  { memory, clock }: Pick<OpenTenant, 'memory' | 'clock'>,
  { name, longestRestMs, failed }: { name: keyof StreamsRead; longestRestMs: number; failed: Map<string, MirrorError> },
  read: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const before = memory.failures.get(name);
  if (before !== undefined && isResting(before, longestRestMs, clock())) {
    failed.set(name, before.error);
    return;
  }
  try {
    await read();
    memory.failures.delete(name);
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    memory[name] = null;
    memory.failures.set(name, { error: failure, failedAt: clock(), inTurn: (before?.inTurn ?? 0) + 1 });
    failed.set(name, failure);
  }
}

function isResting({ failedAt, inTurn }: FailedReading, longestRestMs: number, now: Instant): boolean {
  const restMs = inTurn === 1 ? 0 : Math.min(FIRST_REST_MS * 2 ** (inTurn - 2), longestRestMs);
  return now >= failedAt && now - failedAt < restMs;
}

async function readHistory(tenant: OpenTenant, fromAt: Instant, signal: AbortSignal): Promise<void> {
  const readAt = tenant.clock();
  // Up to now: each cycle's own window moves on, and nothing may fall between the two.
  const reading = { agendaIds: null, window: { fromAt, toAt: readAt } };
  const { records, setAside, completeness } = await tenant.clinic.readAppointments(reading, signal);
  if (completeness === 'partial') throw historyPartial();
  if (!isBelievable(tenant.memory.historySize, records.size, readAt)) throw historyShrunk();
  const unusable = new Set(setAside.flatMap(({ recordId }) => recordId ?? []));
  tenant.memory.history = { readAt, fromAt, appointments: records, unusable };
}

function invoiceQuery({ doctorsDays }: Needs, now: Instant): { withDoctors: boolean; doctorsFrom: string } {
  const doctorsFrom = new Date(now - doctorsDays * DAY_MS).toISOString().slice(0, 10);
  return { withDoctors: doctorsDays > 0, doctorsFrom };
}

function historyShrunk(): MirrorError {
  return new MirrorError('the clinic shows far fewer appointments of the past than it did', {
    actor: 'contract',
    code: 'history-shrunk',
    retry: 'later',
    remedy: 'look whether they are gone in the clinic; after a day it is believed, and at once after a new start',
  });
}

/** What is computed from a part would be wrong, and would be taken for right. */
function historyPartial(): MirrorError {
  return new MirrorError('the appointments of the past could not be read whole', {
    actor: 'contract',
    code: 'history-partial',
    retry: 'later',
    remedy: 'if it stays so, check paging in the clinic profile, or give crm.derived.historyDays fewer days',
  });
}

/** As of when a target's stream is known, with everything that its properties are computed from but the far past. */
export function asOf(target: OpenTarget, { streams, startedAt }: { streams: Streams; startedAt: Instant }): Instant {
  const names = streamsOf(target).filter((name) => name !== 'history');
  return Math.min(startedAt, ...names.map((name) => streams[name]?.readAt ?? startedAt));
}

/** When the streams of a cycle were read, for its report. */
export function streamsRead({ patients, invoices, history }: Streams): StreamsRead {
  const known = Object.entries({ patients, invoices, history }).filter(([, reading]) => reading !== null);
  return Object.fromEntries(known.map(([name, reading]) => [name, reading?.readAt]));
}
