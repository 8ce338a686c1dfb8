import type { ClinicSandbox, TruePatient } from '../../../sandbox/clinic/index.ts';

/** Numbers in [0, 1), the same ones for a seed. */
export type Random = () => number;

/** The first patients of each clinic share an address and stay as they are. */
const FAMILY = 4;
/** The next ones have a namesake with their address in the CRM, whom people made there. */
const TWINS = 4;
/** Every so many patients don't consent at first. */
const WITHOUT_CONSENT_EVERY = 10;
/** What people do to patients of a clinic between two cycles. */
const WORK = { numbers: 6, addresses: 3, withdrawn: 3, granted: 3, registered: 2, removed: 1 };

/** Gives every patient a surname of their own, a family an address, and takes some consents. */
export function preparePatients(clinic: ClinicSandbox, clinicId: string): void {
  for (const [index, patient] of [...clinic.patients(clinicId)].entries()) {
    const { id, lastName, email, details } = patient;
    const granted = index < FAMILY + TWINS || index % WITHOUT_CONSENT_EVERY !== 0;
    const own = index < FAMILY + TWINS ? `twin.${index}@example.com` : email;
    clinic.plant(clinicId, 'patients', id, {
      lastName: `${lastName} ${index}`,
      email: index < FAMILY ? 'family@example.com' : own,
      consents: { ...details.consents, privacy: { granted, date: null } },
    });
  }
}

/** Patients whose namesakes stand in the CRM from the start. */
export function twinsOf(clinic: ClinicSandbox, clinicId: string): TruePatient[] {
  return [...clinic.patients(clinicId)].slice(FAMILY, FAMILY + TWINS);
}

/**
 * Work on patients: new telephone numbers and addresses, consents given and withdrawn, some who are new, one who is removed.
 * @param share how much of it is done, 0 to 1
 */
export function changePatients(clinic: ClinicSandbox, clinicId: string, random: Random, share: number): void {
  const many = (kind: keyof typeof WORK) => Math.floor(WORK[kind] * share);
  const all = [...clinic.patients(clinicId)];
  const digits = () => String(Math.floor(random() * 10_000_000)).padStart(7, '0');
  const consents = ({ details }: TruePatient) => details.consents.privacy?.granted === true;
  const others = all.slice(FAMILY + TWINS);
  const plant = (patient: TruePatient, members: object) =>
    clinic.plant(clinicId, 'patients', patient.id, { ...members });
  const setConsent = (patient: TruePatient, granted: boolean) =>
    plant(patient, { consents: { ...patient.details.consents, privacy: { granted, date: null } } });
  const [withdrawn, granted] = [others.filter(consents), others.filter((patient) => !consents(patient))];
  for (const patient of pick(withdrawn, many('withdrawn'), random)) setConsent(patient, false);
  for (const patient of pick(granted, many('granted'), random)) setConsent(patient, true);
  for (const patient of pick(all.slice(FAMILY), many('numbers'), random))
    plant(patient, { phone: `+39 333 ${digits()}` });
  for (const patient of pick(others, many('addresses'), random))
    plant(patient, { email: `new.${digits()}@example.com` });
  for (const patient of pick(others, many('removed'), random)) remove(clinic, clinicId, patient.id);
  for (let index = 0; index < many('registered'); index += 1) {
    const patient = clinic.registerPatient(clinicId);
    plant(patient, { lastName: `${patient.lastName} ${digits()}` });
    clinic.book(clinicId, { patientId: patient.id });
  }
}

/** What lies behind a patient stays in the books; what is ahead is cancelled first, as at a front desk. */
function remove(clinic: ClinicSandbox, clinicId: string, id: string): void {
  const ahead = [...clinic.appointments(clinicId)].filter(
    ({ patientId, status, deleted }) => patientId === id && !deleted && (status === 'Booked' || status === 'Confirmed'),
  );
  for (const appointment of ahead) clinic.cancel(clinicId, appointment.id);
  clinic.removePatient(clinicId, id);
}

function pick<Entry>(list: readonly Entry[], count: number, random: Random): Entry[] {
  const left = [...list];
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const [one] = left.splice(Math.floor(random() * left.length), 1);
    return one as Entry;
  });
}
