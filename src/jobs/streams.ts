import { asMirrorError, MirrorError } from '../model/errors.ts';
import type { Invoice, Patient } from '../model/records.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import type { StreamsRead } from '../state/runs.ts';
import { emptyStreamMemory, type History, type StreamReading } from './stream-memory.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** The far past is read anew after this time: what happened there seldom changes. */
const HISTORY_EVERY_MS = 6 * HOUR_MS;

/** The streams of one cycle beside its appointments. */
export interface Streams {
  patients: StreamReading<Patient> | null;
  invoices: StreamReading<Invoice> | null;
  history: History | null;
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

/** The streams that a target follows or reckons with. */
export function streamsOf({ stream, crm }: OpenTarget): (keyof StreamsRead)[] {
  if (crm === null) return [];
  const { history, invoices } = crm.mapping.needs;
  const names: (keyof StreamsRead)[] = ['patients'];
  if (stream === 'invoices' || invoices) names.push('invoices');
  if (history) names.push('history');
  return names;
}

/** Whether a target's properties tell of appointments of the past and of those to come. */
export function reckonsWithHistory(target: OpenTarget): boolean {
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
 * far past every six hours. A process whose reading is older than the one that was planned by last reads anew: else two would
 * rewrite each other's work.
 * @param options.fresh a person waits: read patients and invoices now
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
  if (!needs.patients) return { ...emptyStreamMemory(), failed };
  const [lastRun] = await tenant.runs.list(1);
  const isOld = (name: keyof StreamsRead, readAt: Instant | undefined, everyMs: number) =>
    readAt === undefined || tenant.clock() - readAt >= everyMs || readAt < (lastRun?.read[name] ?? 0);
  const attempt = async (name: keyof StreamsRead, read: () => Promise<void>) => {
    try {
      await read();
    } catch (error) {
      signal.throwIfAborted();
      memory[name] = null;
      failed.set(name, asMirrorError(error));
    }
  };
  const everyMs = options.fresh ? 0 : needs.everyMs;
  if (isOld('patients', memory.patients?.readAt, everyMs)) {
    await attempt('patients', async () => {
      const readAt = tenant.clock();
      memory.patients = { readAt, snapshot: await tenant.clinic.readPatients(signal) };
    });
  }
  if (needs.invoices && isOld('invoices', memory.invoices?.readAt, everyMs)) {
    await attempt('invoices', async () => {
      const readAt = tenant.clock();
      memory.invoices = { readAt, snapshot: await tenant.clinic.readInvoices(invoiceQuery(needs, readAt), signal) };
    });
  }
  // A day for the midnight at which a local day begins, and one for the days that pass until the next reading.
  const fromAt = tenant.clock() - (needs.historyDays + 2) * DAY_MS;
  const isShort = memory.history === null || memory.history.fromAt > fromAt + DAY_MS;
  if (needs.historyDays > 0 && (isShort || isOld('history', memory.history?.readAt, HISTORY_EVERY_MS))) {
    await attempt('history', async () => {
      const readAt = tenant.clock();
      // Up to now: each cycle's own window moves on, and nothing may fall between the two.
      const reading = { agendaIds: null, window: { fromAt, toAt: readAt } };
      const { records, setAside, completeness } = await tenant.clinic.readAppointments(reading, signal);
      if (completeness === 'partial') throw historyPartial();
      const unusable = new Set(setAside.flatMap(({ recordId }) => recordId ?? []));
      memory.history = { readAt, fromAt, appointments: records, unusable };
    });
  }
  return { ...memory, failed };
}

function invoiceQuery({ doctorsDays }: Needs, now: Instant): { withDoctors: boolean; doctorsFrom: string } {
  const doctorsFrom = new Date(now - doctorsDays * DAY_MS).toISOString().slice(0, 10);
  return { withDoctors: doctorsDays > 0, doctorsFrom };
}

/** What is reckoned from a part would be wrong, and would be taken for right. */
function historyPartial(): MirrorError {
  return new MirrorError('the appointments of the past could not be read whole', {
    actor: 'contract',
    code: 'history-partial',
    retry: 'later',
    remedy: 'if it stays so, check paging in the clinic profile, or give crm.derived.historyDays fewer days',
  });
}

/** As of when a target's stream is known, with everything that its properties are reckoned from but the far past. */
export function asOf(target: OpenTarget, { streams, startedAt }: { streams: Streams; startedAt: Instant }): Instant {
  const names = streamsOf(target).filter((name) => name !== 'history');
  return Math.min(startedAt, ...names.map((name) => streams[name]?.readAt ?? startedAt));
}

/** When the streams of a cycle were read, for its report. */
export function streamsRead({ patients, invoices, history }: Streams): StreamsRead {
  const known = Object.entries({ patients, invoices, history }).filter(([, reading]) => reading !== null);
  return Object.fromEntries(known.map(([name, reading]) => [name, reading?.readAt]));
}
