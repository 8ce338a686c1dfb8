import { expect, onTestFinished, test } from 'vitest';
import { auditNow } from '../../src/operator/control/audit.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { compareCrm, SAME } from './support/crm-truth.ts';
import { type CrmWorld, startCrmWorld } from './support/crm-world.ts';

const redis = useRedis();
const STREAMS = ['patients', 'appointments', 'invoices'] as const;
const NEVER = new AbortController().signal;

async function useCrmWorld(): Promise<CrmWorld> {
  const world = await startCrmWorld({ redisUrl: redis.url, patients: 20, appointments: 40, streams: STREAMS });
  onTestFinished(() => world.close());
  await world.logIn();
  return world;
}

function isSame(world: CrmWorld, asOf: number): boolean {
  return world.vendors.every((vendor) =>
    STREAMS.every((stream) => {
      const { missing, surplus } = compareCrm(world, vendor, stream, asOf);
      return missing.length + surplus.length === 0;
    }),
  );
}

function expectSame(world: CrmWorld, asOf: number): void {
  for (const vendor of world.vendors) {
    for (const stream of STREAMS) {
      expect(compareCrm(world, vendor, stream, asOf), `${vendor.name} ${stream}`).toMatchObject(SAME);
    }
  }
}

/** Cycles until every target shows what the clinic shows. @returns when the last one began */
async function untilInSync(world: CrmWorld): Promise<number> {
  return waitFor(
    async () => {
      const { run, targets } = await world.cycle();
      return targets.every(({ sync }) => sync === 'in-sync') ? run.startedAt : null;
    },
    { what: 'all in sync', intervalMs: 200 },
  );
}

/** Every record of every CRM by its id and our key. */
function recordsOf({ vendors }: CrmWorld): string[] {
  return vendors.flatMap((vendor) =>
    STREAMS.flatMap((stream) => vendor.records(stream).map(({ id, key }) => `${vendor.name} ${stream} ${id} ${key}`)),
  );
}

test('answers of CRMs that are lost lead to no second record', async () => {
  const world = await useCrmWorld();
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const ids = [...world.clinic.patients(clinicId)].map(({ id }) => id);
  const grantAll = (granted: boolean) => {
    for (const id of ids.slice(0, 8)) {
      world.clinic.plant(clinicId, 'patients', id, { consents: { privacy: { granted, date: null } } });
    }
  };
  grantAll(false);
  await untilInSync(world);
  const before = recordsOf(world).length;

  grantAll(true);
  for (const vendor of world.vendors) vendor.loseAnswers(2);
  expectSame(world, await untilInSync(world));
  expect(recordsOf(world).length).toBeGreaterThan(before + 30);
  for (const vendor of world.vendors) expect(vendor.lostAnswers(), vendor.name).toBe(2);
});

test('lost state is read back from the CRMs, without writes and without duplicates', async () => {
  const world = await useCrmWorld();
  await world.cycle();
  const before = recordsOf(world);
  expect(before.length).toBeGreaterThan(150);
  for (const vendor of world.vendors) world.spent(vendor);

  await redis.connect().flushall();
  await world.logIn();
  const { run, targets } = await world.cycle();

  expect(targets.map(({ sync, created, updated }) => ({ sync, created, updated }))).toEqual(
    targets.map(() => ({ sync: 'in-sync', created: 0, updated: 0 })),
  );
  expect(targets.reduce((sum, { adopted }) => sum + adopted, 0)).toBe(before.length);
  for (const vendor of world.vendors) expect(world.spent(vendor).write, vendor.name).toBe(0);
  expect(recordsOf(world)).toEqual(before);
  expectSame(world, run.startedAt);
});

test('manual changes and deletions in a CRM are found by the audit and restored in the next cycle', async () => {
  const world = await useCrmWorld();
  await world.cycle();
  for (const vendor of world.vendors) {
    const [activity, goneActivity] = vendor.records('appointments');
    const owners = new Set(STREAMS.flatMap((stream) => vendor.records(stream).flatMap(({ contactIds }) => contactIds)));
    const edited = vendor.records('patients').find(({ id }) => owners.has(id));
    const deleted = vendor.records('patients').find(({ id }) => !owners.has(id));
    vendor.editByHand('patients', edited?.id ?? '', 'lastName', 'By hand');
    vendor.editByHand('appointments', activity?.id ?? '', 'status', 'by hand');
    vendor.deleteByHand('patients', deleted?.id ?? '');
    vendor.deleteByHand('appointments', goneActivity?.id ?? '');
  }
  expect(isSame(world, Date.now())).toBe(false);

  const { targets } = await auditNow(world.opened().installation, 'clinic-1', () => {}, NEVER);
  for (const { name } of world.vendors) {
    for (const stream of ['contacts', 'visits']) {
      const { drift } = targets.find(({ target }) => target === `${name}-${stream}`) ?? {};
      expect([drift?.edited, drift?.removed], `${name} ${stream}`).toEqual([1, 1]);
    }
  }
  expectSame(world, await untilInSync(world));
});
