import { expect, test } from 'vitest';
import { targetStatus } from '../../src/control/status.ts';
import { entriesOfRun, lookAtRun } from '../../src/features/undo/restore-records.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { MINUTE_MS } from '../../src/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, targetOf } from './cycle.ts';
import { openCrmWorld, patientOf } from './world.ts';

const redis = useRedis();

test('a target is stale, not in sync, while the list that it follows can’t be read', async () => {
  const { clinic, clock, tenant } = openCrmWorld(redis);
  clinic.patientList.push(patientOf('1'));
  const stateAfter = async () => {
    const run = await cycle(tenant);
    return (await targetStatus(tenant, targetOf(tenant, 'contacts'), [], run)).state;
  };
  expect(await stateAfter()).toBe('in-sync');
  clock.now += 15 * MINUTE_MS;
  const refused = { actor: 'authorization', code: 'missing-claim', retry: 'never', status: 403 } as const;
  clinic.patientsError = new MirrorError('refused', refused);
  expect(await stateAfter()).toBe('stale');
  clinic.patientsError = null;
  expect(await stateAfter()).toBe('in-sync');
});

test('an undo says of patients who don’t agree any more that they can’t be put back', async () => {
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
