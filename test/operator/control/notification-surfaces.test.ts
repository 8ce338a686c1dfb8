import { expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { status } from '../../../src/operator/control/status.ts';
import { maintainSubscriptions } from '../../../src/tenant/subscriptions.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget, createModelVendor, giveSubscriptions } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();

/** Opens two targets, one of a vendor that sends notifications. */
async function twoTargets(choice: { notificationsUrl: string | null }) {
  const clock = { now: NOW };
  const vendor = createModelVendor(() => clock.now);
  const targets = [
    { id: 'doctor', model: giveSubscriptions(createModelTarget(), vendor) },
    { id: 'room', model: createModelTarget() },
  ];
  const clinic = createModelClinic();
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => clock.now, ...choice });
  await cycle(tenant);
  for (const target of ['doctor', 'room']) await tenant.targetStore.write(target, { container: 'calendar-1' });
  return { clock, vendor, tenant, installation: openInstallation({ tenants: [tenant] }) };
}

function heard(metrics: string): string[] {
  return metrics.split('\n').filter((line) => line.startsWith('clinic_mirror_target_notifications_active{'));
}

test('status and metrics show notified targets, with begin and end, and the reason for others', async () => {
  const { clock, vendor, tenant, installation } = await twoTargets({ notificationsUrl: 'https://mirror.test' });
  await maintainSubscriptions(tenant, { hurry: false }, { stop: NEVER, abort: NEVER });
  const metrics = createMetrics(() => installation);
  const text = renderStatus(await status(installation));
  const time = (at: number) => new Date(at).toISOString().replace('T', ' ').replace('.000', '');
  expect(text).toContain(`doctor: change notifications since ${time(NOW)}, until ${time(NOW + 2 * DAY_MS)}\n`);
  expect(text).toContain('manual changes are found only by polling: room (not-offered)');
  expect(heard(await metrics.render())).toEqual([
    'clinic_mirror_target_notifications_active{tenant="studio-rossi",target="doctor"} 1',
    'clinic_mirror_target_notifications_active{tenant="studio-rossi",target="room"} 0',
  ]);
  const failure = new MirrorError('no', { actor: 'remote', code: 'server-error', retry: 'later' });
  vendor.fault = () => failure;
  clock.now += DAY_MS;
  await maintainSubscriptions(tenant, { hurry: false }, { stop: NEVER, abort: NEVER });
  expect(renderStatus(await status(installation))).toMatch(/doctor: change notifications since [^)]*server-error/);
  clock.now += DAY_MS;
  expect(renderStatus(await status(installation))).toContain(
    'only by polling: doctor (server-error); room (not-offered)',
  );
  expect(heard(await metrics.render())[0]).toMatch(/doctor"} 0$/);
});

test('without a public URL one line reports that all targets are polled', async () => {
  const { tenant, installation } = await twoTargets({ notificationsUrl: null });
  await maintainSubscriptions(tenant, { hurry: false }, { stop: NEVER, abort: NEVER });
  expect(renderStatus(await status(installation))).toContain(
    'manual changes are found only by polling: doctor (no-public-address); room (not-offered)',
  );
});

test('requests to the receiver are counted by connector and result', async () => {
  const metrics = createMetrics(() => null);
  metrics.countNotification('google-calendar', 'hint');
  metrics.countNotification('google-calendar', 'hint');
  metrics.countNotification('none', 'unreadable');
  const lines = (await metrics.render()).split('\n').filter((line) => line.startsWith('clinic_mirror_notifications'));
  expect(lines).toEqual([
    'clinic_mirror_notifications_total{connector="google-calendar",result="hint"} 2',
    'clinic_mirror_notifications_total{connector="none",result="unreadable"} 1',
  ]);
});
