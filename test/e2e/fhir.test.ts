import { readFile } from 'node:fs/promises';
import type { Appointment } from '@medplum/fhirtypes';
import { expect, onTestFinished, test } from 'vitest';
import { status } from '../../src/operator/control/status.ts';
import { useRedis } from '../support/redis.ts';
import { type FhirServer, MOST_PER_PAGE, startFhirServer } from './support/fhir-server.ts';
import { cycleUntil, editTenant, type SmallWorld, shownEvents, startSmallWorld } from './support/small-world.ts';
import { useProfile } from './support/use-profile.ts';

const redis = useRedis();
const SHIPPED = new URL('../../config/profiles/fhir-r4.yaml', import.meta.url);
const HOUR_MS = 3_600_000;
const DOCTORS = ['dr-verdi', 'dr-neri'];
const ADDRESS = { line: ['Via Roma 1'], postalCode: '20121', city: 'Milano' };
const HIDDEN = new Set(['cancelled', 'entered-in-error']);

/** Fills the server with a clinic: two doctors with schedules, a location, patients and appointments of every status. */
async function fillClinic(fhir: FhirServer): Promise<void> {
  const put = (resource: Parameters<FhirServer['ask']>[2] & { id: string }) =>
    fhir.ask('PUT', `/${resource.resourceType}/${resource.id}`, resource);
  for (const id of DOCTORS) {
    await put({ resourceType: 'Practitioner', id, active: true, name: [{ family: id.slice(3), given: ['Ada'] }] });
    await put({ resourceType: 'Schedule', id: `schedule-${id}`, actor: [{ reference: `Practitioner/${id}` }] });
  }
  await put({ resourceType: 'Location', id: 'centro', name: 'Sede Centro', address: ADDRESS });
  for (let count = 0; count < 3; count += 1)
    await put({
      ...{ resourceType: 'Patient', id: `p${count}`, name: [{ family: 'Bianchi', given: ['Carla', 'Maria'] }] },
      telecom: [{ system: 'phone', use: 'mobile', value: `+39333000000${count}` }],
    });
  const statuses: Appointment['status'][] = ['booked', 'arrived', 'fulfilled', 'cancelled', 'noshow', 'pending'];
  const others: Appointment['status'][] = ['proposed', 'entered-in-error', 'waitlist', 'checked-in'];
  for (let count = 0; count < 40; count += 1)
    await put(appointmentOf(count, [...statuses, ...others][count % 10] as Appointment['status']));
  const { start: _start, end: _end, ...untimed } = appointmentOf(40, 'waitlist');
  await put({ ...untimed, id: 'waiting' });
}

/** Appointments have different hours in the days around now, and one of three UTC offsets. */
function appointmentOf(count: number, state: Appointment['status']): Appointment & { id: string } {
  const startAt = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS + (count - 8) * 5 * HOUR_MS;
  const written = (at: number) => {
    const zone = [0, 1, -5][count % 3] ?? 0;
    const local = new Date(at + zone * HOUR_MS).toISOString().slice(0, 19);
    return zone === 0 ? `${local}Z` : `${local}${zone < 0 ? '-' : '+'}0${Math.abs(zone)}:00`;
  };
  const doctor = DOCTORS[count % 2] ?? '';
  return {
    ...{ resourceType: 'Appointment', id: `visit-${count}`, status: state, start: written(startAt) },
    end: written(startAt + HOUR_MS / 2),
    participant: [
      { actor: { reference: 'Location/centro' }, status: 'accepted' },
      { actor: { reference: `Patient/p${count % 3}`, display: 'Carla Bianchi' }, status: 'accepted' },
      { actor: { reference: `Practitioner/${doctor}`, display: `Dr ${doctor}` }, status: 'accepted' },
    ],
  };
}

/** A world whose clinic is the FHIR server; the sandbox of the clinic only issues and checks tokens. */
async function startFhirWorld(fill: (fhir: FhirServer) => Promise<void>) {
  let world: SmallWorld | null = null;
  const fhir = await startFhirServer(async (authorization) => {
    const headers = { authorization, accept: 'application/json' };
    return (await fetch(`${world?.clinic.baseUrl}/v2/userinfo`, { headers })).status === 200;
  });
  onTestFinished(() => fhir.close());
  await fill(fhir);
  world = await startSmallWorld({
    ...{ redisUrl: redis.url, targets: ['google-calendar', 'google-calendar'], appointments: 0 },
    ...{ unchosenTenant: true, clinicClient: { baseUrl: fhir.url } },
    target: { title: 'initials', titleReason: 'the test looks at the names', fields: ['location', 'status'] },
  });
  onTestFinished(() => world?.close());
  await useProfile(world, await readFile(SHIPPED, 'utf8'));
  await editTenant(world, 'clinic-1', ({ targets }) => {
    for (const [at, target] of Object.values(targets).entries()) target.agendas = [DOCTORS[at] ?? ''];
  });
  await world.logIn();
  return { world, fhir };
}

/** Every calendar shows the times of its doctor's appointments. */
async function expectFollowed(world: SmallWorld, fhir: FhirServer): Promise<void> {
  expect(await shownTimes(world)).toEqual(await expectedTimes(fhir));
}

