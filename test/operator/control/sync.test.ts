import { describe, expect, test, vi } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { laneLease } from '../../../src/engine/store.ts';
import { render } from '../../../src/messages/message.ts';
import { resumeTargets } from '../../../src/operator/control/resume.ts';
import { status } from '../../../src/operator/control/status.ts';
import { syncTenant } from '../../../src/operator/control/sync.ts';
import type { OpenTenant } from '../../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenantWorld } from '../../tenant/world.ts';
import { openBooked, openInstallation } from './open-installation.ts';

const redis = useRedis();
const SILENT = () => {};
const SIGNALS = { stop: NEVER, abort: NEVER };

async function stateOf(tenant: OpenTenant) {
  const { tenants } = await status(openInstallation({ tenants: [tenant] }));
  return tenants[0]?.targets[0];
}

describe('a sync on demand', () => {
  test('runs to the end and reports progress', async () => {
    const { model, installation } = openBooked(redis, 25);
    const told: [string, number | undefined, number | undefined][] = [];
    const result = await syncTenant(installation, 'studio-rossi', {
      progress: (step, done, total) => told.push([render(step), done, total]),
      signals: SIGNALS,
    });
    expect(result).toMatchObject({
      tenant: 'studio-rossi',
      run: { error: null },
      targets: [{ sync: 'in-sync', links: 25 }],
    });
    expect(model.objects()).toHaveLength(25);
    expect(told.at(0)?.[0]).toBe('reading the clinic');
    expect(told.at(-1)).toEqual(['writing', 25, 25]);
  });

  test('of a clinic with many targets writes at most 16 of them at the same time', async () => {
    const models = Array.from({ length: 40 }, () => createModelTarget());
    const { tenant } = openTenantWorld(
      redis,
      createModelClinic(3),
      models.map((model, index) => ({ id: `doctor-${index}`, model })),
    );
    let [atWork, most] = [0, 0];
    const tryTake = tenant.leases.tryTake.bind(tenant.leases);
    vi.spyOn(tenant.leases, 'tryTake').mockImplementation(async (...asked) => {
      const lease = await tryTake(...asked);
      if (lease === null || !asked[0].startsWith(laneLease(''))) return lease;
      atWork += 1;
      most = Math.max(most, atWork);
      const release = lease.release.bind(lease);
      return Object.assign(lease, {
        async release() {
          atWork -= 1;
          await release();
        },
      });
    });
    const installation = openInstallation({ tenants: [tenant] });
    const { targets } = await syncTenant(installation, tenant.id, { progress: SILENT, signals: SIGNALS });
    expect(targets.map(({ sync, links }) => [sync, links])).toEqual(models.map(() => ['in-sync', 3]));
    expect([atWork, most]).toEqual([0, 16]);
  });

  test('of a paused tenant reads and writes nothing, and reports the reason', async () => {
    const { clinic, installation } = openBooked(redis, 3, { paused: true });
    await expect(
      syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS }),
    ).rejects.toMatchObject({
      actor: 'settings',
      code: 'tenant-paused',
    });
    expect(clinic.counts.lists).toBe(0);
  });

  test('retries at once a target that waited for an operator, but not one whose vendor asked to wait', async () => {
    const { clinic, model, clock, installation, tenant } = openBooked(redis, 2);
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.wholeTargetError = new MirrorError('x', { actor: 'authorization', code: 'login-refused', retry: 'never' });
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'error' });
    model.wholeTargetError = null;
    const result = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(result.targets).toMatchObject([{ sync: 'in-sync', links: 3 }]);
    clinic.appointments.set('10', appointmentOf('10'));
    const throttled = { actor: 'remote', code: 'rate-limited', retry: 'later', retryAfterMs: HOUR_MS } as const;
    model.wholeTargetError = new MirrorError('x', throttled);
    await cycle(tenant);
    const { apply } = model.calls;
    model.wholeTargetError = null;
    await resumeTargets(tenant);
    const resting = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(resting.targets).toMatchObject([{ reason: 'backing-off', pending: 1 }]);
    expect(model.calls.apply).toBe(apply);
    clock.now += 2 * HOUR_MS;
    expect(
      (await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS })).targets,
    ).toMatchObject([{ sync: 'in-sync' }]);
  });

  test('retries blocked changes and a target in its own pause', async () => {
    const { clinic, model, installation, tenant } = openBooked(redis, 2);
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.fault = ({ recordId }) => (recordId === '9' ? 'refused' : null);
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ pending: 1, failing: 1 });
    model.fault = () => null;
    const failing = { actor: 'remote', code: 'server-unavailable', retry: 'later' } as const;
    model.wholeTargetError = new MirrorError('x', failing);
    clinic.appointments.set('10', appointmentOf('10'));
    await cycle(tenant);
    model.wholeTargetError = null;
    const { targets } = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(targets).toMatchObject([{ sync: 'in-sync', links: 4, pending: 0 }]);
  });

  test('tries a target that needs an operator once, and does not wait for the next try', async () => {
    let now = NOW;
    const { clinic, model, tenant, installation } = openBooked(redis, 2, { clock: () => (now += 300) });
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.wholeTargetError = new MirrorError('x', { actor: 'authorization', code: 'login-refused', retry: 'never' });
    const { apply, prepare } = model.calls;
    const result = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(result.targets).toMatchObject([{ reason: 'error', pending: 1 }]);
    expect(model.calls).toMatchObject({ apply: apply + 1, prepare });
  });

  test('waits for another worker on the lane of a stopped target, after an operator’s action', async () => {
    const { clinic, model, tenant, installation } = openBooked(redis, 2);
    await cycle(tenant);
    clinic.appointments.set('9', appointmentOf('9'));
    model.wholeTargetError = new MirrorError('x', { actor: 'authorization', code: 'login-refused', retry: 'never' });
    await cycle(tenant);
    model.wholeTargetError = null;
    const { leases } = tenant;
    const another = await leases.tryTake(laneLease('doctor'));
    const tryTake = leases.tryTake.bind(leases);
    let refusals = 0;
    vi.spyOn(leases, 'tryTake').mockImplementation(async (...asked) => {
      const lease = await tryTake(...asked);
      // The cycle continues without the lane; writes do not.
      if (lease === null && ++refusals === 2) await another?.release();
      return lease;
    });
    const result = await syncTenant(installation, 'studio-rossi', { progress: SILENT, signals: SIGNALS });
    expect(result.targets).toMatchObject([{ sync: 'in-sync', links: 3 }]);
  });
});
