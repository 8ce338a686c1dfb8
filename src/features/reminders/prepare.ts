import { asMirrorError } from '../../core/model/errors.ts';
import type { Agenda, Appointment, Location, Patient } from '../../core/model/records.ts';
import type { Correction, CorrectionKind, LedgerEntry } from '../../core/model/reminders.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import { MINUTE_MS } from '../../core/model/time.ts';
import { appointmentIdOf, isShared } from '../../core/model/visits.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import { readThroughMerges } from '../../domain/read-alone.ts';
import type { Reminder } from './channels/channel.ts';
import { type ContentInput, contentOf, findDisclosedFact, namesAddress } from './content.ts';
import { heldReasonOf, stillFalse } from './corrections.ts';
import { deletedAsCancelled } from './deleted.ts';
import type { AddressHash } from './opt-outs.ts';
import { comparableAddress, locationOf } from './places.ts';
import type { OpenChannel, OpenReminders, RemindedTenant } from './ports.ts';
import { addressOf } from './recipients.ts';
import { isCoveredByCorrection } from './remedies.ts';
import type { ReminderRule } from './rules.ts';
import { decideByAppointment, decideByPatient, decideByTime } from './rules.ts';
import { dropped, SOURCE_RETRY_MS, type Step, sourceStep, stepOf } from './steps.ts';
import type { Claim } from './store.ts';

/** Delay between checks of whether uncertainty has ended. */
export const UNCERTAINTY_RETRY_MS = 5 * MINUTE_MS;

/** Data for delivering a reminder. */
export interface Ready {
  reminder: Reminder;
  input: ContentInput;
  channel: OpenChannel;
  rule: ReminderRule;
  /** Keyed hash of the recipient; null if the channel needs no contact data. */
  recipient: AddressHash | null;
  /** Keyed hashes of the patient, and of the location in the text; the patient's id if there is no recipient. */
  proofs: { patientProof: string; locationProof: string | null; patientId: string | null };
}

/**
 * Checks all conditions of a delivery. Returns the step if a condition fails.
 * @param options.early checks a reminder before its due time
 */
export async function prepare(
  tenant: RemindedTenant,
  reminders: OpenReminders,
  { entry }: Claim,
  { signal, early = false }: { signal: AbortSignal; early?: boolean },
): Promise<Ready | Step> {
  const clock = () => (early ? Math.max(tenant.clock(), entry.dueAt) : tenant.clock());
  const rule = reminders.rules.rules.get(entry.rule);
  const channel = reminders.channels.get(entry.channel);
  if (rule === undefined || channel === undefined || !rule.channels.includes(entry.channel))
    return dropped('rule-gone');
  const inTime = decideByTime(entry, rule, reminders.rules.quiet, clock());
  if (inTime.do !== 'send') return stepOf(inTime);
  // Facts of the message are uncertain, both for the correction and for a reminder of the same time.
  const heldReason = await heldReasonOf(reminders, entry.appointmentId, tenant.clock());
  if (heldReason !== null) return { wakeAt: tenant.clock() + UNCERTAINTY_RETRY_MS, code: heldReason, notSent: true };
  let source: Source;
  try {
    source = await readSource(tenant.clinic, channel, entry, signal);
  } catch (error) {
    return sourceStep(asMirrorError(error), entry.dueAt, reminders, tenant.clock());
  }
  const decision = decideByAppointment(entry, rule, source.appointment);
  if (decision.do !== 'send') return stepOf(decision);
  if (source.patient !== null) {
    const allowed = decideByPatient(source.patient, channel.consent);
    if (allowed.do !== 'send') return stepOf(allowed);
  }
  // Reads take time, so quiet hours may have begun.
  const stillInTime = decideByTime(entry, rule, reminders.rules.quiet, clock());
  if (stillInTime.do !== 'send') return stepOf(stillInTime);
  const own = await reminders.ledger.ofAppointment(entry.appointmentId);
  if (entry.correction === null && isCoveredByCorrection(entry, own, tenant.clock())) return dropped('outdated');
  const correction = await correctionNow(tenant, reminders, entry, source);
  if (correction !== null && !('kind' in correction)) return correction;
  return address(tenant, reminders, { rule, channel, source, entry, correction });
}

