import type { Episode, EpisodeStatus, Practice, PracticeDoctor } from '../data/care-records.ts';
import type { ClinicData } from '../data/clinic-data.ts';
import type { Entry } from '../data/documents.ts';
import { parseInstant } from '../data/zone.ts';
import { conflict, notFound, ruleBroken } from './errors.ts';

const MOVES: Readonly<Record<EpisodeStatus, readonly EpisodeStatus[]>> = {
  Open: ['InProgress', 'Closed', 'Cancelled'],
  InProgress: ['Closed', 'Cancelled'],
  Closed: [],
  Cancelled: [],
};

/** What a writer may say of an episode; a practice without `practiceId` is a new one. */
export interface EpisodeInput extends Omit<Episode, 'id' | 'practices' | 'status'> {
  status: EpisodeStatus | undefined;
  practices: (Omit<Practice, 'practiceId' | 'doctors'> & { practiceId: string | undefined; doctors: DoctorInput[] })[];
}

/** A doctor of a practice by id; the clinic knows the name. */
export type DoctorInput = Omit<PracticeDoctor, 'firstName' | 'lastName'>;

/** Each throws ClinicError: 404 unknown, 409 for the status, 422 for a broken rule. */
export interface EpisodeOperations {
  get(tenantId: string, id: string): Entry<Episode>;
  create(tenantId: string, input: EpisodeInput): Entry<Episode>;
  /** Replaces all that a writer may say. */
  update(tenantId: string, id: string, input: EpisodeInput): Entry<Episode>;
  /** Links of invoices and reports to it dangle from then on. */
  remove(tenantId: string, id: string): void;
}

export function createEpisodeOperations(data: ClinicData): EpisodeOperations {
  function get(tenantId: string, id: string): Entry<Episode> {
    const found = data.episodes.get(tenantId, id);
    if (found === undefined) throw notFound('episode');
    return found;
  }

  function create(tenantId: string, input: EpisodeInput): Entry<Episode> {
    checkReferences(data, tenantId, input);
    const now = data.clock();
    const record = recordOf(data, tenantId, data.ids.next('epi'), input, input.status ?? 'Open');
    const created = { tenantId, record, sortAt: parseInstant(record.openedAt) ?? now, createdAt: now, updatedAt: now };
    data.episodes.save(created);
    return created;
  }

  function update(tenantId: string, id: string, input: EpisodeInput): Entry<Episode> {
    const current = get(tenantId, id);
    const { status } = current.record;
    if (MOVES[status].length === 0) throw conflict('status_conflict', `An episode that is ${status} cannot be changed`);
    const wanted = input.status ?? status;
    if (wanted !== status && !MOVES[status].includes(wanted)) {
      throw conflict('status_conflict', `An episode that is ${status} cannot become ${wanted}`);
    }
    checkReferences(data, tenantId, input);
    const record = recordOf(data, tenantId, id, input, wanted);
    const changed = {
      ...current,
      record,
      sortAt: parseInstant(record.openedAt) ?? current.sortAt,
      updatedAt: data.clock(),
    };
    data.episodes.save(changed);
    return changed;
  }

  function remove(tenantId: string, id: string): void {
    if (!data.episodes.remove(tenantId, id)) throw notFound('episode');
  }

  return { get, create, update, remove };
}

function recordOf(data: ClinicData, tenantId: string, id: string, input: EpisodeInput, status: EpisodeStatus): Episode {
  const names = doctorNames(data, tenantId);
  const isOver = status === 'Closed' || status === 'Cancelled';
  return {
    id,
    ...input,
    closedAt: input.closedAt ?? (isOver ? data.zone.formatInstant(data.clock()) : null),
    status,
    practices: input.practices.map((practice) => ({
      ...practice,
      practiceId: practice.practiceId ?? data.ids.next('prc'),
      doctors: practice.doctors.map((doctor) => ({
        ...doctor,
        ...(names.get(doctor.id) ?? { firstName: '', lastName: '' }),
      })),
    })),
  };
}

function doctorNames(data: ClinicData, tenantId: string): Map<string, { firstName: string; lastName: string }> {
  const agendas = data.tenants.get(tenantId)?.agendas ?? [];
  return new Map(
    agendas.flatMap(({ doctor }) =>
      doctor === null ? [] : [[doctor.id, { firstName: doctor.firstName, lastName: doctor.lastName }] as const],
    ),
  );
}

function checkReferences(data: ClinicData, tenantId: string, input: EpisodeInput): void {
  const tenant = data.tenants.get(tenantId);
  if (data.patients.get(tenantId, input.patientId) === undefined) throw ruleBroken('patientId', 'Unknown patient');
  if (input.locationId !== null && tenant?.locations.some(({ id }) => id === input.locationId) !== true) {
    throw ruleBroken('locationId', 'Unknown location');
  }
  if (input.appointmentId !== null && data.appointments.get(tenantId, input.appointmentId) === undefined) {
    throw ruleBroken('appointmentId', 'Unknown appointment');
  }
  const doctors = doctorNames(data, tenantId);
  const ids = input.practices.map(({ practiceId }) => practiceId).filter((id) => id !== undefined);
  if (new Set(ids).size < ids.length) throw ruleBroken('practices', 'A practiceId must occur at most once');
  for (const [index, practice] of input.practices.entries()) {
    if (tenant?.treatments.some(({ id }) => id === practice.treatmentId) !== true) {
      throw ruleBroken(`practices.${index}.treatmentId`, 'Unknown treatment');
    }
    if (practice.doctors.some(({ id }) => !doctors.has(id))) {
      throw ruleBroken(`practices.${index}.doctors`, 'Unknown doctor');
    }
  }
}
