import { expect, test } from 'vitest';
import { failed } from '../../src/connectors/outcomes.ts';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { wakeAfterChange } from '../../src/daemon/daemon-work.ts';
import { endWait, recordFailure } from '../../src/engine/lane.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { decideHold } from '../../src/features/holds/holds.ts';
import { renderSync } from '../../src/operator/cli/render-sync.ts';
import { tryWhatWaits } from '../../src/operator/control/resume.ts';
import { status } from '../../src/operator/control/status.ts';
import { syncTenant } from '../../src/operator/control/sync.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { drain, NEVER, pull, targetOf } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';
import { auditOf, openDriftWorld } from '../tenant/world.ts';

const redis = useRedis();
const SIGNALS = { stop: new AbortController().signal, abort: new AbortController().signal };

const GONE = new MirrorError('the calendar is not there', {
  ...{ actor: 'settings', code: 'calendar-gone', retry: 'never', concerns: 'target' },
});

test('what failed for the whole target while others came through waits with the target, and goes at once when the cause is over', async () => {
  const { tenant, clock, model } = openDriftWorld(redis.connect(), 4, 'repair');
  await pull(tenant);
  const target = targetOf(tenant);
  const given = target.connector;
  let isOver = false;
  let calls = 0;
  const connector: typeof given = {
    ...given,
    async apply(container, operations, signal) {
      calls += 1;
      if (isOver) return given.apply(container, operations, signal);
      if (calls > 1) throw GONE;
      const [first, ...others] = operations;
      const through = await given.apply(container, [first!], signal);
      return [...through, ...others.map((operation) => failed(operation, GONE))];
    },
  };
  Object.defineProperty(target, 'connector', { value: connector });
  await drain(tenant, target);
  const waiting = [...(await tenant.outbox.pending('doctor')).values()];
  expect(waiting.map(({ parked }) => parked)).toEqual([false, false, false]);
  expect(Math.max(...waiting.map(({ dueAt }) => dueAt))).toBeLessThan(clock.now + MINUTE_MS);

  clock.now += MINUTE_MS;
  await drain(tenant, target);
  expect((await tenant.targetStore.read('doctor')).failure).toMatchObject({ code: 'calendar-gone' });
  isOver = true;
  clock.now += HOUR_MS;
  await drain(tenant, target);
  expect(model.objects().filter(({ ownerTag }) => ownerTag !== null)).toHaveLength(4);
  expect((await tenant.targetStore.read('doctor')).failure).toBeNull();
});

test('an operation parked for a fault of the whole target is retried when the target works again', async () => {
  const world = openDriftWorld(redis.connect(), 2, 'repair');
  const { tenant, clock, model } = world;
  await pull(tenant);
  model.fault = (operation) => (operation.recordId === '1' ? 'refused' : null);
  await drain(tenant, targetOf(tenant));
  const [entry] = [...(await tenant.outbox.pending('doctor')).values()];
  expect(entry).toMatchObject({ parked: true });
  expect(entry!.dueAt).toBeGreaterThan(clock.now + DAY_MS - HOUR_MS);
  const { lastError: code } = entry!;
  await recordFailure(
    tenant,
    targetOf(tenant),
    new MirrorError('x', { actor: 'settings', code: code!, retry: 'never' }),
  );
  model.fault = () => null;
  clock.now += 2 * HOUR_MS;
  await drain(tenant, targetOf(tenant));
  expect(model.objects().filter(({ ownerTag }) => ownerTag !== null)).toHaveLength(2);
});

test('a readable target ends the failure of a connection, but not the failure of pending writes', async () => {
  const world = openDriftWorld(redis.connect(), 1, 'repair');
  const { tenant, clinic, clock } = world;
  await pull(tenant);
  await drain(tenant, targetOf(tenant));
  const forbidden = new MirrorError('x', { actor: 'authorization', code: 'forbidden', retry: 'never' });
  await recordFailure(tenant, targetOf(tenant), forbidden);
  clock.now += 2 * HOUR_MS;
  await auditOf(tenant);
  expect((await tenant.targetStore.read('doctor')).failure).toBeNull();

  clinic.appointments.set('new', appointmentOf('new', { inHours: 72 }));
  await pull(tenant);
  await recordFailure(tenant, targetOf(tenant), forbidden);
  const { sinceAt } = (await tenant.targetStore.read('doctor')).failure!;
  clock.now += 2 * HOUR_MS;
  await auditOf(tenant);
  expect((await tenant.targetStore.read('doctor')).failure).toMatchObject({ code: 'forbidden', sinceAt });
});

