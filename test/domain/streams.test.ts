import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { readStreamsInTurn } from '../../src/tenant/pull.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, pull, targetOf } from '../tenant/cycle.ts';
import { type CrmWorld, held, joined, openCrmWorld, patientOf } from '../tenant/world.ts';
import { appointmentOf, NOW } from './arbitraries.ts';

const redis = useRedis();
const open = (given: Parameters<typeof openCrmWorld>[1] = {}) => openCrmWorld(redis, given);

function admit(world: CrmWorld, ...ids: string[]) {
  world.clinic.patientList.push(...ids.map((id) => patientOf(id)));
}

function change(world: CrmWorld, id: string, changes: Parameters<typeof patientOf>[1]) {
  const list = world.clinic.patientList;
  list.splice(
    list.findIndex((patient) => patient.id === id),
    1,
    patientOf(id, changes),
  );
}

/** Runs a cycle after the patient list has become outdated. */
async function laterCycle(world: CrmWorld) {
  world.clock.now += 15 * MINUTE_MS;
  return cycle(world.tenant);
}

const names = (world: CrmWorld) =>
  held(world.contacts)
    .map(({ lastname }) => lastname)
    .sort();

describe('patients', () => {
  test('become contacts, each their own although they share a telephone, and a quiet cycle writes nothing', async () => {
    const world = open();
    admit(world, '1', '2', '3', '4');
    await cycle(world.tenant);
    expect(held(world.contacts)).toHaveLength(4);
    expect(held(world.contacts)[0]).toEqual({ firstname: 'Anna', lastname: 'Verdi 1', phone: '+393331234567' });
    const { operations } = world.contacts.calls;
    await laterCycle(world);
    expect(world.contacts.calls.operations).toBe(operations);
  });

  test('are read by the interval of the target, not with every cycle', async () => {
    const world = open();
    admit(world, '1');
    await cycle(world.tenant);
    admit(world, '2');
    world.clock.now += MINUTE_MS;
    await cycle(world.tenant);
    expect(names(world)).toEqual(['Verdi 1']);
    expect(world.clinic.counts.patients).toBe(1);
    await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 1', 'Verdi 2']);
  });

  test('who did not agree are left out, and the report counts them', async () => {
    const world = open();
    admit(world, '1', '2');
    change(world, '2', { consents: { marketing: false } });
    const run = await cycle(world.tenant);
    expect(names(world)).toEqual(['Verdi 1']);
    expect(run.targets.find(({ target }) => target === 'contacts')?.omitted).toEqual({ 'no-consent': 1 });
  });

  test.each([
    ['remove', ['Verdi 1']],
    ['keep', ['Verdi 1', 'Verdi 2']],
  ] as const)('who no longer agree: %s', async (withdrawn, left) => {
    const world = open({ contacts: { withdrawn } });
    admit(world, '1', '2');
    await cycle(world.tenant);
    change(world, '2', { consents: {}, firstName: 'Other' });
    await laterCycle(world);
    expect(names(world)).toEqual(left);
    expect(held(world.contacts).map(({ firstname }) => firstname)).not.toContain('Other');
  });

  test('that the clinic has closed remain, or are removed if configured', async () => {
    for (const [inactive, count] of [
      ['keep', 2],
      ['remove', 1],
    ] as const) {
      const world = openCrmWorld(redis, { contacts: { inactive } });
      admit(world, '1', '2');
      change(world, '2', { isActive: false });
      world.clock.now = NOW;
      await cycle(world.again({ id: `closed-${inactive}` }));
      expect(held(world.contacts)).toHaveLength(count);
    }
  });

  test('that are missing from a complete list are fetched singly before removal', async () => {
    const world = open();
    admit(world, '1', '2', '3');
    await cycle(world.tenant);
    world.clinic.patientList.splice(1, 1);
    const readPatient = world.clinic.readPatient.bind(world.clinic);
    world.clinic.readPatient = async (id) => (id === '2' ? { found: patientOf('2') } : readPatient(id, NEVER));
    await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 1', 'Verdi 2', 'Verdi 3']);
    world.clinic.readPatient = readPatient;
    await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 1', 'Verdi 2', 'Verdi 3']);
    await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 1', 'Verdi 3']);
  });

  test('that a list without a proved end leaves out are not removed', async () => {
    const world = open();
    admit(world, '1', '2');
    await cycle(world.tenant);
    world.clinic.patientList.pop();
    world.clinic.patientsArePartial = true;
    await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 1', 'Verdi 2']);
  });

  test('of whom too many vanish at once are held, as with appointments', async () => {
    const world = open();
    admit(world, ...Array.from({ length: 40 }, (_, index) => `${index}`));
    await cycle(world.tenant);
    world.clinic.patientList.splice(0, 20);
    await laterCycle(world);
    expect(held(world.contacts)).toHaveLength(40);
    expect(await world.tenant.holds.list()).toMatchObject([{ target: 'contacts', kind: 'vanished', state: 'open' }]);
  });

  test('that can’t be read leave the contacts unchanged, and the report contains the reason', async () => {
    const world = open();
    admit(world, '1');
    await cycle(world.tenant);
    const refused = { actor: 'authorization', code: 'missing-claim', retry: 'never', status: 403 } as const;
    world.clinic.patientsError = new MirrorError('refused', { ...refused, remedy: 'ask for the scope patients' });
    const run = await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 1']);
    expect(run.withheld).toEqual([{ part: 'patients', code: 'missing-claim', remedy: 'ask for the scope patients' }]);
    expect(run.error).toBeNull();
  });

  test('are the same for a process that begins again: no write, no read of the CRM', async () => {
    const world = open();
    admit(world, '1', '2');
    await cycle(world.tenant);
    const { operations, read } = world.contacts.calls;
    await cycle(world.again());
    expect(world.contacts.calls).toMatchObject({ operations, read });
  });

  test('are found again in the CRM when all state is lost', async () => {
    const world = open();
    admit(world, '1', '2');
    await cycle(world.tenant);
    await redis.connect().flushall();
    const { operations } = world.contacts.calls;
    await cycle(world.again());
    expect(held(world.contacts)).toHaveLength(2);
    expect(world.contacts.calls.operations).toBe(operations);
  });

  test('are not planned by a process that knows an older list than was planned by last, unless the other one is gone', async () => {
    const world = open();
    admit(world, '1');
    const other = world.again();
    await cycle(other);
    world.clock.now += 14 * MINUTE_MS;
    admit(world, '2');
    await cycle(world.tenant);
    world.clock.now += 30_000;
    change(world, '2', { consents: { marketing: false } });
    await cycle(other);
    expect(names(world)).toEqual(['Verdi 1', 'Verdi 2']);
    expect(world.clinic.counts.patients).toBe(2);
    await readStreamsInTurn(other, { takesOver: true }, NEVER);
    await cycle(other);
    expect(names(world)).toEqual(['Verdi 1']);
    expect(world.clinic.counts.patients).toBe(3);
  });
});

