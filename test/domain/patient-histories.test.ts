import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { cycle } from '../tenant/cycle.ts';
import { type CrmWorld, held, openCrmWorld, patientOf } from '../tenant/world.ts';
import { appointmentOf } from './arbitraries.ts';

const redis = useRedis();
const mapping = {
  lastname: 'lastName',
  next: 'derived.nextAppointmentAt',
  last: 'derived.lastVisitOn',
  standing: 'derived.standing',
};
const COUNT = 20;
const isHistory = (world: CrmWorld, { window }: { window: { fromAt: number } }) =>
  window.fromAt < world.clock.now - 365 * DAY_MS;

/** Patients who were here a month ago and come again in two days. */
async function openWorld() {
  const world = openCrmWorld(redis, { contacts: { mapping } });
  for (let index = 0; index < COUNT; index += 1) {
    world.clinic.patientList.push(patientOf(`${index}`));
    const put = (id: string, inHours: number) =>
      world.clinic.appointments.set(id, { ...appointmentOf(id, { inHours }), patientId: `${index}` });
    put(`past${index}`, -30 * 24);
    put(`ahead${index}`, 48);
  }
  await cycle(world.tenant);
  return world;
}

/** What a list shows of its rows. */
function showing(world: CrmWorld, show: (query: { window: { fromAt: number } }, id: string) => boolean) {
  const read = world.clinic.readAppointments.bind(world.clinic);
  world.clinic.readAppointments = async (query, signal) => {
    const snapshot = await read(query, signal);
    return { ...snapshot, records: new Map([...snapshot.records].filter(([id]) => show(query, id))) };
  };
}

async function cyclesFor(world: CrmWorld, ms: number, everyMs = 30 * MINUTE_MS) {
  for (let passed = 0; passed < ms; passed += everyMs) {
    world.clock.now += everyMs;
    await cycle(world.tenant);
  }
}

describe('derived properties', () => {
  test('don’t follow a list that suddenly shows far fewer appointments, and do a day later', async () => {
    const world = await openWorld();
    const before = held(world.contacts);
    for (let index = 0; index < COUNT; index += 1) world.clinic.appointments.delete(`ahead${index}`);
    await cyclesFor(world, 20 * HOUR_MS);
    expect(held(world.contacts)).toEqual(before);
    await cyclesFor(world, 5 * HOUR_MS);
    expect(new Set(held(world.contacts).map(({ next }) => next))).toEqual(new Set([null]));
  });

  test('continue without a change when the list is normal again', async () => {
    const world = await openWorld();
    const before = held(world.contacts);
    let isShort = true;
    showing(world, () => !isShort);
    await cyclesFor(world, 2 * HOUR_MS);
    isShort = false;
    await cyclesFor(world, HOUR_MS);
    expect(held(world.contacts)).toEqual(before);
  });

  test('follow the cancellation of a few', async () => {
    const world = await openWorld();
    for (const id of ['ahead0', 'ahead1', 'ahead2']) world.clinic.appointments.delete(id);
    await cyclesFor(world, 30 * MINUTE_MS);
    expect(held(world.contacts).filter(({ next }) => next === null)).toHaveLength(3);
  });

  test('don’t follow a past that has suddenly shrunk', async () => {
    const world = await openWorld();
    const before = held(world.contacts).map(({ last, standing }) => [last, standing]);
    showing(world, (query, id) => !(isHistory(world, query) && id.startsWith('past')));
    world.clock.now += 6 * HOUR_MS;
    const run = await cycle(world.tenant);
    expect(run.withheld).toMatchObject([{ part: 'history', code: 'history-shrunk' }]);
    expect(held(world.contacts).map(({ last, standing }) => [last, standing])).toEqual(before);
    await cyclesFor(world, 31 * HOUR_MS);
    expect(new Set(held(world.contacts).map(({ last }) => last)).size).toBe(1);
    expect(held(world.contacts)[0]?.last).not.toBe(before[0]?.[0]);
  });
});

test('sums don’t follow a list of invoices that has suddenly shrunk', async () => {
  const world = openCrmWorld(redis, { contacts: { mapping: { billed: 'derived.invoiced' } } });
  world.clinic.patientList.push(patientOf('0'));
  for (let index = 0; index < COUNT; index += 1) {
    world.clinic.invoiceList.push({
      id: `i${index}`,
      patientId: '0',
      number: null,
      documentType: 'Invoice',
      status: 'Issued',
      issueDate: '2026-06-01',
      currency: 'EUR',
      totalAmount: '10.00',
      paidAmount: '0.00',
      doctors: [],
    });
  }
  await cycle(world.tenant);
  expect(held(world.contacts)).toEqual([{ billed: 200 }]);
  const [first, second, ...others] = world.clinic.invoiceList.splice(0, COUNT);
  await cyclesFor(world, HOUR_MS);
  expect(held(world.contacts)).toEqual([{ billed: 200 }]);
  world.clinic.invoiceList.push(...others);
  await cyclesFor(world, HOUR_MS);
  expect([first?.id, second?.id, held(world.contacts)]).toEqual(['i0', 'i1', [{ billed: 180 }]]);
});

test('a consent that is withdrawn is honoured while the past can’t be read', async () => {
  const world = await openWorld();
  const { readAppointments } = world.clinic;
  world.clinic.readAppointments = (query, signal) => {
    if (!isHistory(world, query)) return readAppointments(query, signal);
    throw new MirrorError('refused', { actor: 'remote', code: 'server-error', retry: 'later', status: 503 });
  };
  world.clinic.patientList.splice(0, 1, patientOf('0', { consents: {} }));
  const process = world.again();
  world.clock.now += 15 * MINUTE_MS;
  const run = await cycle(process);
  expect(held(world.contacts)).toHaveLength(COUNT - 1);
  expect(run.targets.find(({ target }) => target === 'contacts')?.omitted).toEqual({
    'no-consent': 1,
    'history-unread': COUNT - 1,
  });
  expect((await process.targetStore.read('contacts')).plannedAsOf).toBeLessThan(world.clock.now);
});
