import { describe, expect, onTestFinished, test } from 'vitest';
import { startRestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf, twoCycles } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant, type TargetChoice } from '../tenant/open-tenant.ts';
import { writeToEspoCrm } from '../tenant/rest-crm-targets.ts';
import { openCalendarWorld, openCrmWorld, patientOf, stateOf } from '../tenant/world.ts';

const redis = useRedis();

const open = (booked: number, choice?: Partial<TargetChoice>) => openCalendarWorld(redis, booked, choice);

/** Every value of Redis, as text. */
async function dumpOf(connection: ReturnType<typeof redis.connect>, stored: readonly string[]) {
  const parts = stored.map(async (key) => {
    const type = await connection.type(key);
    if (type === 'hash') return [key, await connection.hgetall(key)];
    if (type === 'zset') return [key, await connection.zrange(key, '0', '-1')];
    if (type === 'list') return [key, await connection.lrange(key, 0, -1)];
    return [key, await connection.get(key)];
  });
  return JSON.stringify(await Promise.all(parts));
}

function failure(code: string, retry: 'later' | 'never', changes: { retryAfterMs?: number } = {}): MirrorError {
  const actor = retry === 'never' ? 'authorization' : 'remote';
  return new MirrorError('x', { actor, code, retry, ...changes });
}

describe('an operation that fails', () => {
  test('permanently is parked, while all others continue', async () => {
    const { model, clock, tenant } = open(30);
    model.fault = ({ recordId }) => (recordId === '3' ? 'refused' : null);
    await cycle(tenant);
    expect(model.objects()).toHaveLength(29);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'writes-failed', pending: 1, failing: 1, inSyncAsOf: null });
    expect(await tenant.outbox.pendingOf('doctor', '3')).toMatchObject({ parked: true, lastError: 'refused' });
    const before = model.calls.operations;
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(model.calls.operations).toBe(before);
  });

  test('and was parked goes when its appointment changes', async () => {
    const { clinic, model, tenant } = open(3);
    model.fault = ({ recordId }) => (recordId === '1' ? 'refused' : null);
    await cycle(tenant);
    model.fault = () => null;
    clinic.appointments.set('1', appointmentOf('1', { inHours: 77 }));
    await cycle(tenant);
    expect(model.objects()).toHaveLength(3);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', failing: 0 });
  });

  test('temporarily is retried until it succeeds, and a lost answer creates no second object', async () => {
    const { model, clock, tenant } = open(6);
    let tries = 0;
    model.fault = () => (tries++ % 3 === 2 ? null : tries % 2 === 0 ? 'lost' : 'unavailable');
    await cycle(tenant);
    for (let turns = 0; turns < 40 && (await tenant.outbox.counts('doctor')).pending > 0; turns += 1) {
      clock.now += 60_000;
      await drain(tenant, targetOf(tenant));
    }
    expect(model.objects()).toHaveLength(6);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', links: 6 });
  });

  test('because its key is burnt goes under the next one', async () => {
    const { clinic, model, tenant } = open(1);
    model.burnsKeys = true;
    const { identity } = targetOf(tenant);
    for (const epoch of [0, 1, 2]) {
      await cycle(tenant);
      expect(model.objects()).toMatchObject([{ key: identity.key('0', epoch) }]);
      clinic.appointments.set('0', appointmentOf('0', { status: 'cancelled' }));
      await cycle(tenant);
      expect(model.objects()).toEqual([]);
      clinic.appointments.set('0', appointmentOf('0'));
    }
    await cycle(tenant);
    await redis.connect().flushall();
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: {}, unchanged: 1 });
  });

  test('because its key is taken and cannot be read goes under the next one after a day, not earlier', async () => {
    const { model, clock, tenant } = open(1);
    const { identity } = targetOf(tenant);
    const tried: string[] = [];
    model.fault = ({ key }) => {
      tried.push(key);
      return key === identity.key('0', 0) ? 'unreadable' : null;
    };
    const beganAt = clock.now;
    while (model.objects().length === 0 && clock.now < beganAt + 30 * HOUR_MS) {
      clock.now += HOUR_MS;
      await cycle(tenant);
    }
    expect(model.objects()).toMatchObject([{ key: identity.key('0', 1) }]);
    expect(clock.now - beganAt).toBeGreaterThanOrEqual(24 * HOUR_MS);
    expect(new Set(tried)).toEqual(new Set([identity.key('0', 0), identity.key('0', 1)]));
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', links: 1 });
  });

  test('whose next key is taken too starts a new wait for that key', async () => {
    const { model, clock, tenant } = open(1);
    const { identity } = targetOf(tenant);
    let isSecondReadable = false;
    model.fault = ({ key }) => {
      const isFirst = key === identity.key('0', 0);
      const isSecond = key === identity.key('0', 1);
      return isFirst || (isSecond && !isSecondReadable) ? 'unreadable' : null;
    };
    for (let hour = 0; hour < 28; hour += 1) {
      clock.now += HOUR_MS;
      await cycle(tenant);
    }
    expect(model.objects()).toEqual([]);
    isSecondReadable = true;
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(model.objects()).toMatchObject([{ key: identity.key('0', 1) }]);
  });

  test('between the call and our noting it is not carried out twice', async () => {
    const { clinic, model, clock, tenant, again } = open(4);
    const dying = again();
    dying.outbox.complete = () => Promise.reject(new Error('the process died'));
    await pull(dying);
    await pushTarget(dying, targetOf(dying), { stop: NEVER, abort: NEVER });
    expect(model.objects()).toHaveLength(4);
    expect(await tenant.links.count('doctor')).toBe(0);
    clinic.appointments.delete('2');
    clinic.appointments.set('1', appointmentOf('1', { inHours: 70 }));
    clock.now += HOUR_MS;
    await twoCycles(tenant);
    expect(model.objects()).toHaveLength(3);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', links: 3 });
  });

  test('in a connector that reports no details is treated like one without an answer', async () => {
    const { model, clock, tenant } = open(4);
    const target = targetOf(tenant);
    const { apply } = target.connector;
    target.connector.apply = async (...given) => (await apply(...given)).slice(1);
    await cycle(tenant);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 1, failing: 1 });
    target.connector.apply = apply;
    clock.now += HOUR_MS;
    await drain(tenant, target);
    expect(model.objects()).toHaveLength(4);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });
});

