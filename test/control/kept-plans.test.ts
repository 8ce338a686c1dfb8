import { describe, expect, test } from 'vitest';
import { applyPlan, newestPlan, readStoredPlan, storePlan } from '../../src/control/kept-plans.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import { openCrmWorld, patientOf } from '../jobs/crm-world.ts';
import { cycle, NEVER } from '../jobs/cycle.ts';
import { createModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget } from '../jobs/model-target.ts';
import { openTenant } from '../jobs/open-tenant.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();
const SIGNALS = { stop: NEVER, abort: NEVER };

async function open() {
  const clock = { now: NOW };
  const clinic = createModelClinic();
  const book = (id: string, inHours: number) => clinic.appointments.set(id, appointmentOf(id, { inHours }));
  for (const [index, id] of ['a', 'b', 'c'].entries()) book(id, 24 + index);
  const model = createModelTarget();
  const connection = redis.connect();
  const tenant = openTenant({ redis: connection, clinic, targets: [{ model }], clock: () => clock.now });
  await cycle(tenant);
  book('b', 50);
  book('d', 60);
  clock.now += MINUTE_MS;
  const installation = openInstallation({ tenants: [tenant] });
  const keep = () => storePlan(installation, tenant.id, () => {}, NEVER);
  const apply = (plan: string) => applyPlan(installation, tenant.id, plan, { progress: () => {}, signals: SIGNALS });
  const held = async () => (await tenant.links.read('doctor')).size;
  return { clock, clinic, book, tenant, installation, keep, apply, held, connection };
}

describe('a plan that is kept', () => {
  test('is applied when a cycle would do just that', async () => {
    const { keep, apply, held, installation, tenant } = await open();
    const plan = await keep();
    expect(plan.targets[0]?.lines).toMatchObject([
      { record: 'b', operation: 'update' },
      { record: 'd', operation: 'create' },
    ]);
    expect(await readStoredPlan(installation, tenant.id, plan.id)).toEqual(plan);
    expect(await held()).toBe(3);
    const { run, targets } = await apply(plan.id);
    expect([run.error, targets[0]?.state, await held()]).toEqual([null, 'in-sync', 4]);
  });

  test.each<[string, (world: Awaited<ReturnType<typeof open>>) => unknown, string]>([
    ['there is one more', ({ book }) => book('e', 70), 'doctor e (new)'],
    ['one says something else', ({ book }) => book('b', 51), 'doctor b (otherwise)'],
    [
      'one is not booked any more',
      ({ clinic }) => clinic.appointments.delete('d'),
      'doctor d (nothing to do any more)',
    ],
    ['somebody did it already', ({ tenant }) => cycle(tenant), 'doctor b (nothing to do any more)'],
  ])('is not applied, and nothing of it is done, when %s', async (_, change, about) => {
    const world = await open();
    const plan = await world.keep();
    await change(world);
    const [before, runs] = [await world.held(), (await world.tenant.runs.list(9)).length];
    const refusal = { code: 'plan-drifted', actor: 'conflict', about: expect.stringContaining(about) };
    await expect(world.apply(plan.id)).rejects.toMatchObject(refusal);
    expect([await world.held(), (await world.tenant.runs.list(9)).length]).toEqual([before, runs]);
    expect(await world.tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });

  test('names five differences and counts the others', async () => {
    const { keep, apply, book } = await open();
    const plan = await keep();
    for (let index = 0; index < 8; index += 1) book(`n${index}`, 80 + index);
    await expect(apply(plan.id)).rejects.toMatchObject({ about: expect.stringMatching(/n4 \(new\) and 3 more$/) });
  });

  test('has the same id for the same world, and another one for another', async () => {
    const { clock, keep, book, installation, tenant } = await open();
    const { id } = await keep();
    expect((await keep()).id).toBe(id);
    book('b', 52);
    clock.now += MINUTE_MS;
    const other = await keep();
    expect(other.id).not.toBe(id);
    expect((await newestPlan(installation, tenant.id))?.id).toBe(other.id);
  });

  test('stands sealed in Redis, and goes after an hour', async () => {
    const { keep, connection, tenant } = await open();
    const { id, keptAt, expiresAt } = await keep();
    const key = `cm:{${tenant.id}}:document:plan:${id}`;
    expect(expiresAt - keptAt).toBe(HOUR_MS);
    expect(await connection.pttl(key)).toBeGreaterThan(HOUR_MS - MINUTE_MS);
    expect(await connection.get(key)).toMatch(/^s1\./);
    await connection.set(key, 's1.k1.made-up-by-somebody');
    await expect(
      readStoredPlan({ tenants: new Map([[tenant.id, tenant]]) } as never, tenant.id, id),
    ).rejects.toMatchObject({
      code: 'no-such-plan',
    });
  });
});

test('a plan of a CRM is applied by what is read anew, and names whom its rules leave out', async () => {
  const world = openCrmWorld(redis);
  const { tenant, clinic } = world;
  const installation = openInstallation({ tenants: [tenant] });
  clinic.patientList.push(patientOf('1'), patientOf('2', { consents: { marketing: false } }));
  const plan = await storePlan(installation, tenant.id, () => {}, NEVER);
  const excluded = plan.excluded.find(({ target }) => target === 'contacts');
  expect(excluded?.records.map(({ record }) => record)).toEqual(['2']);
  const { run } = await applyPlan(installation, tenant.id, plan.id, { progress: () => {}, signals: SIGNALS });
  expect(run.error).toBeNull();
  expect((await tenant.links.read('contacts')).size).toBe(1);
});
