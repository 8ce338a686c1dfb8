import { MirrorError } from '../../src/core/model/errors.ts';
import type { Agenda, Appointment, Invoice, Location, Patient, Treatment } from '../../src/core/model/records.ts';
import type { AppointmentSnapshot, Lookup, Snapshot } from '../../src/core/model/snapshots.ts';
import type { TimeWindow } from '../../src/core/model/time.ts';
import { readingVisits } from '../../src/core/model/visits.ts';
import type { ClinicSource } from '../../src/domain/clinic-requests.ts';
import { appointmentOf } from '../domain/arbitraries.ts';

/** A clinic in memory: answers for cycles, and controls for tests. */
export interface ModelClinic extends ClinicSource {
  readonly appointments: Map<string, Appointment>;
  /** Existing rows that cannot be used. */
  readonly unusable: Set<string>;
  /** Ids of rows that say no more than that their record is cancelled. */
  readonly tombstones: Set<string>;
  /** Lists omit cancelled appointments; a single fetch finds them. */
  hidesCancelled: boolean;
  /** Records that lists omit silently; a single fetch finds them. */
  readonly unlisted: Set<string>;
  /** The list breaks off after this many rows; null: it is whole. */
  truncatedAfter: number | null;
  /** Single fetches get no answer. */
  lookupsFail: boolean;
  /** What a list is refused with. */
  listError: MirrorError | null;
  readonly locationList: Location[];
  readonly patientList: Patient[];
  /** Error of the patient list. */
  patientsError: MirrorError | null;
  /** The end of the patient list is not proved. */
  patientsArePartial: boolean;
  readonly invoiceList: Invoice[];
  /** What the setting of a status is refused with. */
  writeError: MirrorError | null;
  /** A status is set, and the answer does not come. */
  writeAnswerIsLost: boolean;
  readonly counts: { lists: number; lookups: number; patients: number; writes: number };
}

function hourly(count: number): Map<string, Appointment> {
  const ids = Array.from({ length: count }, (_, index) => `${index}`);
  return new Map(ids.map((id) => [id, appointmentOf(id, { inHours: 24 + Number(id) })]));
}

/** Two agendas, which are cached from their first read on. */
function modelAgendas(): Pick<ClinicSource, 'agendas' | 'cachedAgendas'> {
  const agendaList: Agenda[] = ['a1', 'a2'].map((id) => ({
    id,
    name: `Agenda ${id}`,
    locationId: null,
    isActive: true,
  }));
  let cached: readonly Agenda[] = [];
  return {
    async agendas() {
      cached = agendaList;
      return agendaList;
    },
    cachedAgendas: () => cached,
  };
}

/** @param booked how many appointments it has, one an hour from tomorrow on, with the ids `0`, `1` … */
export function createModelClinic(booked = 0): ModelClinic {
  const treatmentList: Treatment[] = [];
  const clinic: ModelClinic = {
    appointments: hourly(booked),
    unusable: new Set(),
    tombstones: new Set(),
    hidesCancelled: false,
    unlisted: new Set(),
    truncatedAfter: null,
    lookupsFail: false,
    listError: null,
    locationList: [],
    patientList: [],
    patientsError: null,
    patientsArePartial: false,
    invoiceList: [],
    writeError: null,
    writeAnswerIsLost: false,
    counts: { lists: 0, lookups: 0, patients: 0, writes: 0 },
    tenantId: async () => 'clinic-tenant',
    pageUrl: null,
    remarks: () => [],
    ...modelAgendas(),
    locations: async () => clinic.locationList,
    treatments: async () => treatmentList,
    async patients() {
      clinic.counts.patients += 1;
      return clinic.patientList;
    },
    async readPatient(id) {
      const found = clinic.patientList.find((patient) => patient.id === id);
      return found === undefined ? { absent: true } : { found: structuredClone(found) };
    },
    async readPatients() {
      clinic.counts.patients += 1;
      if (clinic.patientsError !== null) throw clinic.patientsError;
      return listOf(clinic.patientList, clinic.patientsArePartial);
    },
    readInvoices: async () => listOf(clinic.invoiceList),
    async readInvoice(id) {
      const found = clinic.invoiceList.find((invoice) => invoice.id === id);
      return found === undefined ? { absent: true } : { found: structuredClone(found) };
    },
    async readAppointments(query) {
      clinic.counts.lists += 1;
      if (clinic.listError !== null) throw clinic.listError;
      return snapshotOf(clinic, query);
    },
    readAppointment: readingVisits(async (id) => {
      clinic.counts.lookups += 1;
      if (clinic.lookupsFail) throw unavailable();
      return lookUp(clinic, id);
    }),
    invalidate() {},
    async setStatus(id, status) {
      clinic.counts.writes += 1;
      if (clinic.writeError !== null) throw clinic.writeError;
      const found = clinic.appointments.get(id);
      if (found !== undefined) clinic.appointments.set(id, { ...found, status });
      if (clinic.writeAnswerIsLost) throw lostAnswer();
    },
  };
  return clinic;
}

