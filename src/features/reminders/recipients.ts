import { asMirrorError } from '../../core/model/errors.ts';
import type { Patient } from '../../core/model/records.ts';
import type { LedgerEntry, PlannedReminder } from '../../core/model/reminders.ts';
import { DAY_MS, type Instant, SECOND_MS } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import { readThroughMerges } from '../../domain/read-alone.ts';
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

/** A patient, or after merges the remaining patient. */
type PatientRead = Awaited<ReturnType<typeof readThroughMerges>>;

/** Reads a patient through merges, at most some in one cycle; null for an unread patient. */
export type ReadPatient = (id: string) => Promise<PatientRead | null>;

/** Reads a patient through merges. A clinic that refuses access to patients reports no merge; null after another error. */
export async function readThrough(
  readPatient: ClinicSource['readPatient'],
  id: string,
  signal: AbortSignal,
): Promise<PatientRead | null> {
  try {
    return await readThroughMerges((one) => readPatient(one, signal), id);
  } catch (error) {
    return ['authorization', 'settings'].includes(asMirrorError(error).actor) ? { id, answer: { absent: true } } : null;
  }
}

/** Returns whether a patient is the recipient of an earlier message: same number or address, or without these a merged record. */
export async function isSameRecipient(
  { ledger, optOuts, channels, file }: OpenReminders,
  { id, channel, recipient }: Pick<LedgerEntry, 'id' | 'channel' | 'recipient'>,
  patientId: string,
  read: ReadPatient,
): Promise<boolean | 'unread'> {
  const needs = channels.get(channel)?.needs ?? 'nothing';
  const before = needs === 'nothing' ? await ledger.patientIdOf(id) : null;
  if (needs === 'nothing' && before === null) return false;
  const [present, earlier] = [await read(patientId), before === null ? null : await read(before)];
  if (present === null || (before !== null && earlier === null)) return 'unread';
  if (!('found' in present.answer)) return false;
  if (needs === 'nothing') return earlier?.id === present.id;
  const address = addressOf(needs, present.answer.found, file.phoneRegion);
  return address !== null && recipient === optOuts.hashOf(needs, address);
}

/**
 * Compares recipients if an appointment has another patient than its messages: with the same number or address, the recipient knows the
 * message, for example after a merge of two records. A message without a recipient, such as a webhook, is known to the new patient if the
 * clinic reports the merge. The ledger then follows the new id.
 * @returns what the cycle saw, without appointments whose patient could not be read: they are compared later
 */
export async function followMergedPatients(
  { readPatient }: { readPatient: ClinicSource['readPatient'] },
  reminders: OpenReminders,
  seen: SeenByPatients,
  now: Instant,
): Promise<SeenByPatients> {
  const { ledger, proofs } = reminders;
  const listed = new Set(
    (await ledger.wrong(now)).flatMap((one) => (one.reason === 'other-patient' ? one.appointmentId : [])),
  );
  const notified = (await ledger.notifiedSince(now - DAY_MS)).filter(
    (id) => seen.appointments.has(id) && !listed.has(id),
  );
  const entries = [...(await ledger.ofAppointments(notified)).values()].flat();
  const patients = new Map<string, Promise<PatientRead | null>>();
  const signal = AbortSignal.timeout(READING_MS);
  const appointments = new Map(seen.appointments);
  const read: ReadPatient = async (id) => {
    if (!patients.has(id) && patients.size >= MOST_READ) return null;
    const reading = patients.get(id) ?? readThrough(readPatient, id, signal);
    patients.set(id, reading);
    return reading;
  };
  for (const entry of entries) {
    const { id, patientProof, recipient } = entry;
    const appointmentId = visitOf(entry);
    const patientId = appointments.get(appointmentId)?.patientId ?? null;
    if (patientProof === null || patientId === null) continue;
    const proof = proofs.patient(id, patientId);
    if (proof === patientProof) continue;
    const isSame = await isSameRecipient(reminders, entry, patientId, read);
    if (isSame === 'unread') appointments.delete(appointmentId);
    else if (isSame)
      await ledger.storePatient(id, { before: patientProof, proof, patientId: recipient === null ? patientId : null });
  }
  return { ...seen, appointments };
}

/**
 * Stores the expected recipient of planned reminders whose rule lists several visits in one message, so that the first of them finds the
 * others, also of another patient with the same number. Reads the patients, some in each cycle.
 */
export async function expectRecipients(
  { readPatient }: { readPatient: ClinicSource['readPatient'] },
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
