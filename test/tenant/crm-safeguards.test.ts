import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, pull, targetOf } from './cycle.ts';
import { type CrmWorld, held, joined, openCrmWorld, patientOf } from './world.ts';

const redis = useRedis();
const open = (given: Parameters<typeof openCrmWorld>[1] = {}) => openCrmWorld(redis, given);

function admit(world: CrmWorld, ...ids: string[]) {
  world.clinic.patientList.push(...ids.map((id) => patientOf(id)));
}

function change(world: CrmWorld, id: string, changes: Parameters<typeof patientOf>[1]) {
  const list = world.clinic.patientList;
  const at = list.findIndex((patient) => patient.id === id);
  list.splice(at, 1, patientOf(id, changes));
}

function book(world: CrmWorld, id: string, patientId: string, inHours = 24) {
  world.clinic.appointments.set(id, { ...appointmentOf(id, { inHours }), patientId });
}

async function laterCycle(world: CrmWorld) {
  world.clock.now += 15 * MINUTE_MS;
  return cycle(world.tenant);
}

const names = (world: CrmWorld) =>
  held(world.contacts)
    .map(({ lastname }) => lastname)
    .sort();

const refusal = () =>
  new MirrorError('refused', { actor: 'remote', code: 'server-error', retry: 'later', status: 503 });

const leftOutOf = (run: Awaited<ReturnType<typeof cycle>>, id: string) =>
  run.targets.find(({ target }) => target === id)?.omitted;

describe('a consent that was withdrawn', () => {
  test('is not restored by a process with an older list, nor after a failed fetch', async () => {
    const world = open();
    admit(world, '1', '2');
    const other = world.again();
    await cycle(other);
    world.clock.now += 14 * MINUTE_MS;
    change(world, '2', { consents: {} });
    await cycle(world.tenant);
    expect(names(world)).toEqual(['Verdi 1']);
    world.clock.now += 30_000;
    world.clinic.patientsError = refusal();
    await cycle(world.again());
    world.clinic.patientsError = null;
    world.clock.now += 20_000;
    await cycle(other);
    expect(names(world)).toEqual(['Verdi 1']);
  });

  test('stops pending writes when the policy keeps contacts as last written', async () => {
    const world = open({ contacts: { withdrawn: 'keep' } });
    admit(world, '1', '2');
    book(world, 'a', '1');
    await cycle(world.tenant);
    admit(world, '3');
    change(world, '1', { firstName: 'Other' });
    book(world, 'b', '3');
    book(world, 'a', '1', 48);
    world.clock.now += 15 * MINUTE_MS;
    await pull(world.tenant);
    change(world, '1', { firstName: 'Other', consents: {} });
    change(world, '3', { consents: { marketing: false } });
    await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 1', 'Verdi 2']);
    expect(held(world.contacts).map(({ firstname }) => firstname)).toEqual(['Anna', 'Anna']);
    expect(world.activities.objects()).toHaveLength(1);
    expect(await world.tenant.outbox.counts('contacts')).toMatchObject({ pending: 0 });
  });

  test('takes precedence over the pin of a restored contact', async () => {
    const world = open();
    admit(world, '1');
    await cycle(world.tenant);
    await world.tenant.journal.pin('contacts', ['1'], NOW + 30 * DAY_MS);
    change(world, '1', { consents: { marketing: false } });
    await laterCycle(world);
    expect(names(world)).toEqual([]);
  });
});

test('a pin keeps a patient whom the clinic has closed', async () => {
  const world = open({ contacts: { inactive: 'remove' } });
  admit(world, '1', '2');
  await cycle(world.tenant);
  await world.tenant.journal.pin('contacts', ['1'], NOW + 30 * DAY_MS);
  change(world, '1', { isActive: false });
  change(world, '2', { isActive: false });
  await laterCycle(world);
  expect(names(world)).toEqual(['Verdi 1']);
});