/** Compares a correction again. Returns null for a reminder, and a step for an outdated correction. */
async function correctionNow(
  tenant: RemindedTenant,
  reminders: OpenReminders,
  entry: LedgerEntry,
  source: Source,
): Promise<NonNullable<ContentInput['correction']> | Step | null> {
  if (entry.correction === null) return null;
  if (!('found' in source.appointment)) return dropped('vanished');
  const appointment = source.appointment.found;
  const location = locationOf(appointment, source);
  const zone = location?.zone ?? tenant.configuration.zone;
  const found = await stillFalse(reminders, entry, { appointment, zone, address: location?.address ?? null });
  if (found === 'waits') return { wakeAt: tenant.clock() + SOURCE_RETRY_MS, code: null, notSent: true };
  return typeof found === 'string'
    ? dropped(found)
    : { kind: wordsOf(entry.correction, found.sent), sentTime: found.sent };
}

/** Returns the text kind of a correction. A patient notified of a cancellation receives the reminder text. */
function wordsOf({ kind }: Correction, disclosed: LedgerEntry): CorrectionKind {
  return kind === 'moved' && disclosed.correction?.kind === 'cancelled' ? 'changed' : kind;
}

/** Present clinic data. */
interface Source {
  appointment: Lookup<Appointment>;
  /** Null if the channel needs no patient data. */
  patient: Lookup<Patient> | null;
  agendas: ReadonlyMap<string, Agenda>;
  locations: ReadonlyMap<string, Location>;
}

async function readSource(
  clinic: ClinicSource,
  channel: OpenChannel,
  { appointmentId, correction }: LedgerEntry,
  signal: AbortSignal,
): Promise<Source> {
  const cancels = correction?.kind === 'cancelled';
  const agendas = new Map((await clinic.agendas(signal)).map((agenda) => [agenda.id, agenda]));
  const locations = new Map((await clinic.locations(signal)).map((location) => [location.id, location]));
  const answer = await clinic.readAppointment(appointmentId, signal);
  const appointment = cancels ? deletedAsCancelled(answer) : answer;
  const patientId = 'found' in appointment ? appointment.found.patientId : null;
  if (patientId === null || !channel.readsPatient) {
    return { appointment, patient: null, agendas, locations };
  }
  const { answer: patient } = await readThroughMerges((one) => clinic.readPatient(one, signal), patientId);
  return { appointment, patient, agendas, locations };
}

/** Finds the patient's contact data for the channel, and writes the text. */
async function address(
  tenant: RemindedTenant,
  reminders: OpenReminders,
  {
    rule,
    channel,
    source,
    entry,
    correction,
  }: {
    rule: ReminderRule;
    channel: OpenChannel;
    source: Source;
    entry: LedgerEntry;
    correction: ContentInput['correction'];
  },
): Promise<Ready | Step> {
  if (!('found' in source.appointment)) return dropped('vanished');
  // A cancellation notice contains the announced time.
  const { id, zone, startAt } = entry;
  const appointment = source.appointment.found;
  const { patientId } = appointment;
  const patient = source.patient !== null && 'found' in source.patient ? source.patient.found : null;
  const { phoneRegion } = reminders.file;
  const email = addressOf('email', patient, phoneRegion);
  const phone = addressOf('phone', patient, phoneRegion);
  let recipientHash: AddressHash | null = null;
  if (channel.needs !== 'nothing') {
    const reachedAt = channel.needs === 'email' ? email : phone;
    if (reachedAt === null) return dropped('no-address');
    recipientHash = reminders.optOuts.hashOf(channel.needs, reachedAt);
  }
  const endAt = startAt + appointment.time.endAt - appointment.time.startAt;
  const location = locationOf(appointment, source);
  const { name, language } = tenant.configuration;
  const input: ContentInput = {
    rule,
    file: reminders.file,
    language,
    clinic: name,
    startAt,
    zone,
    location,
    patient,
    link:
      correction?.kind === 'cancelled' || isShared(appointment)
        ? null
        : ((await reminders.answers?.linkFor({ reminder: id, patientId, startAt })) ?? null),
    correction,
  };
  const content = contentOf(input);
  const disclosed = findDisclosedFact(content, input);
  if (disclosed !== null) return dropped('egress-stopped', `egress-${disclosed}`);
  const reminder: Reminder = {
    id,
    tenant: tenant.id,
    rule: rule.id,
    appointment: { id: appointmentIdOf(appointment.id), agendaId: appointment.agendaId, startAt, endAt, zone },
    recipient: { patientId, email, phone },
    content,
    correction: entry.correction?.kind ?? null,
  };
  const address = comparableAddress(location?.address ?? null);
  const proofs = {
    patientId: recipientHash === null ? patientId : null,
    patientProof: reminders.proofs.patient(id, patientId),
    locationProof: namesAddress(input) ? reminders.proofs.locationProof(appointment.id, address) : null,
  };
  return { reminder, input, channel, rule, recipient: recipientHash, proofs };
}
