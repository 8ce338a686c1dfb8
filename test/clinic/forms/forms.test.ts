import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { createReadingCalls } from '../../../src/clinic/read/reading-calls.ts';
import { ReadingMemory } from '../../../src/clinic/read/reading-memory.ts';
import { readSnapshot } from '../../../src/clinic/read/snapshot.ts';
import type { ClinicProfile } from '../../../src/clinic/schema/profile.ts';
import { createAppointmentCalls } from '../../../src/clinic/write/appointment-calls.ts';
import { KeptRoom } from '../../../src/model/kept.ts';
import type { Appointment } from '../../../src/model/records.ts';
import { type Tries, tryCases } from '../../support/tried.ts';
import { openClient, profileOf, unhurried } from '../open-client.ts';
import { BASE_URL, speakIn } from './clinic.ts';
import { anyForm, type Form } from './form.ts';
import { AGENDA_IDS, anyMeant, isFlags, type Meant, type MeantAppointment, spanOf, tellable } from './meant.ts';
import { profileIn } from './profile.ts';
import { agendasIn, appointmentIn, FOREIGN_TENANT, idIn, patientIn, TENANT, type ToldLists } from './told.ts';

const DAY_MS = 86_400_000;
/** CLINIC_FORMS=20000 tries as many combinations; without that wish a busy machine makes them fewer. */
const COMBINATIONS: Tries = { least: 100, most: 300, forMs: 20_000 };

const WINDOW = fc
  .record({ from: fc.integer({ min: -3, max: 50 }), days: fc.integer({ min: 1, max: 45 }) })
  .map(({ from, days }) => {
    const fromAt = Date.parse('2026-03-01T12:00:00Z') + from * DAY_MS;
    return { fromAt, toAt: fromAt + days * DAY_MS };
  });
const AGENDAS = fc.constantFrom(null, AGENDA_IDS, AGENDA_IDS.slice(1), []);

function toldIn(form: Form, { appointments, patients }: Meant): ToldLists {
  const told: ToldLists = {
    appointments: appointments.map((one) => appointmentIn(form, one, TENANT)),
    patients: patients.map((one) => patientIn(form, one, TENANT)),
    agendas: agendasIn(form, TENANT),
  };
  if (!hasForeign(form)) return told;
  const foreign = {
    agendaId: '11',
    patientId: null,
    firstName: null,
    date: '2026-03-20',
    minute: 600,
    updatedAt: null,
  };
  told.appointments.splice(
    2,
    0,
    appointmentIn(form, { ...foreign, id: '9999', length: 30, status: 'booked' }, FOREIGN_TENANT),
  );
  return told;
}

function hasForeign({ hasForeign, tenant }: Form): boolean {
  return hasForeign && tenant !== 'none';
}

/** The record that a meant appointment is, as the daemon has it. */
function recordOf(form: Form, meant: MeantAppointment) {
  const { id, agendaId, patientId, firstName, status, updatedAt } = meant;
  const patient = patientId === null ? null : String(idIn(form, patientId));
  const { startAt, endAt } = spanOf(meant, form.zone);
  const kind = meant.minute === null ? 'all-day' : 'timed';
  return {
    id: String(idIn(form, id)),
    agendaId: String(idIn(form, agendaId)),
    patientId: patient,
    patient: patient === null || firstName === null ? null : { id: patient, firstName, lastName: null },
    time: { kind, startAt, endAt },
    status,
    updatedAt,
  };
}

function essence({ id, agendaId, patientId, patient, time, status, updatedAt }: Appointment) {
  const { kind, startAt, endAt } = time;
  return { id, agendaId, patientId, patient, time: { kind, startAt, endAt }, status, updatedAt };
}

function byId<One extends { id: string }>(records: Iterable<One>): One[] {
  return [...records].sort((one, other) => one.id.localeCompare(other.id));
}

/** A clinic that speaks a form, and what is read of it under the profile for that form. */
function open(form: Form, profile: ClinicProfile, meant: Meant) {
  const clinic = speakIn(form, toldIn(form, meant));
  const { context } = openClient(BASE_URL, profile, { http: clinic.http });
  return { clinic, context, tenantId: String(idIn(form, TENANT)) };
}

type Opened = ReturnType<typeof open>;
type Question = Pick<Parameters<typeof readSnapshot>[1], 'window' | 'agendaIds' | 'memory'>;

async function expectAppointments(form: Form, meant: Meant, { clinic, context, tenantId }: Opened, asked: Question) {
  const before = clinic.toldTwice;
  const agendaIds = asked.agendaIds?.map((id) => String(idIn(form, id))) ?? null;
  const snapshot = await readSnapshot(context, { ...asked, agendaIds, tenantId, signal: unhurried() });
  const wanted = meant.appointments.filter((one) => {
    const { startAt, endAt } = spanOf(one, form.zone);
    const isIn = startAt < asked.window.toAt && endAt > asked.window.fromAt;
    return isIn && (asked.agendaIds === null || asked.agendaIds.includes(one.agendaId));
  });
  expect(byId([...snapshot.records.values()].map(essence))).toEqual(byId(wanted.map((one) => recordOf(form, one))));
  expect(snapshot.setAside.map(({ code }) => code).filter((code) => code !== 'wrong-tenant')).toEqual([]);
  const isForeign = snapshot.setAside.length > 0;
  expect(snapshot).toMatchObject(
    isForeign ? { completeness: 'partial', reason: 'wrong-tenant' } : { completeness: 'complete' },
  );
  if (asked.memory === undefined) expect(snapshot.repeated).toBe(clinic.toldTwice - before);
  return snapshot;
}

