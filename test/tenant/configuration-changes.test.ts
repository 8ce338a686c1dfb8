import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import type { Lease } from '../../src/engine/store.ts';
import { targetStatus } from '../../src/operator/control/status.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, asOfFirstVersion, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { drain, NEVER, pull, targetOf } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openTenant, type TargetChoice } from './open-tenant.ts';

const redis = useRedis();

/** A clinic with five appointments, and starts of the daemon under one configuration after another. */
function open() {
  const clinic = createModelClinic(5);
  const clock = { now: NOW };
  const start = (model: ModelTarget, configuration: TargetChoice['configuration'] = {}) =>
    openTenant({ redis: redis.connect(), clinic, clock: () => clock.now, targets: [{ model, configuration }] });
  return { clinic, clock, start };
}

/** A cycle as the daemon runs it: a lane without pending writes does not run. */
async function cycle(tenant: OpenTenant): Promise<void> {
  await pull(tenant);
  for (const target of tenant.targets.values()) {
    if ((await tenant.outbox.nextDueAt(target.id)) !== null) await drain(tenant, target);
  }
}

async function stateOf(tenant: OpenTenant) {
  return targetStatus(tenant, targetOf(tenant), await tenant.holds.list());
}

describe('a target that is given another calendar', () => {
  test('fills it with the first cycle, although the clinic changed nothing', async () => {
    const { start } = open();
    const before = createModelTarget();
    await cycle(start(before, { settings: { calendar: 'one' } }));
    const after = createModelTarget();
    after.replaceCalendar();
    const tenant = start(after, { settings: { calendar: 'two' } });
    await cycle(tenant);
    expect(after.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', inSyncAsOf: NOW, links: 5 });
    expect(before.objects()).toHaveLength(5);
  });

  test('is not called in sync while the new one cannot be reached, and is filled when it can', async () => {
    const { start, clock } = open();
    await cycle(start(createModelTarget(), { settings: { calendar: 'one' } }));
    const after = createModelTarget();
    after.replaceCalendar();
    after.wholeTargetError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    const tenant = start(after, { settings: { calendar: 'two' } });
    clock.now += DAY_MS / 24;
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'backing-off', inSyncAsOf: NOW });
    after.wholeTargetError = null;
    clock.now += DAY_MS / 24;
    await cycle(tenant);
    expect(after.objects()).toHaveLength(5);
    await pull(tenant);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', inSyncAsOf: clock.now });
  });

  test('is identified only once', async () => {
    const { start } = open();
    const model = createModelTarget();
    await cycle(start(model));
    const again = start(model);
    await cycle(again);
    const asked = { ...model.calls };
    await cycle(again);
    expect(model.calls).toEqual(asked);
  });
});

describe('a target whose configuration changed between two starts', () => {
  test('passes an agenda to another target: each appointment is in one calendar', async () => {
    const { clinic } = open();
    const models = { doctor: createModelTarget(), nurse: createModelTarget() };
    const start = (doctor: string[], nurse: string[]) =>
      openTenant({
        redis: redis.connect(),
        clinic,
        clock: () => NOW,
        targets: [
          { id: 'doctor', model: models.doctor, configuration: { agendas: doctor } },
          { id: 'nurse', model: models.nurse, configuration: { agendas: nurse } },
        ],
      });
    await cycle(start(['a1', 'a2'], ['a3']));
    await cycle(start(['a2'], ['a1', 'a3']));
    expect(models.doctor.objects()).toEqual([]);
    expect(models.nurse.objects()).toHaveLength(5);
  });

  test('writes another title into the same objects', async () => {
    const { start } = open();
    const model = createModelTarget();
    await cycle(start(model, { title: 'full' }));
    const keys = model.objects().map(({ key }) => key);
    await cycle(start(model, { title: 'busy' }));
    expect(model.objects().map(({ key }) => key)).toEqual(keys);
    expect(new Set(model.objects().map(({ item }) => item.title))).toEqual(new Set(['Busy']));
  });

  test('releases appointments outside a smaller window, and plans them again in a larger one', async () => {
    const { clinic, clock, start } = open();
    const model = createModelTarget();
    await cycle(start(model));
    clock.now += 5 * DAY_MS;
    await cycle(start(model, { window: { pastDays: 0, futureDays: 60 } }));
    expect(model.objects()).toHaveLength(5);
    const moved = clinic.appointments.get('0')!;
    const startAt = clock.now + DAY_MS;
    clinic.appointments.set('0', { ...moved, time: { kind: 'timed', startAt, endAt: startAt + 1 } });
    const tenant = start(model, { window: { pastDays: 30, futureDays: 60 } });
    await cycle(tenant);
    expect(model.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', links: 5 });
  });
});

describe('failure of a target with nothing to write', () => {
  test('is over when its calendar answers again', async () => {
    const { start, clock } = open();
    const model = createModelTarget();
    const tenant = start(model);
    await cycle(tenant);
    model.wholeTargetError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    await auditTarget(tenant, targetOf(tenant), NEVER);
    expect((await stateOf(tenant)).reason).toBe('backing-off');
    model.wholeTargetError = null;
    clock.now += DAY_MS / 24;
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', inSyncAsOf: clock.now });
  });
});

describe('a first run that was rejected', () => {
  test('is not called in sync', async () => {
    const { start } = open();
    const model = createModelTarget();
    const tenant = start(model, { firstRun: 'plan' });
    await cycle(tenant);
    const [hold] = await tenant.holds.list();
    await tenant.holds.decide(hold!.id, { state: 'rejected', now: NOW, expiresAt: NOW + DAY_MS });
    await cycle(tenant);
    expect(model.objects()).toEqual([]);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'first-sync', inSyncAsOf: null });
  });
});