test('pending writes of patient data stop while the removal of the patients is held', async () => {
  const world = open();
  const many = Array.from({ length: 40 }, (_, index) => `${index}`);
  admit(world, ...many);
  await cycle(world.tenant);
  for (const id of many.slice(0, 28)) change(world, id, { firstName: 'Other' });
  world.clock.now += 15 * MINUTE_MS;
  await pull(world.tenant);
  for (const id of many.slice(0, 20)) change(world, id, { firstName: 'Other', consents: {} });
  await laterCycle(world);
  const renamed = held(world.contacts).filter(({ firstname }) => firstname === 'Other');
  const agreed = many.slice(20, 28).map((id) => `Verdi ${id}`);
  expect(renamed.map(({ lastname }) => lastname).sort()).toEqual(agreed.sort());
});

describe('two processes that take turns', () => {
  const mapping = { lastname: 'lastName', visits: 'derived.visits' };

  test('read the distant past once each: the process that planned with it last continues', async () => {
    const world = open({ contacts: { mapping } });
    admit(world, '1');
    let histories = 0;
    const read = world.clinic.readAppointments.bind(world.clinic);
    world.clinic.readAppointments = (query, signal) => {
      if (query.window.fromAt < world.clock.now - 365 * DAY_MS) histories += 1;
      return read(query, signal);
    };
    const processes = [world.tenant, world.again()];
    for (let turn = 0; turn < 60; turn += 1) {
      // The second one comes in the middle of the day.
      const process = turn < 20 ? processes[0] : processes[turn % 2];
      if (process !== undefined) await pull(process);
      world.clock.now += 5 * MINUTE_MS;
    }
    expect(histories).toBe(2);
  });
});

describe('what belongs to contacts whose removal is held', () => {
  const many = Array.from({ length: 40 }, (_, index) => `${index}`);

  async function withActivities() {
    const world = open();
    admit(world, ...many);
    for (const id of many) book(world, `a${id}`, id);
    for (let extra = 0; extra < 60; extra += 1) book(world, `x${extra}`, '39');
    await cycle(world.tenant);
    return world;
  }

  test('stays, although its own removals would be few enough', async () => {
    const world = await withActivities();
    for (const id of many.slice(0, 15)) change(world, id, { consents: {} });
    const run = await laterCycle(world);
    expect(held(world.contacts)).toHaveLength(40);
    expect(world.activities.objects()).toHaveLength(100);
    expect(leftOutOf(run, 'activities')).toEqual({ 'contact-held': 15 });
    // Also while the contacts themselves are not planned.
    world.contacts.wholeTargetError = refusal();
    await laterCycle(world);
    expect(world.activities.objects()).toHaveLength(100);
  });

  test('is removed with them after approval', async () => {
    const world = await withActivities();
    world.clinic.patientList.splice(0, 15);
    await laterCycle(world);
    expect(world.activities.objects()).toHaveLength(100);
    const [hold] = await world.tenant.holds.list();
    await world.tenant.holds.decide(hold?.id ?? '', {
      state: 'approved',
      now: world.clock.now,
      expiresAt: world.clock.now + DAY_MS,
    });
    await laterCycle(world);
    expect(held(world.contacts)).toHaveLength(25);
    expect(world.activities.objects()).toHaveLength(85);
  });
});

describe('derived properties', () => {
  const mapping = { lastname: 'lastName', next: 'derived.nextAppointmentAt' };

  test('are not computed from a list of appointments to come that broke off', async () => {
    const world = open({ contacts: { mapping } });
    admit(world, '1', '2');
    book(world, 'a', '1', 48);
    book(world, 'b', '2', 72);
    await cycle(world.tenant);
    const before = held(world.contacts);
    world.clinic.truncatedAfter = 1;
    const read = world.clinic.readAppointments.bind(world.clinic);
    // The far past comes whole.
    world.clinic.readAppointments = async (query, signal) => {
      const isHistory = query.window.fromAt < NOW - 365 * DAY_MS;
      world.clinic.truncatedAfter = isHistory ? null : 1;
      return read(query, signal);
    };
    const run = await cycle(world.again());
    expect(held(world.contacts)).toEqual(before);
    expect(leftOutOf(run, 'contacts')).toEqual({ 'history-unread': 2 });
  });

  test('whose past can’t be read whole don’t have it asked for with every cycle', async () => {
    const world = open({ contacts: { mapping } });
    admit(world, '1');
    let histories = 0;
    const read = world.clinic.readAppointments.bind(world.clinic);
    world.clinic.readAppointments = async (query, signal) => {
      const snapshot = await read(query, signal);
      if (query.window.fromAt >= world.clock.now - 365 * DAY_MS) return snapshot;
      histories += 1;
      return { ...snapshot, completeness: 'partial', reason: 'page-cap' };
    };
    for (let minutes = 0; minutes < 12 * 60; minutes += 5) {
      const run = await pull(world.tenant);
      expect(run.withheld).toMatchObject([{ part: 'history', code: 'history-partial' }]);
      world.clock.now += 5 * MINUTE_MS;
    }
    expect(histories).toBeLessThan(10);
    expect(histories).toBeGreaterThan(4);
  });
});

