import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/model/time.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { cycle, targetOf } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis();

/** A clinic whose lists leave cancelled appointments out, and a calendar that shows a week back and 60 days ahead. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const clinic = createModelClinic();
  clinic.hidesCancelled = true;
  const model = createModelTarget();
  const clock = { now: NOW };
  const start = (configuration: Partial<TargetConfiguration> = {}) =>
    openTenant({ redis: connection, clinic, clock: () => clock.now, targets: [{ model, configuration }] });
  return { connection, clinic, model, clock, start };
}

describe('D8: a block of a month', () => {
  const month = { kind: 'timed', startAt: NOW + HOUR_MS, endAt: NOW + 30 * DAY_MS } as const;

  test('is looked after until its end leaves the window', async () => {
    const { clinic, model, clock, start } = await open();
    clinic.appointments.set('block', appointmentOf('block', { time: month, patientId: null, patient: null }));
    const tenant = start();
    await cycle(tenant);
    for (let day = 1; day <= 20; day += 1) {
      clock.now = NOW + day * DAY_MS;
      await cycle(tenant);
    }
    expect(model.objects()).toHaveLength(1);
    clinic.appointments.set('block', { ...appointmentOf('block', { time: month }), status: 'cancelled' });
    await cycle(tenant);
    await cycle(tenant);
    expect(model.objects()).toEqual([]);
  });

  test('whose link was written by an earlier release is told its end by the next cycle', async () => {
    const { connection, clinic, clock, start } = await open();
    clinic.appointments.set('block', appointmentOf('block', { time: month }));
    const tenant = start();
    await cycle(tenant);
    const [bucket] = await connection.keys('cm:*:links:doctor:*');
    const stored = (await connection.hget(bucket ?? '', 'block')) ?? '';
    await connection.hset(bucket ?? '', 'block', stored.replace(/\+[0-9a-z]+/, ''));
    expect([...(await tenant.links.read('doctor')).values()]).toMatchObject([{ endAt: month.startAt }]);
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect([...(await tenant.links.read('doctor')).values()]).toMatchObject([{ endAt: month.endAt }]);
    expect(targetOf(tenant).id).toBe('doctor');
  });
});
