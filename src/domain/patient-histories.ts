import type { Logger } from '../core/log/logger.ts';
import { HOUR_MS, type Instant, type TimeWindow } from '../core/model/time.ts';
import { appointmentIdOf } from '../core/model/visits.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';
import type { Confirmations } from './absence.ts';
import type { ClinicTarget } from './cycle-input.ts';
import type { PatientHistory } from './derive.ts';
import { unusableIn } from './mapping-sources.ts';
import type { ReadClinic } from './read-clinic.ts';
import { createListSize, type History, isBelievable, type ListSize, type Taken } from './stream-memory.ts';

/** A patient history, with the times of its reads. */
interface CachedHistory {
  patientHistory: PatientHistory;
  taken: Taken;
}

/** Adds a cycle's reads to the histories for derived properties. */
export async function updatePatientHistories(
  { targets, log }: { targets: Iterable<ClinicTarget>; log: Logger },
  { snapshot, streams, startedAt }: ReadClinic,
  { appointments }: Confirmations,
  signal: AbortSignal,
): Promise<void> {
  for (const { crm } of targets) {
    if (crm === null || crm.patientHistory === null) continue;
    const cachedHistory = { patientHistory: crm.patientHistory, taken: crm.taken };
    await putHistory(cachedHistory, streams.history, signal);
    await putWindow(log, cachedHistory, { snapshot, appointments, startedAt }, signal);
    await putInvoices(cachedHistory, streams.invoices, startedAt, signal);
    crm.patientHistory.prune(startedAt);
  }
  if (streams.history !== null) streams.history.appointments = new Map();
}

/** Adds each read once. The cycles' own windows are newer and are added last. */
async function putHistory(
  { patientHistory, taken }: CachedHistory,
  history: History | null,
  signal: AbortSignal,
): Promise<void> {
  // An older read was emptied after use, and would remove all appointments.
  if (history === null || history.readAt <= (taken.historyAt ?? -Infinity)) return;
  const window = { fromAt: history.fromAt, toAt: history.readAt };
  await inPieces(patientHistory.replaceWindow(window, history.appointments.values(), history.unusable), signal);
  taken.historyAt = history.readAt;
}

/** A truncated list, or a list with far fewer appointments than before, only adds records. */
async function putWindow(
  log: Logger,
  { patientHistory, taken }: CachedHistory,
  {
    snapshot,
    appointments,
    startedAt,
  }: Pick<ReadClinic, 'snapshot' | 'startedAt'> & Pick<Confirmations, 'appointments'>,
  signal: AbortSignal,
): Promise<void> {
  const isWhole = snapshot.completeness === 'complete' && snapshot.agendaIds === null;
  const isBelieved = !isWhole || isBelievable(sizeOf(taken, snapshot.window), snapshot.records.size, startedAt);
  if (!isBelieved) {
    log.warn({ records: snapshot.records.size }, 'far fewer appointments than before: derived properties wait');
  }
  if (isWhole && isBelieved) {
    const present = unusableIn(snapshot);
    for (const { id } of appointments.found) present.add(appointmentIdOf(id));
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
  reading: ReadClinic['streams']['invoices'],
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
