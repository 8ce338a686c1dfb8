import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { compileAgendaRows, compileLocationRows, compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { askInZones, createZoneCache } from '../../../src/clinic/read/place-zones.ts';
import { isLocalFormat, readOne } from '../../../src/clinic/read/reading.ts';
import { createReadingCalls } from '../../../src/clinic/read/reading-calls.ts';
import { ReadingMemory } from '../../../src/clinic/read/reading-memory.ts';
import { readSnapshot } from '../../../src/clinic/read/snapshot.ts';
import { createAccountCalls } from '../../../src/clinic/read/users.ts';
import type { ClinicProfile } from '../../../src/clinic/schema/profile.ts';
import { createTenantSource } from '../../../src/clinic/tenant-source.ts';
import { createAppointmentCalls } from '../../../src/clinic/write/appointment-calls.ts';
import { CacheBudget } from '../../../src/core/model/cache.ts';
import type { Appointment, InvalidRow } from '../../../src/core/model/records.ts';
import { type Tries, tryCases } from '../../support/tried.ts';
import { openClient, profileOf, unhurried } from '../open-client.ts';
import { BASE_URL, speakIn, tenantIdsIn } from './clinic.ts';
import { anyForm, type Form } from './form.ts';
import { AGENDA_IDS, anyMeant, isFlags, type Meant, type MeantAppointment, spanOf, tellable } from './meant.ts';
import { profileIn } from './profile.ts';
import { locationOfRow, zoneNameOf } from './row-form.ts';
import {
  agendasIn,
  appointmentIn,
  FOREIGN_TENANT,
  idIn,
  lastNameOf,
  locationsIn,
  patientIn,
  TENANT,
  type ToldLists,
} from './told.ts';
import { TENANT_NAME, tenantsAt } from './user-form.ts';

const DAY_MS = 86_400_000;
/** CLINIC_FORMS=20000 tries as many combinations; without the variable a busy host tries fewer. */
const COMBINATIONS: Tries = { least: 80, most: 150, forMs: 20_000 };

const WINDOW = fc
  .record({ from: fc.integer({ min: -3, max: 50 }), days: fc.integer({ min: 1, max: 45 }) })
  .map(({ from, days }) => {
    const fromAt = Date.parse('2026-03-01T12:00:00Z') + from * DAY_MS;
    return { fromAt, toAt: fromAt + days * DAY_MS };
  });
const AGENDAS = fc.constantFrom(null, AGENDA_IDS, AGENDA_IDS.slice(1), []);

function revealedIn(form: Form, { appointments, patients }: Meant): ToldLists {
  const told: ToldLists = {
    appointments: appointments.map((one) => appointmentIn(form, one, TENANT)),
    patients: patients.map((one) => patientIn(form, one, TENANT)),
    agendas: agendasIn(form, TENANT),
    locations: locationsIn(form, TENANT),
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

/** The record that the daemon should read for a meant appointment. */
function recordOf(form: Form, meant: MeantAppointment) {
  const { id, agendaId, patientId, firstName, status, updatedAt } = meant;
  const patient = patientId === null ? null : String(idIn(form, patientId));
  const { startAt, endAt } = spanOf(meant, zoneNameOf(form, meant));
  const location = locationOfRow(form, id);
  const lastName = form.rows.fullName === null ? null : lastNameOf(id);
  const isNamed = patient !== null && (firstName ?? lastName) !== null;
  const kind = meant.minute === null ? 'all-day' : 'timed';
  return {
    id: String(idIn(form, id)),
    agendaId: String(idIn(form, agendaId)),
    patientId: patient,
    locationId: location === null ? null : String(idIn(form, location)),
    patient: isNamed ? { id: patient, firstName, lastName } : null,
    time: { kind, startAt, endAt },
    status,
    updatedAt,
  };
}

function essence({ id, agendaId, locationId, patientId, patient, time, status, updatedAt }: Appointment) {
  const { kind, startAt, endAt } = time;
  return { id, agendaId, locationId, patientId, patient, time: { kind, startAt, endAt }, status, updatedAt };
}

function byId<One extends { id: string }>(records: Iterable<One>): One[] {
  return [...records].sort((one, other) => one.id.localeCompare(other.id));
}

/** A clinic that speaks a form, and what is read of it under the profile for that form. */
function open(form: Form, profile: ClinicProfile, meant: Meant) {
  const clinic = speakIn(form, revealedIn(form, meant));
  const { context } = openClient(BASE_URL, profile, { http: clinic.http });
  const tenantId = String(idIn(form, TENANT));
  return { clinic, context, tenantId, inZones: askerInZones(context, tenantId) };
}

/** Reads with the zones of places, as the daemon does. */
function askerInZones(context: ReturnType<typeof openClient>['context'], tenantId: string) {
  const { profile } = context;
  const agendas = createReadingCalls(context, 'agendas', compileAgendaRows(profile));
  const locations = createReadingCalls(context, 'locations', compileLocationRows(profile));
  const load = async (signal: AbortSignal) => ({
    agendas: (await gather(agendas.list(tenantId, [], signal))).records,
    locations: (await gather(locations.list(tenantId, [], signal))).records,
  });
  const isLocal = isLocalFormat(profile.appointments.window.format);
  const question = { stored: createZoneCache(), load, usual: profile.zone, isLocal };
  return <Answer>(ask: Parameters<typeof askInZones<Answer>>[2]) => askInZones(question, unhurried(), ask);
}

/** All pages of a catalogue. */
async function gather<Model>(pages: AsyncIterable<{ records: Model[]; unusable: InvalidRow[] }>) {
  const all = { records: [] as Model[], unusable: [] as InvalidRow[] };
  for await (const { records, unusable } of pages) {
    all.records.push(...records);
    all.unusable.push(...unusable);
  }
  return all;
}

type Opened = ReturnType<typeof open>;
type Question = Pick<Parameters<typeof readSnapshot>[1], 'window' | 'agendaIds' | 'memory'>;

async function expectAppointments(form: Form, meant: Meant, opened: Opened, asked: Question) {
  const { clinic, context, tenantId, inZones } = opened;
  let before = clinic.toldTwice;
  let isAgain = false;
  const agendaIds = asked.agendaIds?.map((id) => String(idIn(form, id))) ?? null;
  const snapshot = await inZones((places) => {
    before = clinic.toldTwice;
    clinic.stones.clear();
    if (isAgain) asked.memory?.distrust();
    isAgain = true;
    return readSnapshot(context, { ...asked, agendaIds, tenantId, siteZones: places, signal: unhurried() });
  });
  const wanted = meant.appointments.filter((one) => {
    const { startAt, endAt } = spanOf(one, zoneNameOf(form, one));
    const isIn = startAt < asked.window.toAt && endAt > asked.window.fromAt;
    return isIn && one.isGone !== true && (asked.agendaIds === null || asked.agendaIds.includes(one.agendaId));
  });
  expect(byId([...snapshot.records.values()].map(essence))).toEqual(byId(wanted.map((one) => recordOf(form, one))));
  const isForeign = snapshot.unusable.some(({ code }) => code === 'wrong-tenant');
  expectTombstones(
    form,
    clinic.stones,
    snapshot.unusable.filter(({ code }) => code !== 'wrong-tenant'),
  );
  expect(snapshot).toMatchObject(
    isForeign ? { completeness: 'partial', reason: 'wrong-tenant' } : { completeness: 'complete' },
  );
  if (asked.memory === undefined) expect(snapshot.repeated).toBe(clinic.toldTwice - before);
  return snapshot;
}

/** The unusable rows must be exactly the tombstones of the clinic. */
function expectTombstones(form: Form, stones: Iterable<string>, unusable: readonly InvalidRow[]): void {
  expect(unusable.map(({ recordId, code, isTombstone }) => [recordId, code, isTombstone]).sort()).toEqual(
    [...stones].map((id) => [String(idIn(form, id)), 'tombstone', true]).sort(),
  );
}

/** The compared fields of a patient. */
interface Known {
  id: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  phone: string | null;
  birthDate: string | null;
  isActive: boolean | null;
}

async function expectCatalogues(form: Form, meant: Meant, { context, tenantId }: Opened) {
  const isGone = ({ isGone }: { isGone?: boolean }) => form.rows.tombstones !== 'cancelled' && isGone === true;
  const there = meant.patients.filter((one) => !isGone(one));
  const calls = createReadingCalls(context, 'patients', compilePatientRows(context.profile));
  const { records: patients, unusable } = await gather(calls.list(tenantId, [], unhurried()));
  expectTombstones(
    form,
    meant.patients.filter(isGone).map(({ id }) => id),
    unusable,
  );
  const stored = ({ id, firstName, lastName, email, phone, birthDate, isActive }: Known) => {
    return { id, firstName, lastName, email, phone, birthDate, isActive };
  };
  const wanted = there.map((one) => stored({ ...one, id: String(idIn(form, one.id)) }));
  expect(patients.map(stored)).toEqual(wanted);
  const asTold = await gather(createReadingCalls(context, 'patients').list(tenantId, [], unhurried()));
  const ids = new Set(wanted.map(({ id }) => id));
  expect(asTold.records.filter(({ id }) => ids.has(id)).map((one) => stored(one))).toEqual(wanted);
  expect(patients.map(({ consents }) => consents.mail ?? null)).toEqual(there.map(({ agreesToMail }) => agreesToMail));
  const { records: agendas, unusable: none } = await gather(
    createReadingCalls(context, 'agendas').list(tenantId, [], unhurried()),
  );
  expect(none).toEqual([]);
  expect(agendas.map(({ id, doctorId, isActive }) => ({ id, doctorId, isActive }))).toEqual(
    AGENDA_IDS.map((id) => ({
      id: String(idIn(form, id)),
      doctorId: String(idIn(form, `9${id}`)),
      isActive: id !== '13',
    })),
  );
}

/** The tenants of the user are those that the clinic told, and the work is in the one that is meant. */
async function expectTenants(form: Form, { context, tenantId }: Opened) {
  const user = await createAccountCalls(context).userInfo(unhurried());
  const ids = tenantIdsIn(form).map(String);
  const name = tenantsAt(form.user).name === null || !form.user.hasName ? null : TENANT_NAME;
  expect([...user.tenants].sort((one, other) => one.id.localeCompare(other.id))).toEqual(
    ids.toSorted((one, other) => one.localeCompare(other)).map((id) => ({ id, name })),
  );
  expect(user.subject).toBe(form.user.above === null ? null : 'u1');
  const source = createTenantSource(context, ids.length > 1 ? tenantId : null);
  expect(await source.tenantId(unhurried())).toBe(tenantId);
}

/** Numeric dates, and numbers in strings, are read-only; writes go to the first of several paths. */
function isWritable({ times, apart, hasDetours, rows }: Form): boolean {
  const isNumber = rows.spelling.isOnDates && rows.spelling.isNumber && apart?.date === 'date';
  return times !== 'epoch-text' && times !== 'digits' && apart?.date !== 'epoch' && !isNumber && !hasDetours;
}

/** A record whose row marks a deletion is absent when read by id. */
async function expectAbsent(meant: Meant, { context, tenantId }: Opened, form: Form) {
  const gone = meant.appointments.find(({ isGone }) => isGone === true);
  if (gone === undefined) return;
  const map = context.compiled.of(compileAppointmentRows);
  const { read } = createReadingCalls(context, 'appointments', map);
  expect(await read(tenantId, String(idIn(form, gone.id)), unhurried())).toMatchObject({ absent: true });
}

/** Moves the first timed appointment to another day and agenda, and confirms it: the clinic is sent what it would have told itself. */
async function expectWrites(form: Form, meant: Meant, opened: Opened) {
  const { clinic, context, tenantId, inZones } = opened;
  const one = meant.appointments.find(({ minute, isGone }) => minute !== null && isGone !== true);
  await expectAbsent(meant, opened, form);
  if (one === undefined || !isWritable(form)) return;
  const status = isFlags(form.status) ? one.status : 'confirmed';
  const wanted = { ...one, date: '2026-04-20', agendaId: '12', status };
  const id = String(idIn(form, one.id));
  const { startAt, endAt } = spanOf(wanted, zoneNameOf(form, wanted));
  const values = { agendaId: String(idIn(form, '12')), start: startAt, ...(form.end === 'end' && { end: endAt }) };
  const calls = createAppointmentCalls(context);
  await calls.update(tenantId, id, values, unhurried());
  if (!isFlags(form.status)) await calls.setStatus(tenantId, id, { status }, unhurried());
  const map = context.compiled.of(compileAppointmentRows);
  const found = await inZones((places) =>
    readOne<Appointment>(context, { list: 'appointments', tenantId, id, signal: unhurried() }, (row) =>
      map(row, places),
    ),
  );
  // The clinic itself would update the time of change, in the zone of the other agenda.
  const isElsewhere = zoneNameOf(form, one) !== zoneNameOf(form, wanted);
  const timeOfChange = isElsewhere && { updatedAt: null };
  expect('found' in found && { ...essence(found.found), ...timeOfChange }).toEqual({
    ...recordOf(form, wanted),
    ...timeOfChange,
  });
  expect(clinic.refusals).toEqual([]);
}

/** Changes the clinic between two reads: cancels the last appointment, adds one, or removes the first. */
function changed(meant: Meant, form: Form): Meant {
  const { appointments } = meant;
  const last = appointments.at(-1);
  if (last === undefined) return meant;
  const happened = [
    [...appointments.slice(0, -1), { ...last, status: 'cancelled' as const }],
    [...appointments, { ...last, id: '1999' }],
    appointments.slice(1),
    [...appointments.slice(0, -1), { ...last, isGone: form.rows.tombstones !== 'none' }],
  ][appointments.length % 4];
  return tellable(form, { ...meant, appointments: happened ?? [] });
}

async function expectReadAgain(form: Form, meant: Meant, opened: Opened, asked: Question) {
  const { clinic } = opened;
  const memory = new ReadingMemory<Appointment>(new CacheBudget(10_000));
  const { completeness } = await expectAppointments(form, meant, opened, { ...asked, memory });
  const { notModified, followed } = clinic;
  await expectAppointments(form, meant, opened, { ...asked, memory });
  // Wherever the total is: a page with a successor is sent once.
  if (form.hasEtags && completeness === 'complete')
    expect(clinic.notModified - notModified).toBeGreaterThanOrEqual(clinic.followed - followed);
  const news = changed(meant, form);
  clinic.lists = revealedIn(form, news);
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
      await expectTenants(form, opened());
      await expectAppointments(form, meant, opened(), asked);
      await expectCatalogues(form, meant, opened());
      await expectReadAgain(form, meant, opened(), asked);
      await expectWrites(form, meant, opened());
    }),
    COMBINATIONS,
    process.env.CLINIC_FORMS,
  );
});