test('an entry that is the only one with an error of the whole target is delayed by a day, and the target is ok', async () => {
  const { tenant, clinic, clock } = openDriftWorld(redis.connect(), 1, 'repair');
  const target = targetOf(tenant);
  const given = target.connector;
  const connector: typeof given = {
    ...given,
    async apply(container, operations, signal) {
      const others = operations.filter(({ recordId }) => recordId !== '0');
      if (others.length === 0) throw GONE;
      const through = await given.apply(container, others, signal);
      return [...through, ...operations.filter(({ recordId }) => recordId === '0').map((one) => failed(one, GONE))];
    },
  };
  Object.defineProperty(target, 'connector', { value: connector });
  for (let round = 1; round <= 4; round += 1) {
    await pull(tenant);
    await drain(tenant, target);
    clinic.appointments.set(`new-${round}`, appointmentOf(`new-${round}`, { inHours: 72 + round }));
    clock.now += 2 * HOUR_MS;
  }
  const [entry, ...others] = [...(await tenant.outbox.pending('doctor')).values()];
  expect(entry).toMatchObject({ recordId: '0', parked: true });
  expect(entry!.dueAt).toBeGreaterThan(clock.now + HOUR_MS);
  expect(others).toEqual([]);
  expect((await tenant.targetStore.read('doctor')).failure).toBeNull();
});

test('a target that requires action runs as soon as a new password is applied', async () => {
  const { tenant } = openDriftWorld(redis.connect(), 1, 'repair');
  const refused = { actor: 'authorization', code: 'password-refused', retry: 'never' } as const;
  await recordFailure(tenant, targetOf(tenant), new MirrorError('x', refused));
  const woken: string[] = [];
  const queues = { wake: async (_: string, target: string) => void woken.push(target), pullNow: async () => {} };
  await wakeAfterChange({ installation: { tenants: new Map([[tenant.id, tenant]]) }, queues }, [tenant.id, 'unknown']);
  expect(woken).toEqual(['doctor']);
  expect((await tenant.targetStore.read('doctor')).pausedUntil).toBeNull();

  await pull(tenant);
  await drain(tenant, targetOf(tenant));
  expect((await tenant.targetStore.read('doctor')).failure).toBeNull();
  await wakeAfterChange({ installation: { tenants: new Map([[tenant.id, tenant]]) }, queues }, [tenant.id]);
  expect(woken).toEqual(['doctor']);
});

test('the other targets of a limited vendor account wait for the refused target, which retries first, whichever target requests work', async () => {
  const clock = { now: NOW };
  const room = (connection: string) => ({ model: createModelTarget(), id: connection, configuration: { connection } });
  const targets = [
    { ...room('shared'), id: 'doctor' },
    { ...room('shared'), id: 'nurse' },
    { ...room('own'), id: 'room' },
  ];
  const tenant = openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets, clock: () => clock.now });
  const limit = { actor: 'remote', code: 'rate-limited', retry: 'later', retryAfterMs: 20_000 } as const;
  await recordFailure(tenant, tenant.targets.get('doctor')!, new MirrorError('x', limit));
  const [doctor, nurse, elsewhere] = await Promise.all(
    ['doctor', 'nurse', 'room'].map((id) => tenant.targetStore.read(id)),
  );
  expect(doctor!.pausedUntil).toBeGreaterThanOrEqual(NOW + 20_000);
  expect(nurse).toMatchObject({ failure: null });
  expect(nurse!.pausedUntil! - doctor!.pausedUntil!).toBe(2_000);
  expect(elsewhere).toMatchObject({ failure: null, pausedUntil: null });
  await tryWhatWaits(tenant);
  clock.now = nurse!.pausedUntil! - 1;
  expect(await pushTarget(tenant, tenant.targets.get('nurse')!, SIGNALS)).toMatchObject({ idle: true, nextInMs: 1 });
});

test('the end of an outage does not end the wait of a limited account', async () => {
  const room = { model: createModelTarget(), configuration: { connection: 'shared' } };
  const targets = [
    { ...room, id: 'doctor' },
    { ...room, id: 'nurse' },
  ];
  const tenant = openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets, clock: () => NOW });
  await tenant.targetStore.write('nurse', { outage: 'dav.example', pausedUntil: NOW + 1_000 });
  const limit = { actor: 'remote', code: 'rate-limited', retry: 'later', retryAfterMs: 20_000 } as const;
  await recordFailure(tenant, tenant.targets.get('doctor')!, new MirrorError('x', limit));
  expect(await endWait(tenant, 'nurse', 'dav.example')).toBe(false);
  expect((await tenant.targetStore.read('nurse')).pausedUntil).toBeGreaterThanOrEqual(NOW + 20_000);
});