describe('appointments', () => {
  function book(
    world: CrmWorld,
    id: string,
    patientId: string | null,
    changes: Parameters<typeof appointmentOf>[1] = {},
  ) {
    world.clinic.appointments.set(id, { ...appointmentOf(id, changes), patientId });
  }

  test('become activities of their patients’ contacts', async () => {
    const world = open();
    admit(world, '1', '2');
    book(world, 'a', '1');
    book(world, 'b', '2');
    await cycle(world.tenant);
    const { identity } = targetOf(world.tenant, 'contacts');
    expect(joined(world.activities)).toEqual([identity.key('1', 0), identity.key('2', 0)]);
    expect(held(world.activities)[0]).toEqual({ title: 'Visit', status: 'booked' });
    const { operations } = world.activities.calls;
    await laterCycle(world);
    expect(world.activities.calls.operations).toBe(operations);
  });

  test('are planned as soon as their contact waits to be written', async () => {
    const world = open();
    admit(world, '1');
    await pull(world.tenant);
    book(world, 'a', '1');
    const run = await pull(world.tenant);
    expect(run.targets.find(({ target }) => target === 'activities')?.planned).toEqual({ new: 1 });
  });

  test('without a patient, of cancelled bookings and of excluded patients are no activities', async () => {
    const world = open();
    admit(world, '1', '2');
    change(world, '2', { consents: {} });
    book(world, 'blocked', null);
    book(world, 'cancelled', '1', { status: 'cancelled' });
    book(world, 'left-out', '2');
    book(world, 'unknown', 'newer-than-the-list');
    const run = await cycle(world.tenant);
    expect(held(world.activities)).toEqual([]);
    expect(run.targets.find(({ target }) => target === 'activities')?.omitted).toEqual({
      'blocked-time': 1,
      status: 1,
      'patient-left-out': 1,
      'patient-unknown': 1,
    });
  });

  test('go with the contact when the consent is withdrawn', async () => {
    const world = open();
    admit(world, '1');
    book(world, 'a', '1');
    await cycle(world.tenant);
    change(world, '1', { consents: { marketing: false } });
    await laterCycle(world);
    expect([held(world.contacts), held(world.activities)]).toEqual([[], []]);
  });

  test('follow the appointment: moved, given to another patient, cancelled', async () => {
    const world = open();
    admit(world, '1', '2');
    book(world, 'a', '1');
    await cycle(world.tenant);
    book(world, 'a', '2', { inHours: 48, status: 'confirmed' });
    await cycle(world.tenant);
    expect(joined(world.activities)).toEqual([targetOf(world.tenant, 'contacts').identity.key('2', 0)]);
    expect(held(world.activities)).toEqual([{ title: 'Visit', status: 'confirmed' }]);
    book(world, 'a', '2', { status: 'cancelled' });
    await cycle(world.tenant);
    expect(held(world.activities)).toEqual([]);
  });

  test('of a patient who is missing from the list remain unchanged', async () => {
    const world = open();
    admit(world, '1', '2');
    book(world, 'a', '1');
    await cycle(world.tenant);
    world.clinic.patientList.shift();
    world.clinic.patientsArePartial = true;
    await laterCycle(world);
    expect(held(world.activities)).toHaveLength(1);
  });
});

