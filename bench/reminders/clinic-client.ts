import { MirrorError } from '../../src/core/model/errors.ts';
import type { Agenda, Appointment, Location, Patient } from '../../src/core/model/records.ts';
import type { ClinicSource } from '../../src/domain/clinic-requests.ts';
import type { ClinicAnswer, ClinicQuestion } from './clinic-server.ts';
import { AGENDAS, PROMISE, type TrueAppointment, type TruePatient } from './world-plan.ts';

const APPOINTMENT_MS = 1_800_000;

/** The clinic of one tenant, as a worker sees it. @param onAnswer told the simulated moment of each answer */
/** No CRM is fed in the simulation. */
const NOBODY = { completeness: 'complete' as const, records: new Map(), unusable: [], unidentified: 0 };

export function createClinicClient(url: string, tenant: string, onAnswer: (now: number) => void): ClinicSource {
  const own = Object.entries(AGENDAS).filter(([, agenda]) => agenda.tenant === tenant);
  const agendas: Agenda[] = own.map(([id]) => ({ id, name: id, locationId: `in-${id}`, isActive: true }));
  const locations: Location[] = own.map(([id, { zone }]) => ({ id: `in-${id}`, name: id, address: null, zone }));
  const ask = async (question: ClinicQuestion, signal: AbortSignal): Promise<ClinicAnswer> => {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(question), signal });
    if (!response.ok) throw away(response.status);
    const answer = (await response.json()) as ClinicAnswer;
    onAnswer(answer.now);
    return answer;
  };
  return {
    tenantId: async () => tenant,
    pageUrl: null,
    remarks: () => [],
    invalidate() {},
    agendas: async () => agendas,
    cachedAgendas: () => agendas,
    locations: async () => locations,
    treatments: async () => [],
    patients: async () => [],
    async readAppointments({ window }, signal) {
      const answer = await ask({ tenant, ask: 'list', fromAt: window.fromAt, toAt: window.toAt }, signal);
      const rows = 'list' in answer ? answer.list : [];
      const records = new Map(rows.map((row) => [row.id, appointmentOf(row)]));
      const costs = { pages: 1, requests: 1, repeated: 0 };
      const content = { window, agendaIds: null, records, unusable: [], unidentified: 0, ...costs };
      return 'isWhole' in answer && answer.isWhole
        ? { ...content, completeness: 'complete' }
        : { ...content, completeness: 'partial', reason: 'total-mismatch' };
    },
    async readAppointment(id, signal) {
      const answer = await ask({ tenant, ask: 'appointment', id }, signal);
      const row = 'appointment' in answer ? answer.appointment : null;
      if (row === null) return { absent: true };
      return row.isDeleted === true ? { absent: true, deleted: appointmentOf(row) } : { found: appointmentOf(row) };
    },
    async readPatient(id, signal) {
      const answer = await ask({ tenant, ask: 'patient', id }, signal);
      const row = 'patient' in answer ? answer.patient : null;
      if (row === null) return { absent: true };
      const { mergedInto } = row;
      return mergedInto === undefined ? { found: patientOf(row) } : { absent: true, mergedInto };
    },
    readPatients: async () => NOBODY,
    readInvoices: async () => NOBODY,
    readInvoice: async () => ({ absent: true }),
    async setStatus() {
      throw new Error('no patient answers in the simulation');
    },
  };
}

function appointmentOf({ id, agendaId, patientId, startAt, status, updatedAt }: TrueAppointment): Appointment {
  return {
    id,
    agendaId,
    locationId: null,
    patientId,
    patient: null,
    treatmentId: null,
    time: { kind: 'timed', startAt, endAt: startAt + APPOINTMENT_MS },
    status,
    rawStatus: status,
    updatedAt,
  };
}

function patientOf({ id, phone, email, language, agreed, isActive }: TruePatient): Patient {
  const consents = { [PROMISE.consent]: agreed };
  return {
    id,
    firstName: 'Anna',
    lastName: 'Verdi',
    phone: null,
    mobilePhone: phone,
    email,
    language,
    consents,
    isActive,
    taxCode: null,
    birthDate: null,
    gender: null,
    address: null,
    updatedAt: null,
  };
}

function away(status: number): MirrorError {
  return new MirrorError('the clinic is away', { actor: 'remote', code: 'server-error', retry: 'later', status });
}