test('a target that fails with one code writes one warning until the code changes or the target works again', async () => {
  const warned: object[] = [];
  const world = openDriftWorld(redis.connect(), 1, 'repair');
  const log: Logger = { ...silentLogger, warn: (data) => warned.push(data) };
  const tenant: OpenTenant = { ...world.tenant, log };
  const failTenTimes = async (code: string) => {
    for (let tries = 0; tries < 10; tries += 1)
      await recordFailure(tenant, targetOf(tenant), new MirrorError('x', { actor: 'settings', code, retry: 'never' }));
  };
  await failTenTimes('address-not-allowed');
  expect(warned).toMatchObject([{ target: 'doctor', code: 'address-not-allowed' }]);
  await failTenTimes('calendar-gone');
  expect(warned).toMatchObject([{}, { code: 'calendar-gone' }]);

  world.clock.now += 2 * DAY_MS;
  await pull(world.tenant);
  await drain(world.tenant, targetOf(world.tenant));
  expect((await tenant.targetStore.read('doctor')).failure).toBeNull();
  await failTenTimes('calendar-gone');
  expect(warned).toMatchObject([{}, {}, { code: 'calendar-gone' }]);
});

const EVENTS = 12;

/** A calendar with written events that a user deleted since; a new process opens it. */
async function openReplaced(firstRun: 'plan' | 'apply') {
  const clinic = createModelClinic(EVENTS);
  const model = createModelTarget();
  const state = { now: NOW };
  const connection = redis.connect();
  const start = () => {
    const targets = [{ model, configuration: { firstRun } }];
    const tenant = openTenant({ redis: connection, clinic, clock: () => state.now, targets });
    const installation = openInstallation({ tenants: [tenant] });
    const sync = () =>
      syncTenant(installation, tenant.id, { progress: () => {}, signals: { stop: NEVER, abort: NEVER } });
    const approve = async () => {
      const [hold] = (await tenant.holds.list()).filter((one) => one.state === 'open');
      await decideHold(installation, { tenant: tenant.id, hold: hold?.id ?? '', decision: 'approved' });
    };
    const problems = async () =>
      (await status(installation)).problems.filter(({ subject }) => subject === 'target doctor');
    return { tenant, installation, sync, approve, problems };
  };
  const before = start();
  await before.sync();
  if (firstRun === 'plan') {
    await before.approve();
    await before.sync();
  }
  expect(model.objects()).toHaveLength(EVENTS);
  state.now += DAY_MS / 24;
  model.replaceCalendar();
  return { model, state, ...start() };
}

test('a deleted calendar is filled again, and this is reported for three days', async () => {
  const { model, state, sync, problems } = await openReplaced('apply');
  const result = await sync();
  expect(renderSync(result)).toContain('doctor: the calendar was deleted, and a new calendar replaces it');
  expect(model.objects()).toHaveLength(EVENTS);
  expect(await problems()).toMatchObject([
    { code: 'calendar-replaced', health: 'action-required', sinceAt: state.now },
  ]);
  const toldUntil = state.now + 3 * DAY_MS;
  state.now += 1;
  expect(renderSync(await sync())).not.toContain('was gone');
  state.now = toldUntil;
  expect(await problems()).toHaveLength(1);
  state.now += 1;
  expect(await problems()).toEqual([]);
});

test('under firstRun: plan the new calendar starts with a first run: it is empty until an administrator approves', async () => {
  const { model, tenant, sync, approve, problems } = await openReplaced('plan');
  await sync();
  expect(model.objects()).toEqual([]);
  expect((await tenant.holds.list()).filter(({ state }) => state === 'open')).toMatchObject([
    { kind: 'first-run', recordIds: { length: EVENTS } },
  ]);
  expect((await problems()).map(({ code }) => code).sort()).toEqual(['calendar-replaced', 'on-hold']);
  await approve();
  await sync();
  expect(model.objects()).toHaveLength(EVENTS);
});

test.each([
  ['another name of its server', 'https://new.example/dav/me/cal/', null],
  ['another path', 'https://old.example/dav/me/other/', NOW],
])('a calendar under %s: users are told only of a calendar that they no longer see', async (_what, now, replacedAt) => {
  const model = createModelTarget();
  const target = { model };
  const tenant = openTenant({
    redis: redis.connect(),
    clinic: createModelClinic(2),
    targets: [target],
    clock: () => NOW,
  });
  const containers = ['https://old.example/dav/me/cal/', now];
  const { connector } = targetOf(tenant);
  Object.assign(connector, { prepare: async () => (containers.length > 1 ? containers.shift() : now) });
  await pull(tenant);
  targetOf(tenant).preparedContainer = null;
  await pull(tenant);
  await drain(tenant, targetOf(tenant));
  expect(await tenant.targetStore.read('doctor')).toMatchObject({ container: now, replacedAt });
});
