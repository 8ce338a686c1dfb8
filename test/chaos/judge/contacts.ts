import type { TruePatient } from '../../../sandbox/clinic/index.ts';
import type { ClinicData } from './history.ts';

/** A daemon took a contact out of a CRM, or emptied a field of the contact. */
export interface ContactLoss {
  /** Epoch ms. */
  at: number;
  /** The surname that the contact had. */
  surname: string;
  /** Null: the contact is gone, or its surname is. */
  field: 'firstName' | 'phone' | null;
}

/** A contact with a key of clinic-mirror, as the CRM shows it. */
export type SeenContact = Readonly<Record<'lastName' | 'firstName' | 'phone', string | null>>;

interface Version {
  /** Epoch ms from which it holds. */
  at: number;
  firstName: string;
  phone: string | null;
  hasConsent: boolean;
}

/** A clinic's patients at every time since the start, by surname. Only a merge ends one. */
export class PatientHistory {
  readonly #data: Pick<ClinicData, 'patients'>;
  readonly #tenantId: string;
  readonly #versions = new Map<string, Version[]>();
  readonly #endedAt = new Map<string, number>();

  constructor(data: Pick<ClinicData, 'patients'>, tenantId: string) {
    this.#data = data;
    this.#tenantId = tenantId;
  }

  /** Reads the data; called after each thing that people do there. @param at epoch ms */
  note(at: number): void {
    const there = new Set<string>();
    for (const patient of this.#data.patients(this.#tenantId)) {
      there.add(patient.lastName);
      const versions = this.#versions.get(patient.lastName) ?? [];
      const version = versionOf(patient, at);
      const last = versions.at(-1);
      if (last !== undefined && JSON.stringify({ ...last, at }) === JSON.stringify(version)) continue;
      this.#versions.set(patient.lastName, [...versions, version]);
    }
    for (const surname of this.#versions.keys())
      if (!there.has(surname) && !this.#endedAt.has(surname)) this.#endedAt.set(surname, at);
  }

  /**
   * Returns whether nothing in the clinic's data explains a loss: the patient was there with consent, and the field had a value, all the
   * time before. Daemons read patients seldom, so that an earlier state explains a later loss.
   */
  isUnexplained({ surname, field, at }: ContactLoss): boolean {
    const versions = (this.#versions.get(surname) ?? []).filter((version) => version.at <= at);
    if (versions.length === 0 || (this.#endedAt.get(surname) ?? Infinity) <= at) return false;
    return versions.every((version) => version.hasConsent && (field === null || (version[field] ?? '') !== ''));
  }
}

function versionOf({ firstName, phone, details }: Readonly<TruePatient>, at: number): Version {
  return { at, firstName, phone, hasConsent: details.consents.privacy?.granted === true };
}

/** Records what a request takes from the contacts of a CRM. */
export function watchContacts(
  read: () => readonly SeenContact[],
  onLost: (loss: Omit<ContactLoss, 'at'>) => void,
): () => void {
  const before = read();
  return () => {
    const after = read();
    for (const { lastName: surname, ...fields } of before) {
      if (surname === null) continue;
      const same = after.filter(({ lastName }) => lastName === surname);
      if (same.length === 0) onLost({ surname, field: null });
      for (const field of ['firstName', 'phone'] as const)
        if (fields[field] !== null && same.length > 0 && same.every((one) => one[field] === null))
          onLost({ surname, field });
    }
  };
}
