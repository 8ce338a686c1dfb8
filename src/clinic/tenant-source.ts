import type { Agenda, Appointment, Location, Patient, Treatment } from '../model/records.ts';
import type { AppointmentSnapshot, Lookup } from '../model/snapshots.ts';
import { type Clock, HOUR_MS, type Instant, type TimeWindow } from '../model/time.ts';
import type { ClinicClient } from './client.ts';
import type { ListPage } from './lists.ts';
import { chooseTenant } from './users.ts';

/** Catalogues and the list of the user's tenants are read anew after this time. */
const CATALOGUE_LIFE_MS = HOUR_MS;

/** The clinic API for one tenant: the tenant's id is found once, catalogues are whole lists and kept for an hour. */
export interface TenantSource {
  /** The clinic's id of the tenant. */
  tenantId(signal: AbortSignal): Promise<string>;
  agendas(signal: AbortSignal): Promise<Agenda[]>;
  locations(signal: AbortSignal): Promise<Location[]>;
  treatments(signal: AbortSignal): Promise<Treatment[]>;
  patients(signal: AbortSignal): Promise<Patient[]>;
  /** One patient as they are now. */
  readPatient(id: string, signal: AbortSignal): Promise<Lookup<Patient>>;
  readAppointments(
    query: { agendaIds: string[] | null; window: TimeWindow },
    signal: AbortSignal,
  ): Promise<AppointmentSnapshot>;
  readAppointment(id: string, signal: AbortSignal): Promise<Lookup<Appointment>>;
}

/**
 * @param configuredId the operator's choice among the user's tenants; null when the user has one
 * All methods throw what `chooseTenant` throws when the user may not work in the tenant (any more).
 */
export function createTenantSource(client: ClinicClient, configuredId: string | null, clock: Clock): TenantSource {
  const tenantId = kept(clock, async (signal) => chooseTenant(await client.userInfo(signal), configuredId).id);
  const list = <Model>(read: (tenantId: string, signal: AbortSignal) => AsyncIterable<ListPage<Model>>) =>
    kept(clock, async (signal) => {
      const records: Model[] = [];
      for await (const page of read(await tenantId(signal), signal)) records.push(...page.records);
      return records;
    });
  return {
    tenantId,
    agendas: list(client.listAgendas),
    locations: list(client.listLocations),
    treatments: list(client.listTreatments),
    patients: list(client.listPatients),
    readPatient: async (id, signal) => client.getPatient(await tenantId(signal), id, signal),
    readAppointments: async (query, signal) => client.readAppointments(await tenantId(signal), query, signal),
    readAppointment: async (id, signal) => client.readAppointment(await tenantId(signal), id, signal),
  };
}

function kept<Value>(clock: Clock, read: (signal: AbortSignal) => Promise<Value>) {
  let last: { value: Value; readAt: Instant } | null = null;
  return async (signal: AbortSignal): Promise<Value> => {
    const now = clock();
    if (last === null || now - last.readAt > CATALOGUE_LIFE_MS) last = { value: await read(signal), readAt: now };
    return last.value;
  };
}
