import { asMirrorError } from '../../core/model/errors.ts';
import type { ForgetWarning } from '../../core/model/forgetting.ts';
import type { StreamName } from '../../core/model/items.ts';
import type { Appointment } from '../../core/model/records.ts';
import type { TracedReminders } from '../../core/model/reminders.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { DAY_MS, type Instant, type TimeWindow } from '../../core/model/time.ts';
import { patientsOf, visitsOf } from '../../core/model/visits.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import type { ForgottenTenant } from './ports.ts';

/** Years of past appointments in the clinic query: the usual retention of care records. Project choice. */
const YEARS_BACK = 10;
const YEAR_MS = 365 * DAY_MS;

/** Known records of one patient. The combination is patient data, so it is never logged. */
export interface PatientRecords {
  patientId: string;
  /** Record ids by stream. */
  ids: Readonly<Record<StreamName, Set<string>>>;
  /** Appointments of the clinic that are neither cancelled nor begun. */
  upcoming: Set<string>;
  /** Further messages to the patient's number or address, by id. */
  messages: ReadonlySet<string>;
  reminders: TracedReminders;
  /** The clinic deleted the patient, so targets are queried for the patient's objects. */
  isGone: boolean;
  warnings: Set<ForgetWarning>;
}

/**
 * Finds the records of a patient: the patient, ten years of past appointments, future appointments, invoices if a target uses them, and
 * reminders. A patient deleted in the clinic is not an error.
 * @throws MirrorError if the clinic is unreadable
 */
export async function findRecords(
  tenant: ForgottenTenant,
  { patientId, messages = new Set() }: Pick<PatientRecords, 'patientId'> & Partial<Pick<PatientRecords, 'messages'>>,
  progress: Progress,
  signal: AbortSignal,
): Promise<PatientRecords> {
  const records: PatientRecords = {
    patientId,
    ids: { patients: new Set([patientId]), appointments: new Set(), invoices: new Set() },
    upcoming: new Set(),
    messages,
    reminders: { reminders: [], links: [] },
    isGone: false,
    warnings: new Set(),
  };
  await lookUpPatient(tenant.clinic, records, signal);
  const spans = spansOf(tenant);
  for (const [index, span] of spans.entries()) {
    progress('reading the clinic', index, spans.length);
    await readSpan(tenant, records, span, signal);
  }
  await readInvoices(tenant, records, signal);
  await traceReminders(tenant, records, signal);
  return records;
}

/**
 * Reads the cycle's range again. Must run while no cycle can plan, so that concurrent bookings are found.
 * @throws MirrorError if the clinic is unreadable
 */
export async function findNewer(tenant: ForgottenTenant, records: PatientRecords, signal: AbortSignal): Promise<void> {
  const now = tenant.clock();
  const { pastDays, futureDays } = widest(tenant.targets);
  await readSpan(tenant, records, { fromAt: now - pastDays * DAY_MS, toAt: now + futureDays * DAY_MS }, signal);
  await traceReminders(tenant, records, signal);
}

/** Splits the range by year, to show progress. */
function spansOf({ clock, targets }: ForgottenTenant): TimeWindow[] {
  const now = clock();
  const endAt = now + Math.max(YEAR_MS, widest(targets).futureDays * DAY_MS);
  const spans: TimeWindow[] = [];
  for (let fromAt = now - YEARS_BACK * YEAR_MS; fromAt < endAt; fromAt += YEAR_MS) {
    spans.push({ fromAt, toAt: Math.min(fromAt + YEAR_MS, endAt) });
  }
  return spans;
}

function widest(targets: ReadonlyMap<string, OpenTarget>): { pastDays: number; futureDays: number } {
  const windows = [...targets.values()].map(({ configuration }) => configuration.window);
  return {
    pastDays: Math.max(1, ...windows.map(({ pastDays }) => pastDays)),
    futureDays: Math.max(1, ...windows.map(({ futureDays }) => futureDays)),
  };
}

async function lookUpPatient(clinic: ClinicSource, records: PatientRecords, signal: AbortSignal): Promise<void> {
  const { warnings, patientId } = records;
  const answer = await unlessForbidden(() => clinic.readPatient(patientId, signal));
  if (answer === null) warnings.add('patient-unread');
  else if ('absent' in answer) {
    records.isGone = true;
    warnings.add('clinic-has-no-patient');
  } else warnings.add('unusable' in answer ? 'patient-unusable' : 'still-in-clinic');
}

async function readSpan(
  { clinic, clock }: ForgottenTenant,
  records: PatientRecords,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<void> {
  const snapshot = await clinic.readAppointments({ agendaIds: null, window }, signal);
  if (snapshot.completeness === 'partial') records.warnings.add('appointments-partial');
  for (const appointment of [...snapshot.records.values()].flatMap(visitsOf)) {
    if (appointment.patientId === records.patientId) addAppointment(records, appointment, clock());
  }
}

function addAppointment({ ids, upcoming }: PatientRecords, { id, time, status }: Appointment, now: Instant): void {
  ids.appointments.add(id);
  if (status !== 'cancelled' && time.startAt > now) upcoming.add(id);
  else upcoming.delete(id);
}

async function readInvoices(
  { clinic, clock, targets }: ForgottenTenant,
  records: PatientRecords,
  signal: AbortSignal,
): Promise<void> {
  if (![...targets.values()].some(({ stream }) => stream === 'invoices')) return;
  const doctorsFrom = new Date(clock()).toISOString().slice(0, 10);
  const snapshot = await unlessForbidden(() => clinic.readInvoices({ withDoctors: false, doctorsFrom }, signal));
  if (snapshot === null) return void records.warnings.add('invoices-unread');
  if (snapshot.completeness === 'partial') records.warnings.add('invoices-partial');
  for (const { id, patientId } of snapshot.records.values()) {
    if (patientId === records.patientId) records.ids.invoices.add(id);
  }
}

/**
 * Reminders prove whose appointment they announced, which leads to appointments missing in the clinic's list. Reminders of a different
 * patient remain.
 */
async function traceReminders(
  { clinic, reminderTraces }: ForgottenTenant,
  records: PatientRecords,
  signal: AbortSignal,
): Promise<void> {
  const { ids, patientId } = records;
  const { reminders, links } = await reminderTraces.find(patientId, [...ids.appointments], records.messages);
  const others = new Set<string>();
  for (const { appointmentId } of reminders) {
    if (appointmentId === null || ids.appointments.has(appointmentId) || others.has(appointmentId)) continue;
    const answer = await clinic.readAppointment(appointmentId, signal);
    const isOwn = !('found' in answer) || patientsOf(answer.found).includes(patientId);
    if (!isOwn) others.add(appointmentId);
    else ids.appointments.add(appointmentId);
  }
  const own = reminders.filter(({ appointmentId }) => appointmentId === null || !others.has(appointmentId));
  records.reminders = { reminders: own, links };
}

/** Returns the read data; null if the connection may read no such data, which does not stop an erasure. @throws other errors */
export async function unlessForbidden<Answer>(read: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await read();
  } catch (error) {
    const { actor, status } = asMirrorError(error);
    if (actor === 'authorization' && status === 403) return null;
    throw error;
  }
}
