import type { Logger } from '../log/logger.ts';
import { MirrorError } from '../model/errors.ts';
import type { Agenda, Appointment, Location, Patient, Treatment } from '../model/records.ts';
import type { AppointmentSnapshot, Lookup } from '../model/snapshots.ts';
import type { AppointmentQuery, ClinicClient } from './client.ts';
import type { ListPage } from './lists.ts';

/** One tenant of the clinic system as the work on it sees it. */
export interface ClinicSource {
  agendas(signal: AbortSignal): Promise<Agenda[]>;
  locations(signal: AbortSignal): Promise<Location[]>;
  treatments(signal: AbortSignal): Promise<Treatment[]>;
  patients(signal: AbortSignal): Promise<Patient[]>;
  readAppointments(query: AppointmentQuery, signal: AbortSignal): Promise<AppointmentSnapshot>;
  readAppointment(id: string, signal: AbortSignal): Promise<Lookup<Appointment>>;
}

/** Readings of a catalogue that moves while it is read, before its error is thrown. */
const READINGS = 3;

/** The clinic client bound to one tenant, with each catalogue whole. */
export function createClinicSource(client: ClinicClient, tenantId: string, log: Logger): ClinicSource {
  return {
    agendas: (signal) => collect('agendas', () => client.listAgendas(tenantId, signal), log),
    locations: (signal) => collect('locations', () => client.listLocations(tenantId, signal), log),
    treatments: (signal) => collect('treatments', () => client.listTreatments(tenantId, signal), log),
    patients: (signal) => collect('patients', () => client.listPatients(tenantId, signal), log),
    readAppointments: (query, signal) => client.readAppointments(tenantId, query, signal),
    readAppointment: (id, signal) => client.readAppointment(tenantId, id, signal),
  };
}

async function collect<Model extends { id: string }>(
  list: string,
  read: () => AsyncIterable<ListPage<Model>>,
  log: Logger,
): Promise<Model[]> {
  for (let reading = 1; ; reading += 1) {
    try {
      return await collectOnce(list, read(), log);
    } catch (error) {
      const isMoving = error instanceof MirrorError && error.code === 'incomplete-list' && reading < READINGS;
      if (!isMoving) throw error;
      log.info({ list, reading }, 'a list was not whole, reading it again');
    }
  }
}

/** Rows set aside are left out and counted in the log; a record that comes twice is kept as it came last. */
async function collectOnce<Model extends { id: string }>(
  list: string,
  pages: AsyncIterable<ListPage<Model>>,
  log: Logger,
): Promise<Model[]> {
  const records = new Map<string, Model>();
  let setAside = 0;
  for await (const page of pages) {
    for (const record of page.records) records.set(record.id, record);
    setAside += page.setAside.length;
  }
  if (setAside > 0) log.warn({ list, setAside }, 'rows of a list can not be used');
  return [...records.values()];
}