function expectedTimes(fhir: FhirServer): Promise<string[][]> {
  return Promise.all(DOCTORS.map((doctor) => timesOf(fhir, doctor)));
}

async function timesOf(fhir: FhirServer, doctor: string): Promise<string[]> {
  const wanted = (await fhir.appointments()).filter(
    ({ status: state, start, participant }) =>
      start !== undefined &&
      !HIDDEN.has(state) &&
      participant.some(({ actor }) => actor?.reference === `Practitioner/${doctor}`),
  );
  return wanted.map(({ start = '', end = '' }) => `${Date.parse(start)} ${Date.parse(end)}`).sort();
}

function shownTimes({ targets }: SmallWorld): Promise<string[][]> {
  return Promise.all(
    targets.map(async ({ read }) => (await read()).map(({ startAt, endAt }) => `${startAt} ${endAt}`).sort()),
  );
}

const COMPLETE = { error: null, snapshot: { completeness: 'complete' }, withheld: [], unusable: {} };

test('a FHIR R4 server is followed with the shipped profile: moved, cancelled, deleted and untimed appointments', async () => {
  const { world, fhir } = await startFhirWorld(fillClinic);
  expect((await world.cycle()).run).toMatchObject(COMPLETE);
  await expectFollowed(world, fhir);
  for (const shown of await shownTimes(world)) expect(shown.length).toBeGreaterThan(MOST_PER_PAGE);
  const connection = await redis.connect();
  for (const { summary, location } of await shownEvents(world, connection, 'clinic-1')) {
    expect([summary, location]).toEqual(['C. B.', 'Sede Centro, Via Roma 1, 20121 Milano']);
  }
  const lists = fhir.requests.filter((request) => request.startsWith('GET /fhir/R4/Appointment?'));
  expect(lists[0]).toMatch(/date=ge\d.*&date=lt\d.*&actor=Practitioner%2Fdr-verdi%2CPractitioner%2Fdr-neri/);
  expect(lists.length).toBeGreaterThan(4);

  const change = (id: number, changes: Partial<Appointment>) =>
    fhir.ask('PUT', `/Appointment/visit-${id}`, { ...appointmentOf(id, 'booked'), ...changes });
  const { start, end } = appointmentOf(61, 'booked');
  await change(10, { start: String(start), end: String(end) });
  await change(11, { status: 'cancelled' });
  await change(12, { status: 'entered-in-error' });
  const { start: _start, end: _end, ...untimed } = appointmentOf(20, 'waitlist');
  await fhir.ask('PUT', '/Appointment/visit-20', untimed);
  await fhir.ask('DELETE', '/Appointment/visit-21');
  const shared = appointmentOf(50, 'booked');
  shared.participant.push({ actor: { reference: `Practitioner/${DOCTORS[1]}` }, status: 'accepted' });
  await fhir.ask('PUT', '/Appointment/visit-50', shared);
  await cycleUntil(world, async () => {
    const [shown, expected] = [await shownTimes(world), await expectedTimes(fhir)];
    return JSON.stringify(shown) === JSON.stringify(expected);
  });
  expect(
    (await timesOf(fhir, DOCTORS[0] ?? '')).filter((time) => time.startsWith(`${Date.parse(shared.start ?? '')}`)),
  ).toHaveLength(1);

  for (const { proxy } of world.targets) proxy.forget();
  const { run, targets } = await world.cycle();
  expect(run).toMatchObject(COMPLETE);
  expect(targets.map(({ sync }) => sync)).toEqual(['in-sync', 'in-sync']);
  expect(world.targets.flatMap(({ proxy }) => proxy.requests)).toEqual([]);
  const { tenants, problems } = await status(world.opened().installation);
  expect([problems, tenants[0]?.targets.map(({ gaps }) => gaps)]).toEqual([[], [[], []]]);
  expect(fhir.requests.filter((request) => !request.startsWith('GET '))).toEqual([]);
});

test('a Bundle whose total announces more than its links lead to is partial, and removes nothing', async () => {
  const { world, fhir } = await startFhirWorld(fillClinic);
  await world.cycle();
  const before = await shownTimes(world);
  for (let id = 30; id < 40; id += 1) await fhir.ask('DELETE', `/Appointment/visit-${id}`);
  fhir.hidesNext = true;
  for (let cycles = 0; cycles < 2; cycles += 1) {
    const { run } = await world.cycle();
    expect(run.snapshot).toMatchObject({ completeness: 'partial', reason: 'total-mismatch' });
  }
  expect(await shownTimes(world)).toEqual(before);
});

test('a FHIR server without appointments is read completely, although its Bundles have no entries', async () => {
  const { world, fhir } = await startFhirWorld(async (server) => {
    for (const id of DOCTORS) {
      await server.ask('PUT', `/Practitioner/${id}`, { resourceType: 'Practitioner', id, name: [{ family: id }] });
    }
  });
  const { run, targets } = await world.cycle();
  expect(run).toMatchObject(COMPLETE);
  expect(targets.map(({ sync }) => sync)).toEqual(['in-sync', 'in-sync']);
  expect(await shownTimes(world)).toEqual([[], []]);
  await fhir.ask('PUT', '/Appointment/visit-1', appointmentOf(1, 'booked'));
  await world.cycle();
  await expectFollowed(world, fhir);
});
