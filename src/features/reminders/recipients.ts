import type { OpenTenant } from '../../jobs/tenant.ts';
import type { Patient } from '../../model/records.ts';
import type { PlannedReminder } from '../../model/reminders.ts';
import { DAY_MS, type Instant, SECOND_MS } from '../../model/time.ts';
import { readThroughMerges } from '../../sync/read-alone.ts';
import { mobileNumber } from './content.ts';
import type { SeenByPatients } from './corrections.ts';
import type { OpenChannel, OpenReminders } from './ports.ts';
import { visitOf } from './told.ts';

/** Patients read in one cycle, and the time for all of them. Project choice: a merge concerns one or two. */
const MOST_READ = 20;
const READING_MS = 30 * SECOND_MS;

/** Stands for a patient without number or address, so that later cycles do not read the patient again. No hash has this form. */
const NO_RECIPIENT = '-';

/** Returns the number or address of a patient for a channel, or null. */
export function addressOf(
  needs: OpenChannel['needs'],
  patient: Pick<Patient, 'email' | 'mobilePhone' | 'phone'> | null,
  phoneRegion: string,
): string | null {
  if (needs === 'nothing' || patient === null) return null;
  if (needs === 'email') return patient.email?.trim() || null;
  return mobileNumber(patient.mobilePhone ?? '', phoneRegion) ?? mobileNumber(patient.phone ?? '', phoneRegion);
}

/**
 * Compares recipients if an appointment has another patient than its messages: with the same number or address, the recipient knows the
 * message, for example after a merge of two records. The ledger then follows the new id.
 * @returns what the cycle saw, without appointments whose patient could not be read: they are compared later
 */
export async function followMergedPatients(
  { readPatient }: { readPatient: OpenTenant['clinic']['readPatient'] },
  { ledger, proofs, optOuts, channels, file }: OpenReminders,
  seen: SeenByPatients,
  now: Instant,
): Promise<SeenByPatients> {
  const listed = new Set(
    (await ledger.wrong(now)).flatMap((one) => (one.reason === 'other-patient' ? one.appointmentId : [])),
  );
  const notified = (await ledger.notifiedSince(now - DAY_MS)).filter(
    (id) => seen.appointments.has(id) && !listed.has(id),
  );
  const entries = [...(await ledger.ofAppointments(notified)).values()].flat();
  const patients = new Map<string, Promise<Patient | null | 'unread'>>();
  const signal = AbortSignal.timeout(READING_MS);
  const appointments = new Map(seen.appointments);
  const read = (id: string) => {
    const found = patients.get(id);
    if (found !== undefined) return found;
    if (patients.size >= MOST_READ) return 'unread';
    const reading = readThroughMerges((one) => readPatient(one, signal), id).then(
      ({ answer }) => ('found' in answer ? answer.found : null),
      () => 'unread' as const,
    );
    patients.set(id, reading);
    return reading;
  };
  for (const entry of entries) {
    const { id, channel, patientProof } = entry;
    const appointmentId = visitOf(entry);
    const patientId = appointments.get(appointmentId)?.patientId ?? null;
    const needs = channels.get(channel)?.needs ?? 'nothing';
    if (patientProof === null || patientId === null || needs === 'nothing') continue;
    const proof = proofs.patient(id, patientId);
    if (proof === patientProof) continue;
    const patient = await read(patientId);
    const address = patient === 'unread' ? null : addressOf(needs, patient, file.phoneRegion);
    if (patient === 'unread') appointments.delete(appointmentId);
    else if (address !== null && entry.recipient === optOuts.hashOf(needs, address))
      await ledger.storePatientProof(id, { before: patientProof, proof });
  }
  return { ...seen, appointments };
}

/**
 * Stores the expected recipient of planned reminders whose rule lists several visits in one message, so that the first of them finds the
 * others, also of another patient with the same number. Reads the patients, some in each cycle.
 */
export async function expectRecipients(
  { readPatient }: { readPatient: OpenTenant['clinic']['readPatient'] },
  { ledger, optOuts, channels, file, rules }: OpenReminders,
  planned: readonly (PlannedReminder & { patientId: string })[],
): Promise<void> {
  const signal = AbortSignal.timeout(READING_MS);
  const grouped = planned.filter(({ rule, channel }) => rules.rules.get(rule)?.grouped.includes(channel) === true);
  const byPatient = [...Map.groupBy(grouped, ({ patientId }) => patientId)].slice(0, MOST_READ);
  for (const [patientId, own] of byPatient) {
    const reading = readThroughMerges((one) => readPatient(one, signal), patientId);
    const answer = await reading.then((read) => read.answer).catch(() => null);
    for (const { id, channel } of own) {
      const needs = channels.get(channel)?.needs ?? 'nothing';
      const address = answer !== null && 'found' in answer ? addressOf(needs, answer.found, file.phoneRegion) : null;
      if (answer === null || needs === 'nothing') continue;
      await ledger.storeRecipient(id, address === null ? NO_RECIPIENT : optOuts.hashOf(needs, address));
    }
  }
}