describe('an error of the whole target', () => {
  test('pauses the target, is reported with its cause, and ends when the target works again', async () => {
    const { model, clock, tenant } = open(4);
    await pull(tenant);
    model.wholeTargetError = failure('rate-limited', 'later', { retryAfterMs: 90_000 });
    const turn = await drain(tenant, targetOf(tenant));
    expect(turn.nextInMs).toBeGreaterThanOrEqual(90_000);
    expect(await stateOf(tenant)).toMatchObject({
      reason: 'backing-off',
      failure: { code: 'rate-limited', sinceAt: NOW },
    });
    const calls = { ...model.calls };
    expect(await drain(tenant, targetOf(tenant))).toMatchObject({ idle: true });
    expect(model.calls).toEqual(calls);
    model.wholeTargetError = null;
    clock.now += turn.nextInMs ?? 0;
    await drain(tenant, targetOf(tenant));
    expect(model.objects()).toHaveLength(4);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', failure: null, failing: 0 });
  });

  test('that requires action stops the target, and no other target', async () => {
    const clinic = createModelClinic();
    clinic.appointments.set('1', appointmentOf('1'));
    const [broken, sound] = [createModelTarget(), createModelTarget()];
    broken.wholeTargetError = failure('login-refused', 'never');
    const targets = [
      { id: 'broken', model: broken },
      { id: 'sound', model: sound },
    ];
    const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => NOW });
    await cycle(tenant);
    expect(sound.objects()).toHaveLength(1);
    expect(await stateOf(tenant, 'broken')).toMatchObject({ reason: 'error', failure: { code: 'login-refused' } });
    expect(await stateOf(tenant, 'sound')).toMatchObject({ sync: 'in-sync' });
  });

  test('keeps a target that has no links yet in peace for as long as it asked', async () => {
    const { model, clock, tenant } = open(1);
    model.wholeTargetError = failure('rate-limited', 'later', { retryAfterMs: HOUR_MS });
    await pull(tenant);
    const { prepare } = model.calls;
    clock.now += HOUR_MS / 2;
    await pull(tenant);
    expect(model.calls.prepare).toBe(prepare);
    model.wholeTargetError = null;
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(model.objects()).toHaveLength(1);
  });
});

