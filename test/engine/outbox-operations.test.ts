import { beforeEach, describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { Operation } from '../../src/core/model/operations.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, pull, targetOf } from '../tenant/cycle.ts';
import { type CrmWorld, openCrmWorld, patientOf } from '../tenant/world.ts';

const redis = useRedis();

let world: CrmWorld;
let refused: ReadonlySet<string>;

beforeEach(() => {
  refused = new Set(['1']);
  world = openCrmWorld(redis);
  world.contacts.fault = ({ recordId }) => (refused.has(recordId) ? 'refused' : null);
  world.activities.fault = (operation) => (hasContact(operation) ? null : 'contact-missing');
  for (const id of ['1', '2']) {
    world.clinic.patientList.push(patientOf(id));
    for (const visit of ['a', 'b']) {
      world.clinic.appointments.set(`${visit}${id}`, appointmentOf(`${visit}${id}`, { patientId: id }));
    }
  }
});

/** As a CRM answers: an activity of a contact that it does not have can't be made. */
function hasContact(operation: Operation): boolean {
  const item = operation.kind === 'delete' ? null : (operation.item as object);
  if (item === null || !('contactKey' in item)) return true;
  return world.contacts.objects().some(({ key }) => key === item.contactKey);
}

const written = () => world.activities.objects().length;

/** The clinic corrects what the CRM refused. */
function correct(): void {
  refused = new Set();
  world.clinic.patientList[0] = patientOf('1', { lastName: 'Corrected' });
  world.clock.now += 20 * MINUTE_MS;
}

describe('visits of a contact that the CRM refuses', () => {
  test('are tried once, and rest with their contact while the visits of others are written', async () => {
    await cycle(world.tenant);
    expect(written()).toBe(2);
    const tried = world.activities.calls.operations;
    for (let passed = 0; passed < DAY_MS / 2; passed += HOUR_MS) {
      world.clock.now += HOUR_MS;
      await drain(world.tenant, targetOf(world.tenant, 'activities'));
    }
    expect(world.activities.calls.operations).toBe(tried);
    expect(tried).toBe(4);
  });

  test('are kept back by the next cycle, with one reason', async () => {
    await cycle(world.tenant);
    world.clock.now += 20 * MINUTE_MS;
    const run = await pull(world.tenant);
    const activities = run.targets.find(({ target }) => target === 'activities');
    expect(activities?.omitted).toEqual({ 'contact-unwritten': 2 });
    expect(await world.tenant.outbox.counts('activities')).toEqual({ pending: 0, failing: 0 });
    correct();
    await cycle(world.tenant);
    expect(written()).toBe(4);
  });

  test('are written with their contact, at once, when it is corrected', async () => {
    await cycle(world.tenant);
    correct();
    await cycle(world.tenant);
    expect(world.contacts.objects()).toHaveLength(2);
    expect(written()).toBe(4);
  });

  test('are tried at once when a run that failed later wrote their contact', async () => {
    const { tenant, clinic, contacts, clock } = world;
    clinic.patientList.push(patientOf('3'));
    refused = new Set(['1', '3']);
    Object.assign(contacts.supports, { batchSize: 1, concurrency: 1 });
    await cycle(tenant);
    refused = new Set();
    contacts.beforeApply = ([operation]) => {
      if (operation?.recordId === '3') throw new MirrorError('x', { actor: 'remote', code: 'away', retry: 'later' });
    };
    clock.now += MINUTE_MS;
    await tenant.outbox.hurry('contacts', clock.now);
    await drain(tenant, targetOf(tenant, 'contacts'));
    expect((await tenant.targetStore.read('contacts')).failure).toMatchObject({ code: 'away' });
    expect(contacts.objects()).toHaveLength(2);
    await drain(tenant, targetOf(tenant, 'activities'));
    expect(written()).toBe(4);
  });

  test('do not rest with it when they fail for another reason', async () => {
    const { tenant, clock, activities } = world;
    activities.fault = (operation) => {
      if (operation.recordId === 'a1') return 'unavailable';
      return hasContact(operation) ? null : 'contact-missing';
    };
    await cycle(tenant);
    const dueOf = async (id: string) => (await tenant.outbox.pending('activities')).get(id)!.dueAt - clock.now;
    expect(await dueOf('a1')).toBeLessThan(HOUR_MS);
    expect(await dueOf('b1')).toBeGreaterThan(DAY_MS - HOUR_MS);
  });
});