test('activities know their contacts by the names that these carry, also while contacts are paused', async () => {
  const world = open();
  admit(world, '1');
  book(world, 'a', '1');
  world.contacts.burnsKeys = true;
  await cycle(world.tenant);
  change(world, '1', { consents: {} });
  await laterCycle(world);
  change(world, '1', {});
  await laterCycle(world);
  await laterCycle(world);
  const key = targetOf(world.tenant, 'contacts').identity.key('1', 1);
  expect(joined(world.activities)).toEqual([key]);
  const process = world.again();
  targetOf(process, 'contacts').configuration.paused = true;
  await cycle(process);
  expect(joined(world.activities)).toEqual([key]);
});

test('what waits is written without properties that are mapped no longer', async () => {
  const world = open();
  admit(world, '1');
  await pull(world.tenant);
  await drain(world.tenant, targetOf(world.tenant, 'contacts'));
  change(world, '1', { lastName: 'Bianchi' });
  world.clock.now += 15 * MINUTE_MS;
  await pull(world.tenant);
  const narrower = openCrmWorld(redis, { contacts: { mapping: { lastname: 'lastName' } } });
  const { crm, writable } = targetOf(narrower.tenant, 'contacts');
  const process = world.again();
  const target = { ...targetOf(process, 'contacts'), crm, writable };
  await drain(process, target);
  expect(held(world.contacts)).toEqual([{ lastname: 'Bianchi' }]);
});

test('objects of a vanished patient wait for a decision without a time limit, and follow it', async () => {
  const world = open();
  admit(world, '1', '2');
  for (let index = 0; index < 12; index += 1) book(world, `a${index}`, '1');
  book(world, 'b', '2');
  await cycle(world.tenant);
  world.clinic.patientList.shift();
  await laterCycle(world);
  for (let turn = 0; turn < 3; turn += 1) {
    await laterCycle(world);
    expect(names(world)).toEqual(['Verdi 2']);
    expect(world.activities.objects()).toHaveLength(13);
    expect(await world.tenant.holds.list()).toMatchObject([{ target: 'activities', recordIds: { length: 12 } }]);
  }
  const [hold] = await world.tenant.holds.list();
  await world.tenant.holds.decide(hold?.id ?? '', {
    state: 'approved',
    now: world.clock.now,
    expiresAt: world.clock.now + DAY_MS,
  });
  await laterCycle(world);
  expect(world.activities.objects()).toHaveLength(1);
});

test('an activity that passes to a patient who is newer than the list stays until the list is read', async () => {
  const world = open();
  admit(world, '1');
  book(world, 'a', '1');
  await cycle(world.tenant);
  const { operations } = world.activities.calls;
  admit(world, '2');
  book(world, 'a', '2');
  world.clock.now += MINUTE_MS;
  const run = await cycle(world.tenant);
  expect(leftOutOf(run, 'activities')).toEqual({ 'patient-unknown': 1 });
  expect(world.activities.calls.operations).toBe(operations);
  await laterCycle(world);
  expect(joined(world.activities)).toEqual([targetOf(world.tenant, 'contacts').identity.key('2', 0)]);
  expect(world.activities.calls.operations).toBe(operations + 1);
});
