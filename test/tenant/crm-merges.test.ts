import { expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { CrmItem } from '../../src/core/model/items.ts';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf } from './cycle.ts';
import { held, joined, openCrmWorld, patientOf, stateOf } from './world.ts';

const redis = useRedis();

test('two patients that the clinic merges become one contact with the activities of both', async () => {
  const world = openCrmWorld(redis);
  const { clinic, contacts, activities, tenant, clock } = world;
  clinic.patientList.push(patientOf('kept'), patientOf('merged-away'), patientOf('another'));
  clinic.appointments.set('a', { ...appointmentOf('a', { inHours: 24 }), patientId: 'kept' });
  clinic.appointments.set('b', { ...appointmentOf('b', { inHours: 48 }), patientId: 'merged-away' });
  await cycle(tenant);
  expect(held(contacts)).toHaveLength(3);

  clinic.patientList.splice(1, 1);
  clinic.appointments.set('b', { ...appointmentOf('b', { inHours: 48 }), patientId: 'kept' });
  for (let cycles = 0; cycles < 2; cycles += 1) {
    clock.now += 15 * MINUTE_MS;
    await cycle(tenant);
  }
  expect(
    held(contacts)
      .map(({ lastname }) => lastname)
      .sort(),
  ).toEqual(['Verdi another', 'Verdi kept']);
  const key = targetOf(tenant, 'contacts').identity.key('kept', 0);
  expect(joined(activities)).toEqual([key, key]);

  const { operations } = activities.calls;
  clock.now += 15 * MINUTE_MS;
  await cycle(tenant);
  expect(activities.calls.operations).toBe(operations);
});

test('a contact that a user deletes and clinic-mirror recreates gets its objects back', async () => {
  const world = openCrmWorld(redis);
  const { clinic, contacts, activities, tenant, clock } = world;
  clinic.patientList.push(patientOf('1'), patientOf('2'));
  clinic.appointments.set('a', { ...appointmentOf('a'), patientId: '1' });
  clinic.appointments.set('b', { ...appointmentOf('b'), patientId: '2' });
  await cycle(tenant);
  const target = targetOf(tenant, 'contacts');
  const before = activities.calls.operations;

  const key = target.identity.key('1', 0);
  for (const object of contacts.objects()) if (object.key === key) object.deleted = true;
  await auditTarget(tenant, target, NEVER, { whole: true });
  await cycle(tenant);
  expect(held(contacts)).toHaveLength(2);
  await cycle(tenant);
  expect(activities.calls.operations).toBe(before + 1);
  expect(activities.objects().map(({ item }) => (item as unknown as CrmItem).contactRecreations)).toEqual([
    1,
    undefined,
  ]);

  clock.now += 15 * MINUTE_MS;
  await cycle(tenant);
  await cycle(world.again());
  expect(activities.calls.operations).toBe(before + 1);
});

test('a consent restored before the removal of the contact’s objects joins them to the new contact', async () => {
  const world = openCrmWorld(redis);
  const { clinic, activities, tenant, clock } = world;
  const [contacts, visits] = [targetOf(tenant, 'contacts'), targetOf(tenant, 'activities')];
  const agreed = (marketing: boolean) => clinic.patientList.splice(0, 1, patientOf('1', { consents: { marketing } }));
  clinic.patientList.push(patientOf('1'));
  clinic.appointments.set('a', { ...appointmentOf('a'), patientId: '1' });
  await cycle(tenant);
  const before = activities.calls.operations;

  agreed(false);
  clock.now += 15 * MINUTE_MS;
  await pull(tenant);
  await drain(tenant, contacts);
  agreed(true);
  clock.now += 15 * MINUTE_MS;
  await pull(tenant);
  await drain(tenant, contacts);
  await drain(tenant, visits);
  expect(activities.calls.operations).toBeGreaterThan(before);
  expect(held(world.contacts)).toHaveLength(1);
  expect(held(activities)).toHaveLength(1);

  await cycle(tenant);
  const settled = activities.calls.operations;
  for (let round = 0; round < 3; round += 1) {
    clock.now += 15 * MINUTE_MS;
    await cycle(tenant);
  }
  expect(activities.calls.operations).toBe(settled);
});

test('a consent that comes and goes while the clinic shows no appointments joins them to the new contact', async () => {
  const world = openCrmWorld(redis);
  const { clinic, activities, tenant, clock } = world;
  const ids = ['a', 'b', 'c', 'd'];
  const agreed = (marketing: boolean) => clinic.patientList.splice(0, 1, patientOf('1', { consents: { marketing } }));
  const shown = () => {
    for (const id of ids) clinic.appointments.set(id, { ...appointmentOf(id), patientId: '1' });
  };
  const later = async () => {
    clock.now += 15 * MINUTE_MS;
    await cycle(tenant);
  };
  agreed(true);
  shown();
  await cycle(tenant);
  expect(held(world.contacts)).toHaveLength(1);

  // All records vanish at once: the guard holds the removals, so no decision follows.
  clinic.appointments.clear();
  agreed(false);
  await later();
  expect(held(world.contacts)).toHaveLength(0);
  agreed(true);
  await later();
  expect(held(world.contacts)).toHaveLength(1);
  expect(held(activities)).toHaveLength(ids.length);
  const { operations } = activities.calls;

  shown();
  await later();
  await later();
  // Each activity is written once more, to the current contact.
  expect(activities.calls.operations).toBe(operations + ids.length);
  const generations = activities.objects().map(({ item }) => (item as unknown as CrmItem).contactRecreations);
  expect(new Set(generations).size).toBe(1);
  expect(generations[0]).toBeGreaterThan(0);
  await later();
  expect(activities.calls.operations).toBe(operations + ids.length);
});

