import { expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, pull } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis({ appendOnly: false });
const AHEAD_MS = 20 * DAY_MS;
/** A host that took local time for UTC. */
const AN_HOUR_AND_MORE_MS = 3_700_000;

function open(aheadMs = AHEAD_MS) {
  const clinic = createModelClinic();
  for (let index = 0; index < 5; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 25 * 24 + index }));
  }
  const model = createModelTarget();
  const clock = { now: NOW + aheadMs };
  const tenant = openTenant({ redis: redis.connect(), clinic, clock: () => clock.now, targets: [{ model }] });
  return { clinic, model, clock, tenant };
}

test.each([AHEAD_MS, AN_HOUR_AND_MORE_MS])(
  'a change planned while the clock ran %d ms ahead is written after the clock is set back',
  async (aheadMs) => {
    const { model, clock, tenant } = open(aheadMs);
    await pull(tenant);
    clock.now = NOW;
    await cycle(tenant);
    expect(model.objects()).toHaveLength(5);
  },
);

test.each([AHEAD_MS, AN_HOUR_AND_MORE_MS])(
  'a pause that began while the clock ran %d ms ahead ends after the clock is set back',
  async (aheadMs) => {
    const { model, clock, tenant } = open(aheadMs);
    await pull(tenant);
    model.wholeTargetError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    await cycle(tenant);
    model.wholeTargetError = null;
    clock.now = NOW;
    await cycle(tenant);
    expect(model.objects()).toHaveLength(5);
  },
);

test('an entry that failed while the clock ran ahead is retried after the clock is set back, with the usual delays', async () => {
  const { model, clock, tenant } = open(AN_HOUR_AND_MORE_MS);
  model.fault = () => 'unavailable';
  await cycle(tenant);
  clock.now = NOW;
  await cycle(tenant);
  const before = model.calls.operations;
  await cycle(tenant);
  expect(model.calls.operations).toBe(before);
  model.fault = () => null;
  clock.now += DAY_MS;
  await cycle(tenant);
  expect(model.objects()).toHaveLength(5);
});

test('a jump ahead and back removes nothing and makes nothing twice', async () => {
  const { clinic, model, clock, tenant } = open();
  clock.now = NOW;
  clinic.appointments.set('near', appointmentOf('near', { inHours: 24 }));
  await cycle(tenant);
  for (const now of [NOW + 400 * DAY_MS, NOW]) {
    clock.now = now;
    await cycle(tenant);
    await cycle(tenant);
    expect(model.objects()).toHaveLength(6);
  }
  expect(await tenant.links.count('doctor')).toBe(6);
});
