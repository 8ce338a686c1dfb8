import { MirrorError } from '../../core/model/errors.ts';
import type { Patient } from '../../core/model/records.ts';
import type { AddressKind } from '../../core/model/reminders.ts';
import { telephonesIn } from '../../core/model/telephones.ts';
import { patientsOf } from '../../core/model/visits.ts';
import { message } from '../../messages/message.ts';
import type { ForgottenTenant } from './ports.ts';
import { unlessForbidden } from './records.ts';

/** An e-mail address or a telephone number, as typed. Patient data. */
export interface Contact {
  kind: AddressKind;
  address: string;
}

/** Country of numbers without a prefix if no reminders are configured: the default of `reminders.phoneRegion`. */
const USUAL_REGION = 'IT';

/** Returns each contact of a text in the form that clinic-mirror compares: e-mail in lower case, numbers in E.164. */
export function formsOf({ kind, address }: Contact, region = USUAL_REGION): string[] {
  if (kind === 'phone') return telephonesIn(address, region).map(({ number }) => number);
  const email = address.trim().toLowerCase();
  return /^[^\s@]+@[^\s@]+$/.test(email) ? [email] : [];
}

/** Returns every contact of a patient, in the form of {@link formsOf}. */
export function contactsOf(
  { email, mobilePhone, phone }: Pick<Patient, 'email' | 'mobilePhone' | 'phone'>,
  region?: string,
): Contact[] {
  const typed: Contact[] = [
    { kind: 'email', address: email ?? '' },
    { kind: 'phone', address: mobilePhone ?? '' },
    { kind: 'phone', address: phone ?? '' },
  ];
  return typed.flatMap((one) => formsOf(one, region).map((address) => ({ kind: one.kind, address })));
}

/** Patients with a contact, and the messages that were sent to it. */
export interface FoundByContact {
  patients: string[];
  /** Ids of reminders in the ledger. */
  messages: ReadonlySet<string>;
}

/**
 * Finds the patients of a contact: by the clinic's list, and by the appointments of messages that this contact received. Messages store only
 * keyed hashes of contacts.
 * @throws MirrorError `settings`, code `contact-unknown` for no patient and no message; errors of the clinic API
 */
export async function findByContact(
  { clinic, reminders }: ForgottenTenant,
  contact: Contact,
  signal: AbortSignal,
): Promise<FoundByContact> {
  const { kind } = contact;
  const region = reminders?.file.phoneRegion;
  const [address, ...others] = formsOf(contact, region);
  if (address === undefined || others.length > 0)
    throw unknown(kind === 'email' ? 'bad-address.email' : 'bad-address.telephone');
  const has = (patient: Patient) =>
    contactsOf(patient, region).some((one) => one.kind === kind && one.address === address);
  const list = await unlessForbidden(() => clinic.readPatients(signal));
  const patients = new Set([...(list?.records.values() ?? [])].filter(has).map(({ id }) => id));
  const hash = reminders?.optOuts.hashOf(kind, address);
  const entries = [...((await reminders?.ledger.open()) ?? []), ...((await reminders?.ledger.finished(0)) ?? [])];
  const sent = entries.filter(({ recipient }) => recipient === hash);
  for (const id of new Set(sent.map(({ movedTo, appointmentId }) => movedTo ?? appointmentId))) {
    const answer = await clinic.readAppointment(id, signal);
    for (const patientId of 'found' in answer ? patientsOf(answer.found) : []) patients.add(patientId);
  }
  if (patients.size + sent.length === 0) throw unknown('contact-unknown.remedy');
  return { patients: [...patients].sort(), messages: new Set(sent.map(({ id }) => id)) };
}

function unknown(remedy: 'bad-address.email' | 'bad-address.telephone' | 'contact-unknown.remedy'): MirrorError {
  return new MirrorError(message('contact-unknown'), {
    actor: 'settings',
    code: 'contact-unknown',
    retry: 'never',
    remedy: message(remedy),
  });
}
