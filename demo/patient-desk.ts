import type { TruePatient } from '../sandbox/clinic/index.ts';
import type { World } from './world.ts';

/** Kinds of changes to patients' data; each patient changes at most once. */
export type PatientChangeKind = 'registered' | 'phone-changed' | 'consent-withdrawn' | 'consent-given';

/** One change of a patient. */
export interface PatientChange {
  kind: PatientChangeKind;
  tenant: string;
  id: string;
}

/** Changes patients' data in the clinic. */
export interface PatientDesk {
  /** Changes a patient who was not changed before. @returns null if every patient was changed */
  change(tenant: string, kind: PatientChangeKind): PatientChange | null;
  /** Does one change after the other until the returned function is called. */
  start(options: { everyMs: number; onChange: (change: PatientChange) => void }): () => void;
}

/** How often each kind happens: withdrawals stay below what the guard lets pass in an hour. */
const USUAL_WORK: readonly PatientChangeKind[] = [
  'phone-changed',
  'registered',
  'phone-changed',
  'consent-withdrawn',
  'phone-changed',
  'registered',
  'phone-changed',
  'consent-given',
];
/** A number by which lists are gone through, so that neighbours are not changed one after the other. */
const STEP = 37;

/** Opens the desk for clinics with a CRM. A consent is the one that their contacts need. */
export function openPatientDesk(world: Pick<World, 'clinic' | 'clinicTenants' | 'crms'>): PatientDesk {
  const { clinic, crms } = world;
  let done = 0;
  const change = (tenant: string, kind: PatientChangeKind): PatientChange | null => {
    const clinicId = world.clinicTenants.get(tenant) ?? '';
    const consent = crms.find((crm) => crm.tenant === tenant)?.consent ?? 'privacy';
    done += 1;
    if (kind === 'registered') return { kind, tenant, id: clinic.registerPatient(clinicId).id };
    const agrees = ({ details }: TruePatient) => details.consents[consent]?.granted === true;
    const fits = (patient: TruePatient) => agrees(patient) === (kind !== 'consent-given');
    const candidates = [...clinic.patients(clinicId)].filter(fits);
    const patient = candidates[(done * STEP) % Math.max(1, candidates.length)];
    if (patient === undefined) return null;
    const consents = { ...patient.details.consents, [consent]: { granted: kind === 'consent-given', date: null } };
    // 347 is a prefix of Italian mobile numbers.
    const members = kind === 'phone-changed' ? { phone: `+39 347 ${5_550_000 + done}` } : { consents };
    clinic.plant(clinicId, 'patients', patient.id, members);
    return { kind, tenant, id: patient.id };
  };
  return {
    change,
    start({ everyMs, onChange }) {
      let turn = 0;
      const timer = setInterval(() => {
        const kind = USUAL_WORK[turn % USUAL_WORK.length] ?? 'phone-changed';
        // One place further with each round, so that every kind comes to every clinic.
        const tenant = crms[(turn + Math.floor(turn / USUAL_WORK.length)) % Math.max(1, crms.length)]?.tenant;
        turn += 1;
        const made = tenant === undefined ? null : change(tenant, kind);
        if (made !== null) onChange(made);
      }, everyMs);
      return () => clearInterval(timer);
    },
  };
}