describe('Redis', () => {
  test('never contains patient data: neither in pending, failed and held operations, nor in reports', async () => {
    const connection = redis.connect();
    const { clinic, model, tenant } = open(30, { configuration: { title: 'full', fields: ['status'] } });
    const patient = { id: 'patient-canary', firstName: 'Canarina', lastName: 'Gialletti' };
    for (const appointment of clinic.appointments.values()) {
      clinic.appointments.set(appointment.id, { ...appointment, patientId: patient.id, patient });
    }
    await cycle(tenant);
    expect(model.objects()[0]?.item.title).toBe('Canarina Gialletti');
    for (let index = 0; index < 20; index += 1) clinic.appointments.delete(`${index}`);
    clinic.appointments.set('29', appointmentOf('29', { inHours: 99, patientId: patient.id, patient }));
    clinic.appointments.set('new', appointmentOf('new', { patientId: patient.id, patient }));
    clinic.unusable.add('28');
    model.fault = ({ recordId }) => (recordId === 'new' ? 'refused' : 'unavailable');
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ pending: 2, failing: 2, held: 20 });
    const stored = (await connection.keys('*')).sort();
    expect(stored.join()).toMatch(/holds.*outbox.*runs/);
    const everything = await dumpOf(connection, stored);
    // Reports are encrypted.
    const reports = JSON.stringify(await tenant.runs.list(50));
    expect(reports).toContain('bad-time');
    for (const text of [everything, reports]) expect(text).not.toMatch(/canar|giallett/i);
  });
});

describe('a lane', () => {
  test('is worked on by one of two that come at once', async () => {
    const { model, tenant, again } = open(20);
    await pull(tenant);
    const signals = { stop: NEVER, abort: NEVER };
    const other = again();
    // Both are connected: else one may be done before the other comes.
    await other.targetStore.read('doctor');
    const turns = await Promise.all([
      pushTarget(tenant, targetOf(tenant), signals),
      pushTarget(other, targetOf(other), signals),
    ]);
    expect(turns.map(({ idle }) => idle).sort()).toEqual([false, true]);
    expect(model.calls.operations).toBe(20);
    expect(model.objects()).toHaveLength(20);
  });

  test('does one slice per run and requests the next at once', async () => {
    const { tenant } = open(50);
    tenant.slice = { operations: 20, durationMs: 20_000 };
    await pull(tenant);
    const signals = { stop: NEVER, abort: NEVER };
    expect(await pushTarget(tenant, targetOf(tenant), signals)).toEqual({ doneCount: 20, idle: false, nextInMs: 0 });
    expect(await pushTarget(tenant, targetOf(tenant), signals)).toMatchObject({ doneCount: 20, nextInMs: 0 });
    expect(await pushTarget(tenant, targetOf(tenant), signals)).toMatchObject({ doneCount: 10, nextInMs: null });
  });

  test('stops between two calls on request', async () => {
    const { model, tenant } = open(50);
    await pull(tenant);
    const stop = new AbortController();
    model.beforeApply = () => stop.abort();
    const turn = await pushTarget(tenant, targetOf(tenant), { stop: stop.signal, abort: NEVER });
    expect(turn.doneCount).toBe(10);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 40, failing: 0 });
  });

  test('whose lease expired during a call cancels the call, and records no failure', async () => {
    const connection = redis.connect();
    const opened = open(5);
    const { model } = opened;
    // A slow host would lose the lease of the plan.
    await pull(opened.tenant);
    const tenant = opened.again({ leaseTtlMs: 150 });
    targetOf(tenant).connector.apply = (_container, _operations, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(failure('aborted', 'later')), { once: true });
        void connection.del('cm:{studio-rossi}:lease:lane-doctor');
      });
    const turn = await pushTarget(tenant, targetOf(tenant), { stop: NEVER, abort: NEVER });
    expect(turn.nextInMs).toBe(1_000);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ failure: null, pausedUntil: null });
    expect(model.objects()).toEqual([]);
  });

  test('whose lease was lost in the middle of a call writes nothing more, failure included', async () => {
    const connection = redis.connect();
    const { model, tenant } = open(5);
    await pull(tenant);
    model.beforeApply = async () => {
      await connection.del('cm:{studio-rossi}:lease:lane-doctor');
    };
    const turn = await pushTarget(tenant, targetOf(tenant), { stop: NEVER, abort: NEVER });
    expect(turn.nextInMs).toBe(1_000);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ failure: null });
    expect(await tenant.links.count('doctor')).toBe(0);
    model.beforeApply = () => {};
    await drain(tenant, targetOf(tenant));
    expect(model.objects()).toHaveLength(5);
    expect(await tenant.links.count('doctor')).toBe(5);
  });
});