/** What is compared of patients. */
interface Known {
  id: string;
  lastName: string | null;
  birthDate: string | null;
  isActive: boolean | null;
}

async function expectCatalogues(form: Form, meant: Meant, { context, tenantId }: Opened) {
  const gather = async <Model>(pages: AsyncIterable<{ records: Model[]; setAside: unknown[] }>) => {
    const records: Model[] = [];
    for await (const page of pages) {
      expect(page.setAside).toEqual([]);
      records.push(...page.records);
    }
    return records;
  };
  const patients = await gather(createReadingCalls(context, 'patients').list(tenantId, [], unhurried()));
  const known = ({ id, lastName, birthDate, isActive }: Known) => ({ id, lastName, birthDate, isActive });
  expect(patients.map(known)).toEqual(meant.patients.map((one) => known({ ...one, id: String(idIn(form, one.id)) })));
  const agreed = patients.map((one) => (Reflect.get(one, 'consents') as { mail?: boolean }).mail ?? null);
  expect(agreed).toEqual(meant.patients.map(({ agreesToMail }) => agreesToMail));
  const agendas = await gather(createReadingCalls(context, 'agendas').list(tenantId, [], unhurried()));
  expect(agendas.map(({ id, doctorId, isActive }) => ({ id, doctorId, isActive }))).toEqual(
    AGENDA_IDS.map((id) => ({
      id: String(idIn(form, id)),
      doctorId: String(idIn(form, `9${id}`)),
      isActive: id !== '13',
    })),
  );
}

/** Dates that are numbers, and numbers in texts, are read alone; and what is written goes to the first of several paths. */
function isWritable({ times, apart, hasDetours }: Form): boolean {
  return times !== 'epoch-text' && apart?.date !== 'epoch' && !hasDetours;
}

/** Moves the first timed appointment to another day and agenda, and confirms it: the clinic is sent what it would have told itself. */
async function expectWrites(form: Form, meant: Meant, { clinic, context, tenantId }: Opened) {
  const one = meant.appointments.find(({ minute }) => minute !== null);
  if (one === undefined || !isWritable(form)) return;
  const status = isFlags(form.status) ? one.status : 'confirmed';
  const wanted = { ...one, date: '2026-04-20', agendaId: '12', status };
  const id = String(idIn(form, one.id));
  const { startAt, endAt } = spanOf(wanted, form.zone);
  const values = { agendaId: String(idIn(form, '12')), start: startAt, ...(form.end === 'end' && { end: endAt }) };
  const calls = createAppointmentCalls(context);
  await calls.update(tenantId, id, values, unhurried());
  if (!isFlags(form.status)) await calls.setStatus(tenantId, id, { status }, unhurried());
  const { read } = createReadingCalls(context, 'appointments', context.compiled.of(compileAppointmentRows));
  const found = await read(tenantId, id, unhurried());
  expect('found' in found && essence(found.found)).toEqual(recordOf(form, wanted));
  expect(clinic.refusals).toEqual([]);
}

/** What happens at the clinic between two readings: the last one is cancelled, another one comes, or the first one goes. */
function changed(meant: Meant, form: Form): Meant {
  const { appointments } = meant;
  const last = appointments.at(-1);
  if (last === undefined) return meant;
  const happened = [
    [...appointments.slice(0, -1), { ...last, status: 'cancelled' as const }],
    [...appointments, { ...last, id: '1999' }],
    appointments.slice(1),
  ][appointments.length % 3];
  return tellable(form, { ...meant, appointments: happened ?? [] });
}

async function expectReadAgain(form: Form, meant: Meant, opened: Opened, asked: Question) {
  const { clinic } = opened;
  const memory = new ReadingMemory<Appointment>(new KeptRoom(10_000));
  await expectAppointments(form, meant, opened, { ...asked, memory });
  const news = changed(meant, form);
  clinic.lists = toldIn(form, news);
  await expectAppointments(form, news, opened, { ...asked, memory });
}

test('whatever form a clinic speaks, all that it means is read under a profile for it, and written as it would', async () => {
  await tryCases(
    'forms of clinics',
    fc.asyncProperty(anyForm, anyMeant, WINDOW, AGENDAS, async (form, any, window, agendaIds) => {
      const meant = tellable(form, any);
      const profile = profileOf(profileIn(form));
      const opened = () => open(form, profile, meant);
      const asked = { window, agendaIds };
      await expectAppointments(form, meant, opened(), asked);
      await expectCatalogues(form, meant, opened());
      await expectReadAgain(form, meant, opened(), asked);
      await expectWrites(form, meant, opened());
    }),
    COMBINATIONS,
    process.env.CLINIC_FORMS,
  );
});
