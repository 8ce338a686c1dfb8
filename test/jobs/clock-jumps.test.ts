import { expect, test } from 'vitest';
import { MirrorError } from '../../src/model/errors.ts';
import { DAY_MS } from '../../src/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { cycle, pull } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis({ appendOnly: false });
const AHEAD_MS = 20 * DAY_MS;

function open() {
  const clinic = createModelClinic();
  for (let index = 0; index < 5; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 25 * 24 + index }));
  }
  const model = createModelTarget();
  const clock = { now: NOW + AHEAD_MS };
  const tenant = openTenant({ redis: redis.connect(), clinic, clock: () => clock.now, targets: [{ model }] });
  return { clinic, model, clock, tenant };
}

test('what was decided while the clock ran ahead is written after it was put back', async () => {
  const { model, clock, tenant } = open();
  await pull(tenant);
  clock.now = NOW;
  await cycle(tenant);
  expect(model.objects()).toHaveLength(5);
});

test('a rest that began while the clock ran ahead ends after it was put back', async () => {
  const { model, clock, tenant } = open();
  await pull(tenant);
  model.wholeTargetError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
  await cycle(tenant);
  model.wholeTargetError = null;
  clock.now = NOW;
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
