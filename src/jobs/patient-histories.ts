import type { Logger } from '../log/logger.ts';
import { HOUR_MS, type Instant, type TimeWindow } from '../model/time.ts';
import type { Confirmations } from '../sync/absence.ts';
import type { PatientHistory } from '../sync/derive.ts';
import { unusableIn } from '../sync/followed.ts';
import type { ClinicReading } from './clinic-reading.ts';
import { inPieces } from './in-pieces.ts';
import type { History, Taken } from './stream-memory.ts';
import { createListSize, isBelievable, type ListSize } from './stream-memory.ts';
import type { OpenTenant } from './tenant.ts';

/** A patient history, and what it has taken. */
interface CachedHistory {
  patientHistory: PatientHistory;
  taken: Taken;
}

/** Carries what a cycle read into the histories from which derived properties are computed. */
export async function updatePatientHistories(
  { targets, log }: Pick<OpenTenant, 'targets' | 'log'>,
  { snapshot, streams, startedAt }: ClinicReading,
  { appointments }: Confirmations,
  signal: AbortSignal,
): Promise<void> {
  for (const { crm } of targets.values()) {
    if (crm === null || crm.patientHistory === null) continue;
    const cachedHistory = { patientHistory: crm.patientHistory, taken: crm.taken };
    await putHistory(cachedHistory, streams.history, signal);
    await putWindow(log, cachedHistory, { snapshot, appointments, startedAt }, signal);
    await putInvoices(cachedHistory, streams.invoices, startedAt, signal);
    crm.patientHistory.prune(startedAt);
  }
  if (streams.history !== null) streams.history.appointments = new Map();
}

/** Each reading once: the cycles' own windows, which are newer, go on top. */
async function putHistory(
  { patientHistory, taken }: CachedHistory,
  history: History | null,
  signal: AbortSignal,
): Promise<void> {
  // An older reading than the one that is held has been emptied since: it would say that nobody was ever here.
  if (history === null || history.readAt <= (taken.historyAt ?? -Infinity)) return;
  const window = { fromAt: history.fromAt, toAt: history.readAt };
  await inPieces(patientHistory.replaceWindow(window, history.appointments.values(), history.unusable), signal);
  taken.historyAt = history.readAt;
}

/** A list that broke off, or that shows far fewer appointments than before, tells of what it shows alone. */
async function putWindow(
  log: Logger,
  { patientHistory, taken }: CachedHistory,
  {
    snapshot,
    appointments,
    startedAt,
  }: Pick<ClinicReading, 'snapshot' | 'startedAt'> & Pick<Confirmations, 'appointments'>,
  signal: AbortSignal,
): Promise<void> {
  const isWhole = snapshot.completeness === 'complete' && snapshot.agendaIds === null;
  const isBelieved = !isWhole || isBelievable(sizeOf(taken, snapshot.window), snapshot.records.size, startedAt);
  if (!isBelieved) {
    log.warn({ records: snapshot.records.size }, 'far fewer appointments than before: derived properties wait');
  }
  if (isWhole && isBelieved) {
    const present = unusableIn(snapshot);
    for (const { id } of appointments.found) present.add(id);
    await inPieces(patientHistory.replaceWindow(snapshot.window, snapshot.records.values(), present), signal);
  } else {
    for (const appointment of snapshot.records.values()) patientHistory.put(appointment);
  }
  for (const appointment of appointments.found) patientHistory.put(appointment);
  if (isBelieved) for (const id of appointments.vanished) patientHistory.remove(id);
}

function sizeOf({ windowSizes }: Taken, { fromAt, toAt }: TimeWindow): ListSize {
  const hours = Math.round((toAt - fromAt) / HOUR_MS);
  const listSize = windowSizes.get(hours) ?? createListSize();
  windowSizes.set(hours, listSize);
  return listSize;
}

async function putInvoices(
  { patientHistory, taken }: CachedHistory,
  reading: ClinicReading['streams']['invoices'],
  now: Instant,
  signal: AbortSignal,
): Promise<void> {
  if (reading?.snapshot.completeness !== 'complete') return;
  const { records } = reading.snapshot;
  if (isBelievable(taken.invoices, records.size, now)) {
    await inPieces(patientHistory.replaceInvoices(null, records.values(), unusableIn(reading.snapshot)), signal);
  } else {
    for (const invoice of records.values()) patientHistory.putInvoice(invoice);
  }
}