describe('derived properties', () => {
  const mapping = {
    lastname: 'lastName',
    last_visit: 'derived.lastVisitOn',
    next: 'derived.nextAppointmentAt',
    visits: 'derived.visits',
  };

  test('contain past visits and future appointments, and move with them', async () => {
    const world = open({ contacts: { mapping } });
    admit(world, '1');
    const put = (id: string, inHours: number, changes = {}) =>
      world.clinic.appointments.set(id, { ...appointmentOf(id, { inHours, ...changes }), patientId: '1' });
    put('old', -100 * 24, { status: 'completed' });
    put('ahead', 48);
    await cycle(world.tenant);
    const nextAt = new Date(NOW + 48 * HOUR_MS).toISOString();
    expect(held(world.contacts)).toEqual([{ lastname: 'Verdi 1', last_visit: '2026-03-07', next: nextAt, visits: 1 }]);
    put('ahead', 72);
    await cycle(world.tenant);
    expect(held(world.contacts)[0]?.next).toBe(new Date(NOW + 72 * HOUR_MS).toISOString());
    world.clock.now += 3 * DAY_MS + HOUR_MS;
    put('ahead', 72, { status: 'completed' });
    await cycle(world.tenant);
    expect(held(world.contacts)).toEqual([{ lastname: 'Verdi 1', last_visit: '2026-06-18', next: null, visits: 2 }]);
    const { operations } = world.contacts.calls;
    world.clock.now += 5 * MINUTE_MS;
    await cycle(world.tenant);
    await cycle(world.again());
    expect(world.contacts.calls.operations).toBe(operations);
  });

  test('with incomplete data leave the contacts unchanged', async () => {
    const world = open({ contacts: { mapping } });
    admit(world, '1');
    const read = world.clinic.readAppointments.bind(world.clinic);
    world.clinic.readAppointments = async (query, signal) => {
      const snapshot = await read(query, signal);
      const isHistory = query.window.fromAt < NOW - 365 * DAY_MS;
      return isHistory ? { ...snapshot, completeness: 'partial', reason: 'page-cap' } : snapshot;
    };
    const run = await cycle(world.tenant);
    expect(held(world.contacts)).toEqual([]);
    expect(run.withheld).toMatchObject([{ part: 'history', code: 'history-partial' }]);
  });
});

test('what is found of a forgotten patient goes past the guard, and is erased', async () => {
  const world = open();
  admit(world, ...Array.from({ length: 30 }, (_, index) => `${index}`));
  await cycle(world.tenant);
  for (let index = 0; index < 30; index += 1) await world.tenant.tombstones.add(`${index}`, NOW);
  const sent: unknown[] = [];
  world.contacts.beforeApply = (operations) => void sent.push(...operations);
  const run = await laterCycle(world);
  expect(run.targets.find(({ target }) => target === 'contacts')?.planned).toEqual({ forgotten: 30 });
  expect(held(world.contacts)).toEqual([]);
  expect(sent).toHaveLength(30);
  expect(sent).toEqual(sent.map(() => expect.objectContaining({ kind: 'delete', erase: true })));
});

test('a tombstone keeps a patient and the patient’s activities out of every target', async () => {
  const world = open();
  admit(world, '1', '2');
  world.clinic.appointments.set('a', { ...appointmentOf('a'), patientId: '1' });
  await world.tenant.tombstones.add('1', NOW);
  const run = await pull(world.tenant);
  await cycle(world.tenant);
  expect(names(world)).toEqual(['Verdi 2']);
  expect(held(world.activities)).toEqual([]);
  expect(run.targets.map(({ omitted }) => omitted)).toEqual([{ forgotten: 1 }, { forgotten: 1 }]);
  expect(await redis.connect().hgetall('cm:{studio-rossi}:tombstones')).not.toHaveProperty('1');
});