describe('a daemon of a newer version', () => {
  test('writes nothing again for the links of version 0.1.0, and makes them its own when it reads the target', async () => {
    const { clinic, start } = open();
    const model = createModelTarget();
    const tenant = start(model);
    await cycle(tenant);
    const target = targetOf(tenant);
    const links = [...(await tenant.links.read(target.id)).values()];
    const older = links.map((link) => ({ ...link, fingerprint: asOfFirstVersion(link.fingerprint) }));
    const lease = await tenant.leases.tryTake('plan');
    await tenant.links.writeAll(target.id, older, lease as Lease);
    await lease?.release();
    const written = model.calls.operations;

    await cycle(tenant);
    expect(model.calls.operations).toBe(written);

    expect(await auditTarget(tenant, target, NEVER)).toMatchObject({ edited: 0, fields: {} });
    // The subject follows with the next write.
    const bare = links.map((link) => ({ ...link, fingerprint: link.fingerprint.replace(/~.*/, '') }));
    expect([...(await tenant.links.read(target.id)).values()]).toEqual(bare);
    clinic.appointments.set('0', appointmentOf('0', { inHours: 30 }));
    await cycle(tenant);
    expect(model.calls.operations).toBe(written + 1);
  });
});

describe('how events are shown, changed between two starts', () => {
  const SHOWN = {
    visibility: 'default',
    tentative: ['booked'],
    labels: [{ colour: 'red' }],
    reminderMinutes: 15,
  } as const satisfies TargetChoice['configuration'];

  test.each(Object.entries(SHOWN))('is written into each event once: %s', async (key, value) => {
    const { start } = open();
    const model = createModelTarget();
    await cycle(start(model));
    const before = model.objects().map(({ item }) => item);
    const tenant = start(model, { [key]: value });
    await cycle(tenant);
    expect(model.calls.operations).toBe(10);
    for (const [index, { item }] of model.objects().entries()) expect(item).not.toEqual(before[index]);
    await cycle(tenant);
    await cycle(start(model, { [key]: value }));
    expect(model.calls.operations, 'nothing is written again').toBe(10);
    await cycle(start(model));
    expect(model.objects().map(({ item }) => item)).toEqual(before);
  });
});

describe('the page of an appointment in the clinic system', () => {
  const links = { links: ['page'] } as const satisfies TargetChoice['configuration'];
  const PAGE = 'https://clinic.example/agenda?open=0';

  test.each([
    ['in its place', ['pageUrl'], { description: null, presets: { pageUrl: PAGE } }],
    ['in the text where the vendor has none', [], { description: `In the clinic system: ${PAGE}` }],
  ] as const)('is shown %s, and follows the profile', async (_, presets, expected) => {
    const { clinic, start } = open();
    const model = createModelTarget({ presets });
    const shown = () => model.objects()[0]?.item;
    await cycle(start(model, links));
    expect(shown()).not.toHaveProperty('presets');
    Object.assign(clinic, { pageUrl: 'https://clinic.example/agenda?open={id}' });
    const tenant = start(model, links);
    await cycle(tenant);
    await cycle(tenant);
    expect(shown()).toMatchObject(expected);
    expect(model.calls.operations, 'each is written once').toBe(10);
  });
});
