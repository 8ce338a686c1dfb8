import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { keysOfTenant } from '../../src/state/keys.ts';
import { keysLike } from '../../src/state/script.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER, wholeCycle } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenantWorld, stateOf } from '../tenant/world.ts';

/*
 * Attack: a tenant fills the Redis of all tenants, by the number of its records, the number of its targets or the length of its texts. Its
 * server may accept the objects, or never, so that all content waits in Redis. It may also change all records in each cycle.
 */

const redis = useRedis({ appendOnly: false });
const LIMIT = 512 * 1_024;
/** Changes continue up to twice the limit. Reports of runs and the journal are no planned changes. */
const MOST = 2 * LIMIT + 128 * 1_024;

const families = fc.record({
  records: fc.integer({ min: 300, max: 1_200 }),
  targets: fc.integer({ min: 1, max: 3 }),
  textLength: fc.integer({ min: 0, max: 4_000 }),
  accepts: fc.boolean(),
  changesAll: fc.boolean(),
});
type Family = typeof families extends fc.Arbitrary<infer Value> ? Value : never;

function openAttacker({ records, targets, textLength }: Family) {
  const clinic = createModelClinic();
  clinic.locationList.push({ id: 'l1', name: 'x'.repeat(textLength) } as never);
  const book = (length: number) => {
    for (let index = 0; index < records; index += 1) {
      const inHours = 24 + ((index + length) % 1_000);
      clinic.appointments.set(`${index}`, { ...appointmentOf(`${index}`, { inHours }), locationId: 'l1' });
    }
  };
  book(0);
  const choices = Array.from({ length: targets }, (_, index) => ({
    id: `target-${index}`,
    model: createModelTarget(),
    configuration: { fields: ['location' as const], firstRun: 'apply' as const },
  }));
  return { ...openTenantWorld(redis, clinic, choices, { id: 'attacker', limitBytes: LIMIT }), book };
}

/** Exact memory of a tenant. */
async function usedBy(tenant: string): Promise<number> {
  const connection = redis.connect();
  let bytes = 0;
  for await (const key of keysLike(connection, keysOfTenant(tenant)))
    bytes += (await connection.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  connection.disconnect();
  return bytes;
}

test('a tenant cannot fill Redis, whatever grows, and the other tenant is complete after its cycle', async () => {
  await fc.assert(
    fc.asyncProperty(families, async (family) => {
      await redis.connect().flushall();
      const { tenant, clock, book } = openAttacker(family);
      const peaks: number[] = [];
      for (let round = 0; round < 3; round += 1) {
        await pullTenant(tenant, NEVER, { asked: true });
        peaks.push(await usedBy('attacker'));
        if (family.accepts) await wholeCycle(tenant);
        if (family.changesAll) book(round + 1);
        clock.now += 6 * MINUTE_MS;
      }
      expect(Math.max(...peaks)).toBeLessThan(MOST);
      const model = createModelTarget();
      const other = openTenantWorld(redis, createModelClinic(50), [{ model }], { id: 'honest' });
      await wholeCycle(other.tenant);
      expect(model.objects()).toHaveLength(50);
      expect(await stateOf(other.tenant)).toMatchObject({ sync: 'in-sync', gaps: [] });
    }),
    { numRuns: 4 },
  );
});
