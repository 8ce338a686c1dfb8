import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { status } from '../../src/operator/control/status.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, pull, targetOf } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

const redis = useRedis();
const SUPERSEDED = { actor: 'settings', code: 'configuration-superseded' };

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const clinic = createModelClinic(50);
  const model = createModelTarget();
  const clock = { now: NOW };
  const start = (configuration: Partial<TargetConfiguration> = {}) =>
    openTenant({ redis: redis.connect(), clinic, clock: () => clock.now, targets: [{ model, configuration }] });
  return { connection, clinic, model, clock, start };
}

const statusOf = async (tenant: OpenTenant) =>
  (await status(openInstallation({ tenants: [tenant] }))).tenants[0]?.configuration;

describe('of two processes with different configurations', () => {
  test('the older one neither plans nor writes nor audits: after the change each event is written once', async () => {
    const { model, clock, start } = await open();
    const before = start({ title: 'full' });
    await cycle(before);
    const after = start({ title: 'busy' });
    await cycle(after);
    const written = model.calls.operations;
    expect(written).toBe(100);
    for (let turns = 0; turns < 5; turns += 1) {
      clock.now += 5 * MINUTE_MS;
      await expect(pull(before)).rejects.toMatchObject(SUPERSEDED);
      const signals = { stop: NEVER, abort: NEVER };
      await expect(pushTarget(before, targetOf(before), signals)).rejects.toMatchObject(SUPERSEDED);
      await expect(auditTarget(before, targetOf(before), NEVER)).rejects.toMatchObject(SUPERSEDED);
      await cycle(after);
    }
    expect(model.calls.operations).toBe(written);
    expect(new Set(model.objects().map(({ item }) => item.title))).toEqual(new Set(['Busy']));
    const runs = await after.runs.list(50);
    expect(runs.filter(({ error }) => error !== null)).toEqual([]);
    expect(await before.targetStore.read('doctor')).toMatchObject({ failure: null });
  });

  test('the older one stops its running write', async () => {
    const { clinic, model, start } = await open();
    const before = start({ title: 'full' });
    const after = start({ title: 'busy' });
    const read = clinic.readAppointments;
    clinic.readAppointments = async (...query) => {
      clinic.readAppointments = read;
      await cycle(after);
      return read(...query);
    };
    await expect(pullTenant(before, NEVER)).rejects.toMatchObject(SUPERSEDED);
    expect(await after.outbox.counts('doctor')).toMatchObject({ pending: 0 });
    expect(new Set(model.objects().map(({ item }) => item.title))).toEqual(new Set(['Busy']));
    expect(model.calls.operations).toBe(50);
  });

  test('the older one loses the leases that it holds, so that nothing late is written', async () => {
    const { start } = await open();
    const before = start({ title: 'full' });
    const [plan, lane] = [await before.leases.tryTake('plan'), await before.leases.tryTake('lane-doctor')];
    await before.leases.tryTake('streams');
    const after = start({ title: 'busy' });
    await after.configVersion.join();
    expect(await after.leases.tryTake('streams')).not.toBeNull();
    await expect(before.leases.tryTake('streams')).rejects.toMatchObject(SUPERSEDED);
    const change = {
      recordId: '1',
      reason: 'cancelled',
      fields: [],
      wanted: { want: 'absent', startAt: NOW, endAt: NOW },
    } as const;
    await expect(before.outbox.put('doctor', [change], { now: NOW, lease: plan! })).rejects.toMatchObject({
      code: 'lease-lost',
    });
    await expect(before.links.clear('doctor', lane!)).rejects.toMatchObject({ code: 'lease-lost' });
    await expect(before.leases.take('plan', 1_000, NEVER)).rejects.toMatchObject(SUPERSEDED);
    expect(await before.leases.tryTake('login')).not.toBeNull();
  });

  test('the restarted one continues, even with the previous configuration', async () => {
    const { model, start } = await open();
    await cycle(start({ title: 'full' }));
    const second = start({ title: 'busy' });
    await cycle(second);
    const back = start({ title: 'full' });
    await cycle(back);
    expect(new Set(model.objects().map(({ item }) => item.title))).not.toContain('Busy');
    await expect(pull(second)).rejects.toMatchObject(SUPERSEDED);
    expect(await statusOf(back)).toEqual({ number: 3, isOurs: true, supersededAt: NOW });
  });

  test('what the older one decided is not written before the newer one has planned', async () => {
    const { model, start } = await open();
    await pull(start({ title: 'full' }));
    const after = start({ title: 'busy' });
    await pushTarget(after, targetOf(after), { stop: NEVER, abort: NEVER });
    expect(model.objects()).toEqual([]);
    await cycle(after);
    expect(new Set(model.objects().map(({ version }) => version))).toEqual(new Set([1]));
  });

  test('a read-only command gets no number, and is notified that the files have changed', async () => {
    const { clock, start } = await open();
    const running = start({ title: 'full' });
    await cycle(running);
    expect(await statusOf(start({ title: 'busy' }))).toEqual({ number: 1, isOurs: false, supersededAt: null });
    await cycle(running);
    await cycle(start({ title: 'busy' }));
    await expect(pull(running)).rejects.toMatchObject(SUPERSEDED);
    expect(await statusOf(running)).toMatchObject({ isOurs: false, supersededAt: NOW });
    clock.now += 10 * MINUTE_MS;
    expect(await statusOf(running)).toMatchObject({ supersededAt: null });
  });

  test('the newer one wins again after the state was lost', async () => {
    const { connection, start } = await open();
    const before = start({ title: 'full' });
    await cycle(before);
    const after = start({ title: 'busy' });
    await cycle(after);
    await connection.flushall();
    await pull(before);
    await pull(after);
    await expect(pull(before)).rejects.toMatchObject(SUPERSEDED);
  });
});

test('processes with the same configuration share its number', async () => {
  const { start } = await open();
  const [one, other] = [start(), start()];
  await cycle(one);
  await cycle(other);
  await cycle(one);
  expect(await statusOf(one)).toEqual({ number: 1, isOurs: true, supersededAt: null });
});
