import type { TrueAppointment, TruePatient } from '../../../sandbox/clinic/index.ts';

/** An appointment in the clinic's own data, with its patient. */
export interface Entry extends TrueAppointment {
  firstName: string;
  lastName: string;
}

/** The clinic's own data, which can be read. */
export interface ClinicData {
  appointments(tenantId: string): Iterable<TrueAppointment>;
  patients(tenantId: string): Iterable<Readonly<TruePatient>>;
}

interface Version {
  /** Epoch ms from which it holds. */
  at: number;
  entry: Entry;
  text: string;
}

/** A clinic's data at every time since the start. */
export class History {
  readonly #data: ClinicData;
  readonly #tenantId: string;
  readonly #versions = new Map<string, Version[]>();

  constructor(data: ClinicData, tenantId: string) {
    this.#data = data;
    this.#tenantId = tenantId;
  }

  /** Reads the data; called after each thing that people do there. @param at epoch ms */
  note(at: number): void {
    const names = new Map([...this.#data.patients(this.#tenantId)].map((patient) => [patient.id, patient]));
    for (const appointment of this.#data.appointments(this.#tenantId)) {
      const patient = names.get(appointment.patientId ?? '');
      const { firstName = '', lastName = '' } = patient ?? {};
      const entry = { ...appointment, firstName, lastName };
      const text = JSON.stringify(entry);
      const versions = this.#versions.get(appointment.id) ?? [];
      if (versions.at(-1)?.text === text) continue;
      this.#versions.set(appointment.id, [...versions, { at, entry, text }]);
    }
  }

  /** Every version of every appointment that held at some time between the two (epoch ms), by id. */
  between(from: number, to: number): Map<string, Entry[]> {
    const found = new Map<string, Entry[]>();
    for (const [id, versions] of this.#versions) {
      const held = versions.filter(({ at }, index) => at <= to && (versions[index + 1]?.at ?? Infinity) > from);
      if (held.length > 0)
        found.set(
          id,
          held.map(({ entry }) => entry),
        );
    }
    return found;
  }

  /** What the data says now. */
  now(): Entry[] {
    return [...this.#versions.values()].flatMap((versions) => versions.at(-1)?.entry ?? []);
  }

  /** Whether an appointment was not in the data at some time between the two: unknown then, or not yet. */
  isYoungerThan(id: string, at: number): boolean {
    return (this.#versions.get(id)?.[0]?.at ?? Infinity) > at;
  }
}
