import type { Patient } from '../../model/records.ts';
import type { AddressKind } from '../../model/reminders.ts';
import { telephonesIn } from '../../model/telephones.ts';

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