function listOf<Source extends { id: string }>(list: readonly Source[], isPartial = false): Snapshot<Source> {
  const records = new Map(list.map((one) => [one.id, structuredClone(one)]));
  const content = { records, unusable: [], unidentified: 0 };
  return isPartial
    ? { ...content, completeness: 'partial', reason: 'end-unproved' }
    : { ...content, completeness: 'complete' };
}

/** Returned copies of each clinic's appointments, with their text at that time. */
const given = new WeakMap<ModelClinic, Map<string, { text: string; appointment: Appointment }>>();

/** Returns a copy; the previous copy while the appointment is unchanged, as in a process that caches its fetches. */
function asGivenBefore(clinic: ModelClinic, appointment: Appointment): Appointment {
  const copies = given.get(clinic) ?? new Map<string, { text: string; appointment: Appointment }>();
  given.set(clinic, copies);
  const text = JSON.stringify(appointment);
  const before = copies.get(appointment.id);
  if (before?.text === text) return before.appointment;
  const copy = structuredClone(appointment);
  copies.set(appointment.id, { text, appointment: copy });
  return copy;
}

function snapshotOf(
  clinic: ModelClinic,
  { window, agendaIds }: { window: TimeWindow; agendaIds: readonly string[] | null },
): AppointmentSnapshot {
  const listed = [...clinic.appointments.values()].filter(
    ({ id, agendaId, agendaIds: named = [agendaId], status, time }) =>
      !clinic.unlisted.has(id) &&
      (agendaIds === null || named.some((one) => agendaIds.includes(one))) &&
      !(clinic.hidesCancelled && status === 'cancelled') &&
      time.startAt < window.toAt &&
      time.endAt > window.fromAt,
  );
  const rows = listed.slice(0, clinic.truncatedAfter ?? listed.length);
  const usable = rows.filter(({ id }) => !clinic.unusable.has(id));
  const content = {
    window,
    agendaIds: agendaIds === null ? null : [...agendaIds],
    records: new Map(usable.map((appointment) => [appointment.id, asGivenBefore(clinic, appointment)])),
    unusable: [
      ...rows.filter(({ id }) => clinic.unusable.has(id)).map(({ id }) => badTime(id)),
      ...[...clinic.tombstones].map(tombstone),
    ],
    unidentified: 0,
    pages: 1,
    requests: 1,
    repeated: 0,
  };
  return clinic.truncatedAfter === null
    ? { ...content, completeness: 'complete' }
    : { ...content, completeness: 'partial', reason: 'total-mismatch' };
}

function lookUp(clinic: ModelClinic, id: string): Lookup<Appointment> {
  const found = clinic.appointments.get(id);
  if (found === undefined) return { absent: true };
  return clinic.unusable.has(id) ? { unusable: badTime(id) } : { found: structuredClone(found) };
}

function badTime(recordId: string) {
  return { recordId, code: 'bad-time', field: 'startsAt' };
}

function tombstone(recordId: string) {
  return { recordId, code: 'tombstone', field: 'status', isTombstone: true as const };
}

function unavailable(): MirrorError {
  return new MirrorError('the clinic is away', { actor: 'remote', code: 'server-error', retry: 'later', status: 503 });
}

function lostAnswer(): MirrorError {
  return new MirrorError('no answer came', { actor: 'remote', code: 'no-answer', retry: 'later', ambiguous: true });
}
