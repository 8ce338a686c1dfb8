import { type ClinicData, tenantOf } from './data/clinic-data.ts';
import type { DocumentStore } from './data/documents.ts';

/** Kinds of records that texts can be planted in. */
export const PLANTABLE = [
  'patients',
  'appointments',
  'treatments',
  'priceLists',
  'episodes',
  'reports',
  'invoices',
  'sections',
  'issuers',
] as const;

export type Plantable = (typeof PLANTABLE)[number];

export interface PlantingVerbs {
  /**
   * Overwrites members of a record without any check, so that a test can search for the planted value: a diagnosis in an episode's title, a
   * note, a treatment's name, a price list's code, an unknown VAT code. Throws RangeError when the record or the member does not exist.
   */
  plant(tenantId: string, kind: Plantable, id: string, members: Readonly<Record<string, unknown>>): void;
}

type Members = Readonly<Record<string, unknown>>;
type Planter = (tenantId: string, id: string, members: Members) => void;

export function createPlantingVerbs(data: ClinicData): PlantingVerbs {
  function inPatient(tenantId: string, id: string, members: Members): void {
    const patient = found(data.patients.get(tenantId, id));
    const [own, others] = split(members, patient);
    const details = { ...patient.details, ...known(others, patient.details) };
    data.patients.update({ ...patient, ...own, details, updatedAt: data.clock() });
  }

  function inAppointment(tenantId: string, id: string, members: Members): void {
    const appointment = found(data.appointments.get(tenantId, id));
    data.appointments.save({ ...appointment, ...known(members, appointment), updatedAt: data.clock() });
  }

  function inTreatment(tenantId: string, id: string, members: Members): void {
    const treatment = found(tenantOf(data, tenantId).treatments.find((one) => one.id === id));
    Object.assign(treatment, known(members, treatment), { updatedAt: data.zone.formatInstant(data.clock()) });
  }

  function inDocument<T extends object>({ get, save }: Pick<DocumentStore<T>, 'get' | 'save'>): Planter {
    return (tenantId, id, members) => {
      const entry = found(get(tenantId, id));
      const record = { ...entry.record, ...known(members, entry.record) };
      save({ ...entry, record, updatedAt: data.clock() });
    };
  }

  const planters: Record<Plantable, Planter> = {
    patients: inPatient,
    appointments: inAppointment,
    treatments: inTreatment,
    priceLists: inDocument(data.priceLists),
    episodes: inDocument(data.episodes),
    reports: inDocument(data.reports),
    invoices: inDocument(data.invoices),
    sections: inDocument(data.sections),
    issuers: inDocument(data.issuers),
  };
  return { plant: (tenantId, kind, id, members) => planters[kind](tenantId, id, members) };
}

function found<T>(record: T | undefined): T {
  if (record === undefined) throw new RangeError('the sandbox does not have this record');
  return record;
}

function known(members: Members, record: object): Members {
  const unknown = Object.keys(members).find((name) => !(name in record) || name === 'id');
  if (unknown !== undefined) throw new RangeError('the record does not have this member');
  return members;
}

/** The members that `own` has, and the others. */
function split(members: Members, own: object): [Record<string, unknown>, Record<string, unknown>] {
  const entries = Object.entries(members);
  return [
    Object.fromEntries(entries.filter(([name]) => name in own && name !== 'id')),
    Object.fromEntries(entries.filter(([name]) => !(name in own) || name === 'id')),
  ];
}
