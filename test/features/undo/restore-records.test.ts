import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/core/model/time.ts';
import { entriesOfRun, lookAtRun } from '../../../src/features/undo/restore-records.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { openCrmWorld, patientOf } from '../../tenant/world.ts';

const redis = useRedis();

test('an undo reports patients without consent as not restorable', async () => {
  const { clinic, clock, tenant } = openCrmWorld(redis, { contacts: { inactive: 'remove' } });
  clinic.patientList.push(patientOf('1'), patientOf('2'));
  await cycle(tenant);
  clinic.patientList.splice(0, 2, patientOf('1', { consents: {} }), patientOf('2', { isActive: false }));
  clock.now += 15 * MINUTE_MS;
  const { id } = await cycle(tenant);
  const found = await lookAtRun(tenant, await entriesOfRun(tenant, id), () => {}, NEVER);
  const recoveries = new Map(found.map(({ recordId, recovery }) => [recordId, recovery]));
  expect(recoveries).toEqual(
    new Map([
      ['1', 'no-consent'],
      ['2', 'there'],
    ]),
  );
});
