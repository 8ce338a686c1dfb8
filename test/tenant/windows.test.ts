import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, pull, targetOf } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
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

type World = Awaited<ReturnType<typeof open>>;

describe('a block of a month', () => {
  const month = { kind: 'timed', startAt: NOW + HOUR_MS, endAt: NOW + 30 * DAY_MS } as const;

  test('is kept in sync until its end leaves the window', async () => {
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

  test('without an end in its link gets its end from the next cycle', async () => {
    const { connection, clinic, clock, start } = await open();
    clinic.appointments.set('block', appointmentOf('block', { time: month }));
    const tenant = start();
    await cycle(tenant);
    const [bucket] = await connection.keys('cm:*:links:doctor:*');
    const stored = (await connection.hget(bucket ?? '', 'block')) ?? '';
    const startAlone = (month.startAt / 1_000).toString(36);
    await connection.hset(bucket ?? '', 'block', stored.replace(/\t[0-9a-z]+[.+][0-9a-z]+/, `\t${startAlone}`));
    expect([...(await tenant.links.read('doctor')).values()]).toMatchObject([{ endAt: month.startAt }]);
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect([...(await tenant.links.read('doctor')).values()]).toMatchObject([{ endAt: month.endAt }]);
    expect(targetOf(tenant).id).toBe('doctor');
  });
});

describe('a record after the end of the window', () => {
  const far = (id: string, index = 0) => appointmentOf(id, { inHours: 50 * 24 + index });

  test.for([
    ['moved there', { futureDays: 60 }, { futureDays: 60 }, 70],
    ['left out by a smaller window', { futureDays: 60 }, { futureDays: 10 }, 50],
  ] as const)('(%s) is still looked after: cancelled, it is removed', async ([, before, after, day]) => {
    const { clinic, model, clock, start } = await open();
    clinic.appointments.set('far', far('far'));
    const window = (days: { futureDays: number }) => ({ window: { pastDays: 7, ...days } });
    await cycle(start(window(before)));
    clinic.appointments.set('far', appointmentOf('far', { inHours: day * 24 }));
    const tenant = start(window(after));
    await cycle(tenant);
    const atDay = new Date(NOW + day * DAY_MS).toISOString().slice(0, 10);
    expect(model.objects().map(({ item }) => item.time)).toMatchObject([{ start: expect.stringContaining(atDay) }]);
    clock.now += HOUR_MS;
    clinic.appointments.set('far', { ...appointmentOf('far', { inHours: day * 24 }), status: 'cancelled' });
    await cycle(tenant);
    expect(model.objects()).toEqual([]);
  });

  test('is fetched singly, a few records at a time in rotation, and moved when the clinic moves it', async () => {
    const { clinic, model, clock, start } = await open();
    for (let index = 0; index < 50; index += 1) clinic.appointments.set(`${index}`, far(`${index}`, index));
    await cycle(start());
    const tenant = start({ window: { pastDays: 7, futureDays: 10 } });
    await cycle(tenant);
    for (let index = 0; index < 50; index += 1) clinic.appointments.set(`${index}`, far(`${index}`, index + 24));
    for (let cycles = 0; cycles < 3; cycles += 1) {
      clock.now += HOUR_MS;
      const before = clinic.counts.lookups;
      await cycle(tenant);
      expect(clinic.counts.lookups - before).toBe(20);
    }
    expect(new Set(model.objects().map(({ version }) => version))).toEqual(new Set([2]));
    clock.now += HOUR_MS;
    expect(await cycle(tenant)).toMatchObject({ targets: [{ planned: {} }] });
  });
});

describe('what waits in an outbox', () => {
  /** A target that is away while an appointment is booked, and then whatever happened to it, a pause long after. */
  async function waiting(
    inHours: number,
    then: (world: World) => void,
    pauseMs: number,
    isSent = true,
  ): Promise<World> {
    const world = await open();
    const { clinic, model, clock, start } = world;
    clinic.appointments.set('first', appointmentOf('first', { inHours: 60 * 24 - 1 }));
    const tenant = start();
    await cycle(tenant);
    clinic.appointments.set('waits', appointmentOf('waits', { inHours }));
    model.fault = () => 'unavailable';
    await (isSent ? cycle : pull)(tenant);
    model.fault = () => null;
    expect((await tenant.outbox.pending('doctor')).size).toBe(1);
    then(world);
    clock.now += pauseMs;
    return world;
  }
  const idsOf = (world: World) => {
    const { identity } = targetOf(world.start());
    return world.model.objects().map(({ sealedRecordId }) => identity.recordIdOf(sealedRecordId ?? ''));
  };

  test.for([
    ['was cancelled and left the window', 24, cancel],
    ['was deleted and left the window', 24, erase],
    ['was cancelled', 40 * 24, cancel],
    ['was deleted', 40 * 24, erase],
  ] as const)('for an appointment that %s during a pause of 30 days is not written', async ([, inHours, change]) => {
    for (const isSent of [false, true]) {
      const world = await waiting(inHours, ({ clinic }) => change(clinic), 30 * DAY_MS, isSent);
      const kinds: string[] = [];
      world.model.beforeApply = (operations) => void kinds.push(...operations.map(({ kind }) => kind));
      const tenant = world.start();
      for (let cycles = 0; cycles < 3; cycles += 1) {
        await cycle(tenant);
        world.clock.now += HOUR_MS;
      }
      // A possibly written event is removed.
      expect(kinds).toEqual(isSent ? ['delete'] : []);
      expect(idsOf(world)).not.toContain('waits');
      expect((await tenant.outbox.pending('doctor')).size).toBe(0);
    }
  });

  test('is written after the pause where the appointment stands', async () => {
    const world = await waiting(40 * 24, () => {}, 30 * DAY_MS);
    const tenant = world.start();
    await tenant.outbox.hurry('doctor', world.clock.now);
    await cycle(tenant);
    expect(idsOf(world)).toContain('waits');
  });

  test.for([
    ['before its own first cycle', 30 * DAY_MS, true],
    ['while the clinic cannot be read for hours', 3 * HOUR_MS, false],
  ] as const)('is not sent by a process %s', async ([, pauseMs, isAnother]) => {
    const world = await waiting(24, ({ clinic }) => cancel(clinic), 0);
    const running = world.start();
    await pull(running);
    world.clock.now += pauseMs;
    const tenant = isAnother ? world.start() : running;
    await tenant.outbox.hurry('doctor', world.clock.now);
    const sent = world.model.calls.operations;
    expect(await drain(tenant, targetOf(tenant))).toMatchObject({ doneCount: 0, nextInMs: null });
    expect(world.model.calls.operations).toBe(sent);
  });

  test('and may have been written already is brought to its end, wherever its appointment went', async () => {
    const world = await open();
    const { clinic, model, clock, start } = world;
    clinic.appointments.set('waits', appointmentOf('waits'));
    model.fault = () => 'lost';
    const tenant = start();
    await cycle(tenant);
    model.fault = () => null;
    clinic.appointments.set('waits', appointmentOf('waits', { inHours: 70 * 24 }));
    for (let hours = 0; hours < 3; hours += 1) {
      clock.now += HOUR_MS;
      await cycle(tenant);
    }
    const atDay = new Date(NOW + 70 * DAY_MS).toISOString().slice(0, 10);
    expect(model.objects().map(({ item }) => item.time)).toMatchObject([{ start: expect.stringContaining(atDay) }]);
    expect((await tenant.outbox.pending('doctor')).size).toBe(0);
  });
});

function cancel({ appointments }: ModelClinic): void {
  const known = appointments.get('waits');
  if (known !== undefined) appointments.set('waits', { ...known, status: 'cancelled' });
}

function erase({ appointments }: ModelClinic): void {
  appointments.delete('waits');
}
