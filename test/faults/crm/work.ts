import type { SimulatedWork } from '../../../sandbox/clinic/index.ts';
import type { Scene } from '../scene.ts';
import { changePatients, type Random } from './patients.ts';

/** Between two cycles. */
const BEFORE = { appointments: { booked: 25, moved: 20, cancelled: 8, checkedIn: 2 }, patients: 1 };
/** At once, while the daemon is at work. */
const MEANWHILE = { appointments: { booked: 2, moved: 2, cancelled: 1 }, patients: 0.35 };
const MEANWHILE_EVERY_MS = 300;

/** Changes appointments of every clinic, and patients of those that have a CRM. */
export function workAtTheClinics(scene: Scene, random: Random): void {
  work(scene, random, BEFORE);
}

/** Goes on with the work in small pieces while the daemon is at its own. @returns ends it */
export function keepChanging(scene: Scene, random: Random): () => void {
  const timer = setInterval(() => work(scene, random, MEANWHILE), MEANWHILE_EVERY_MS);
  return () => clearInterval(timer);
}

function work(
  { world: { clinic, clinicTenants }, crms }: Scene,
  random: Random,
  { appointments, patients }: { appointments: SimulatedWork; patients: number },
): void {
  for (const clinicId of clinicTenants.values()) clinic.simulate(clinicId, appointments);
  for (const { clinicId } of crms) changePatients(clinic, clinicId, random, patients);
}
