import { asMirrorError, MirrorError } from '../model/errors.ts';
import type { Progress } from '../model/tasks.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import { type SlowStream, unusableIn } from '../sync/followed.ts';
import { isBelievable } from './doubt.ts';
import { type DueStreams, findDueStreams, type StreamNeeds, type Streams, streamsIn } from './streams.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

const READING: Readonly<Record<SlowStream, string>> = {
  patients: 'reading patients',
  invoices: 'reading invoices',
  history: 'reading the appointments of the past',
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
  return new MirrorError('the clinic shows far fewer appointments of the past than it did', {
    actor: 'contract',
    code: 'history-shrunk',
    retry: 'later',
    remedy: 'look whether they are gone in the clinic; after a day it is believed, and at once after a new start',
  });
}

/** What is computed from a part would be wrong, and nobody would notice. */
function historyPartial(): MirrorError {
  return new MirrorError('the appointments of the past could not be read whole', {
    actor: 'contract',
    code: 'history-partial',
    retry: 'later',
    remedy: 'if it stays so, check paging in the clinic profile, or give crm.derived.historyDays fewer days',
  });
}