test('a run reports planned and written changes, each deletion by its ids; a run without changes reports nothing', async () => {
  const told: [string, object][] = [];
  const ours = ['cycle planned changes', 'daemon wrote to a target', 'object was deleted'];
  const info = (data: object, message: string) => void (ours.includes(message) && told.push([message, data]));
  const log: Logger = { ...silentLogger, info, child: () => log };
  const clinic = createModelClinic();
  for (const id of ['1', '2']) clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + Number(id) }));
  const targets = [{ model: createModelTarget() }];
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => NOW, log });
  await cycle(tenant);
  expect(told).toMatchObject([
    ['cycle planned changes', { changes: 2, held: 0 }],
    ['daemon wrote to a target', { target: 'doctor', created: 2, updated: 0, deleted: 0, failed: 0 }],
  ]);
  told.length = 0;
  await cycle(tenant);
  expect(told).toEqual([]);
  clinic.appointments.set('1', appointmentOf('1', { inHours: 25, status: 'cancelled' }));
  await cycle(tenant);
  expect(told).toMatchObject([
    ['cycle planned changes', { changes: 1 }],
    ['object was deleted', { target: 'doctor', record: '1', reason: 'cancelled', run: expect.any(String) }],
    ['daemon wrote to a target', { deleted: 1 }],
  ]);
  expect(JSON.stringify(told)).not.toContain('Mario');
});

test('contacts with a refused value are written last in the run, even in a target that searches for keys late', async () => {
  const { tenant, clinic, clock } = openCrmWorld(redis, {
    contacts: { consents: [], mapping: { lastName: 'lastName', area: 'language' } },
  });
  const sandbox = await startRestCrmSandbox({ dialect: 'espocrm', now: () => clock.now });
  onTestFinished(() => sandbox.close());
  const options = [{ value: 'it', label: 'it' }];
  sandbox.addField('Contact', 'area', { type: 'text', options });
  writeToEspoCrm(targetOf(tenant, 'contacts'), sandbox, () => clock.now, { searchLagSeconds: 60 });
  for (let id = 0; id < 210; id += 1) {
    clinic.patientList.push(patientOf(String(id), { language: id % 70 === 10 ? `odd ${id}` : 'it' }));
  }
  await cycle(tenant);
  const areas = sandbox.records('Contact').map(({ values }) => values.area ?? null);
  expect(areas.filter((area) => area === 'it')).toHaveLength(207);
  expect(areas.filter((area) => area === null)).toHaveLength(3);
  expect(await tenant.outbox.counts('contacts')).toEqual({ pending: 0, failing: 0 });
});