test('the rest of a merged patient, or a redirect, keeps the contact unchanged, does not distrust the list, and becomes a problem', async () => {
  const world = openCrmWorld(redis);
  const { clinic, contacts, tenant, clock } = world;
  clinic.patientList.push(...['4', '9', '10', '11', '12', '13', '20', '21'].map((id) => patientOf(id)));
  await cycle(tenant);
  const before = held(contacts);

  const redirected = new MirrorError('redirected', { actor: 'settings', code: 'redirected', retry: 'later' });
  const named = { firstName: null, lastName: null, email: null, mobilePhone: null };
  const asked: string[] = [];
  clinic.readPatient = async (id) => {
    asked.push(id);
    if (id === '9') return { found: patientOf('9', { ...named, consents: {} }) };
    throw redirected;
  };
  clinic.patientList.splice(1, 5);
  const later = async () => {
    clock.now += 15 * MINUTE_MS;
    return await cycle(tenant);
  };
  await later();
  expect(asked.toSorted()).toEqual(['10', '11', '12', '13', '9']);
  await later();
  await later();
  await later();
  expect(held(contacts)).toEqual(before);
  const { gaps } = (await stateOf(tenant, 'contacts')) ?? {};
  expect(gaps?.map(({ code, count, what }) => ({ code, count, what: what.toSorted() }))).toEqual([
    { code: 'records-unconfirmable', count: 5, what: ['incomplete-record lastName', 'redirected'] },
  ]);
});

test('a patient that the list reports as merged loses the contact, and the activities move to the remaining patient', async () => {
  const world = openCrmWorld(redis);
  const { clinic, contacts, activities, tenant, clock } = world;
  clinic.patientList.push(patientOf('4'), patientOf('9'));
  clinic.appointments.set('a', { ...appointmentOf('a', { inHours: 24 }), patientId: '9' });
  await cycle(tenant);
  expect(joined(activities)).toEqual([targetOf(tenant, 'contacts').identity.key('9', 0)]);

  const readPatients = clinic.readPatients;
  clinic.patientList.splice(1, 1);
  const rest = { recordId: '9', code: 'tombstone', field: 'merged', isTombstone: true, mergedInto: '4' } as const;
  clinic.readPatients = async (signal) => ({ ...(await readPatients(signal)), unusable: [rest] });
  for (let cycles = 0; cycles < 3; cycles += 1) {
    clock.now += 15 * MINUTE_MS;
    await cycle(tenant);
  }
  expect(held(contacts).map(({ lastname }) => lastname)).toEqual(['Verdi 4']);
  expect(joined(activities)).toEqual([targetOf(tenant, 'contacts').identity.key('4', 0)]);
  expect((await stateOf(tenant, 'contacts'))?.gaps).toEqual([]);
});

test.each([
  { remaining: '4', left: ['Verdi 4', 'Verdi 5', 'Verdi 6'] },
  { remaining: 'unlisted', left: ['Verdi 4', 'Verdi 5', 'Verdi 6'] },
  { remaining: 'absent', left: ['Verdi 4', 'Verdi 5', 'Verdi 6', 'Verdi 9'] },
])(
  'a single answer of a merged patient removes the contact only if the remaining patient exists: $remaining',
  async ({ remaining, left }) => {
    const { clinic, contacts, tenant, clock } = openCrmWorld(redis);
    clinic.patientList.push(...['4', '5', '6', '9'].map((id) => patientOf(id)));
    await cycle(tenant);
    clinic.patientList.pop();
    clinic.readPatient = async (id) => {
      if (id === '9') return { absent: true, mergedInto: remaining };
      return id === 'absent' ? { absent: true } : { found: patientOf(id) };
    };
    for (let cycles = 0; cycles < 3; cycles += 1) {
      clock.now += 15 * MINUTE_MS;
      await cycle(tenant);
    }
    expect(
      held(contacts)
        .map(({ lastname }) => lastname)
        .toSorted(),
    ).toEqual(left);
  },
);

test('visits that keep the old id move to the remaining patient, also after a chain of merges in single answers and a new list', async () => {
  const world = openCrmWorld(redis);
  const { clinic, contacts, activities, tenant, clock } = world;
  clinic.patientList.push(...['4', '5', '6', '9'].map((id) => patientOf(id)));
  clinic.appointments.set('a', { ...appointmentOf('a', { inHours: 24 }), patientId: '9' });
  await cycle(tenant);
  expect(joined(activities)).toEqual([targetOf(tenant, 'contacts').identity.key('9', 0)]);

  clinic.patientList.pop();
  const merges: Readonly<Record<string, string>> = { 9: '8', 8: '4' };
  clinic.readPatient = async (id) => {
    const mergedInto = merges[id];
    return mergedInto === undefined ? { found: patientOf(id) } : { absent: true, mergedInto };
  };
  for (let cycles = 0; cycles < 8; cycles += 1) {
    clock.now += 30 * MINUTE_MS;
    await cycle(tenant);
  }
  const lastNames = held(contacts).map(({ lastname }) => lastname);
  expect(lastNames.toSorted()).toEqual(['Verdi 4', 'Verdi 5', 'Verdi 6']);
  expect(joined(activities)).toEqual([targetOf(tenant, 'contacts').identity.key('4', 0)]);
});
