import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { Appointment, AppointmentStatus } from '../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, overlaps } from '../../src/core/model/time.ts';
import { project } from '../../src/domain/project.ts';
import { pushTarget } from '../../src/engine/push.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTarget, OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { type Tries, tryCases } from '../support/tried.ts';
import { crashingRedis } from './crashing-redis.ts';
import { NEVER, wholeCycle } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type Fault, type ModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';

/** HISTORIES=2000 runs more histories; without it, a busy host runs fewer. */
const HISTORIES: Tries = { least: 15, most: 40, forMs: 60_000 };
const WIDE_LIMITS = {
  vanished: { share: 1, count: 1_000 },
  cancelled: { share: 1, count: 1_000 },
  holdExpiresAfterHours: 1,
};
const STATUSES: AppointmentStatus[] = ['booked', 'confirmed', 'completed', 'cancelled', 'cancelled', 'no_show'];

const AWAY = new MirrorError('the target is away', { actor: 'remote', code: 'server-error', retry: 'later' });

const redis = useRedis();

/** Where a process dies, if it does: after so many commands to Redis. */
interface Death {
  after: number;
  lastIsCarriedOut: boolean;
}

type Step =
  | { do: 'book'; id: string; inHours: number; lasts: number; agendaId: string; status: AppointmentStatus }
  | { do: 'erase'; id: string }
  | { do: 'clinic'; hidesCancelled: boolean; truncatedAfter: number | null; lookupsFail: boolean; unusable: string[] }
  | { do: 'pull'; death: Death | null; targetIsAway: boolean }
  | { do: 'push'; death: Death | null; faults: (Fault | null)[]; meanwhile: Step[] }
  | { do: 'wait'; hours: number }
  | { do: 'pause'; paused: boolean }
  | { do: 'lose-redis' }
  | { do: 'replace-calendar' };

const ids = fc.nat(4).map(String);
const deaths = fc.option(fc.record({ after: fc.nat(25), lastIsCarriedOut: fc.boolean() }), { freq: 2 });
const bookings = fc.record({
  do: fc.constant('book' as const),
  id: ids,
  inHours: fc.oneof(fc.integer({ min: -30, max: 90 }), fc.integer({ min: -14 * 24, max: 80 * 24 })),
  // Hours; a block of two months lies over both edges of a window at once.
  lasts: fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 60 * 24 }) },
  ),
  agendaId: fc.constantFrom('a1', 'a1', 'a2'),
  status: fc.constantFrom(...STATUSES),
});
const erasures = fc.record({ do: fc.constant('erase' as const), id: ids });
const pulls = fc.record({ do: fc.constant('pull' as const), death: deaths, targetIsAway: fc.boolean() });
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: bookings },
  { weight: 4, arbitrary: erasures },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('clinic' as const),
      hidesCancelled: fc.boolean(),
      truncatedAfter: fc.option(fc.nat(5)),
      lookupsFail: fc.boolean(),
      unusable: fc.array(ids, { maxLength: 2 }),
    }),
  },
  { weight: 5, arbitrary: pulls },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('push' as const),
      death: deaths,
      faults: fc.array(
        fc.constantFrom(null, null, 'lost' as const, 'lost' as const, 'unavailable' as const, 'refused' as const),
        {
          minLength: 1,
          maxLength: 6,
        },
      ),
      meanwhile: fc.array(
        fc.oneof(bookings, erasures, fc.constant({ do: 'pull', death: null, targetIsAway: false } as const)),
        {
          maxLength: 3,
        },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      hours: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 40 * 24 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), paused: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant({ do: 'lose-redis' } as const) },
  { weight: 1, arbitrary: fc.constant({ do: 'replace-calendar' } as const) },
);

/** After these, some cycles read the next two days only. */
const LATE_CYCLES: readonly Step[] = [
  { do: 'pull', death: null, targetIsAway: false },
  ...Array.from({ length: 3 }, (): Step[] => [
    { do: 'wait', hours: 1 },
    { do: 'pull', death: null, targetIsAway: false },
  ]).flat(),
];

interface World {
  redis: RedisClient;
  clinic: ModelClinic;
  model: ModelTarget;
  now: number;
  /** One of the targets is paused. */
  paused: boolean;
  /** Cycles are late, so that some read the next two days only. */
  isLate: boolean;
  /** The process at work; null after it died. */
  process: OpenTenant | null;
}

function newWorld(connection: RedisClient, burnsKeys: boolean, isLate: boolean): World {
  const model = createModelTarget({ batchSize: 2, concurrency: 2 });
  model.burnsKeys = burnsKeys;
  model.addForeign('Dentist');
  return { redis: connection, clinic: createModelClinic(), model, now: NOW, paused: false, isLate, process: null };
}

/** two targets in one calendar, the second with half of the agendas. */
function startProcess(world: World, connection = world.redis): OpenTenant {
  const configuration = { guard: WIDE_LIMITS, title: 'code' as const };
  return openTenant({
    redis: connection,
    clinic: world.clinic,
    targets: [
      { id: 'doctor', model: world.model, configuration: { ...configuration, agendas: ['a1'], paused: world.paused } },
      {
        id: 'clinic',
        model: world.model,
        configuration: { ...configuration, window: { pastDays: 2, futureDays: 20 } },
      },
    ],
    clock: () => world.now,
    slice: { operations: 4, durationMs: 20_000 },
    ...(world.isLate && { pullEveryMs: 5 * MINUTE_MS }),
  });
}

async function take(world: World, step: Step): Promise<void> {
  const { clinic, model } = world;
  switch (step.do) {
    case 'book':
      clinic.appointments.set(step.id, booked(world, step));
      return;
    case 'erase':
      clinic.appointments.delete(step.id);
      return;
    case 'clinic':
      clinic.hidesCancelled = step.hidesCancelled;
      clinic.truncatedAfter = step.truncatedAfter;
      clinic.lookupsFail = step.lookupsFail;
      clinic.unusable.clear();
      for (const id of step.unusable) clinic.unusable.add(id);
      return;
    case 'wait':
      world.now += step.hours * HOUR_MS;
      return;
    case 'pause':
      // Another configuration: the process starts again.
      world.paused = step.paused;
      world.process = null;
      return;
    case 'lose-redis':
      await world.redis.flushall();
      return;
    case 'replace-calendar':
      model.replaceCalendar();
      model.addForeign('Dentist');
      return;
    case 'pull':
      model.wholeTargetError = step.targetIsAway ? AWAY : null;
      await work(world, step.death, async (tenant) => {
        await pullTenant(tenant, NEVER);
      });
      model.wholeTargetError = null;
      return;
    case 'push': {
      let sent = 0;
      model.fault = () => step.faults[sent++ % step.faults.length] ?? null;
      const meanwhile = [...step.meanwhile];
      model.beforeApply = async () => {
        for (const next of meanwhile.splice(0)) await take(world, next);
      };
      await work(world, step.death, async (tenant) => {
        for (const target of tenant.targets.values()) {
          if (!target.configuration.paused) await pushTarget(tenant, target, { stop: NEVER, abort: NEVER });
        }
      });
      model.fault = () => null;
      model.beforeApply = () => {};
    }
  }
}

function booked({ now }: World, { id, inHours, lasts, agendaId, status }: Extract<Step, { do: 'book' }>): Appointment {
  const startAt = now + inHours * HOUR_MS;
  return appointmentOf(id, {
    time: { kind: 'timed', startAt, endAt: startAt + lasts * HOUR_MS },
    agendaId,
    status,
  });
}

/** Works with the running process, or with one that will die; the next process waits until its leases have expired. */
async function work(world: World, death: Death | null, run: (tenant: OpenTenant) => Promise<void>): Promise<void> {
  if (death === null) {
    world.process ??= startProcess(world);
    await run(world.process);
    return;
  }
  const dying = startProcess(world, crashingRedis(world.redis, death.after, death.lastIsCarriedOut));
  await run(dying).catch(() => {});
  world.process = null;
  const leases = await world.redis.keys('cm:*:lease:*');
  if (leases.length > 0) await world.redis.del(...leases);
}

/**
 * Everything works again; cycles continue until a cycle finds nothing to do. One more booking is added, since a replaced calendar is
 * detected only at a write.
 */
async function settle(world: World): Promise<OpenTenant> {
  world.clinic.appointments.set('last', appointmentOf('last', { inHours: (world.now - NOW) / HOUR_MS + 72 }));
  world.clinic.truncatedAfter = null;
  world.clinic.lookupsFail = false;
  world.clinic.unusable.clear();
  if (world.paused) Object.assign(world, { paused: false, process: null });
  const tenant = world.process ?? startProcess(world);
  for (let rounds = 0; rounds < 12; rounds += 1) {
    world.now += 2 * HOUR_MS;
    for (const target of tenant.targets.keys()) await tenant.outbox.hurry(target, world.now);
    const before = { ...world.model.calls };
    await wholeCycle(tenant);
    // The operator decides about the lost state.
    if (await tenant.protection.accept()) await wholeCycle(tenant);
    const counts = await Promise.all([...tenant.targets.keys()].map((target) => tenant.outbox.counts(target)));
    const isQuiet = JSON.stringify(before) === JSON.stringify(world.model.calls);
    if (isQuiet && counts.every(({ pending }) => pending === 0)) return tenant;
  }
  throw new Error('the target never came to rest');
}

function expectMirror(world: World, tenant: OpenTenant, target: OpenTarget): void {
  const ours = world.model.objects().filter(({ ownerTag }) => ownerTag === target.identity.ownerTag);
  const { pastDays, futureDays } = target.configuration.window;
  const window = { fromAt: world.now - pastDays * DAY_MS, toAt: world.now + futureDays * DAY_MS };
  const byRecord = new Map<string, (typeof ours)[number]>();
  for (const object of ours) {
    const recordId = target.identity.recordIdOf(object.sealedRecordId ?? '');
    expect(recordId).not.toBeNull();
    expect(byRecord.has(recordId ?? ''), `two objects for ${recordId}`).toBe(false);
    byRecord.set(recordId ?? '', object);
  }
  const shown = [...world.clinic.appointments.values()].filter((appointment) => isShown(appointment, target, window));
  for (const appointment of shown) {
    const object = byRecord.get(appointment.id);
    expect(object, `${target.id} lacks ${appointment.id}`).toBeDefined();
    const policy = { ...target.configuration, presets: [], language: 'en', zone: tenant.configuration.zone } as const;
    expect(object?.item).toEqual(project(appointment, policy, EMPTY_DIRECTORY, () => object?.key ?? ''));
    byRecord.delete(appointment.id);
  }
  for (const [recordId, { item }] of byRecord) {
    expect(overlaps(target.identity.spanOf(item), window), `${target.id} still shows ${recordId}`).toBe(false);
  }
}

function isShown(appointment: Appointment, { configuration }: OpenTarget, window: { fromAt: number; toAt: number }) {
  const { agendas, statuses } = configuration;
  const { startAt, endAt } = appointment.time;
  return (
    (agendas === 'all' || agendas.includes(appointment.agendaId)) &&
    statuses.includes(appointment.status) &&
    startAt < window.toAt &&
    endAt > window.fromAt
  );
}

test('whatever the clinic, the target, Redis and our process went through, the target ends as the clinic is', async () => {
  const connection = redis.connect();
  await tryCases(
    'histories',
    fc.asyncProperty(
      fc.array(steps, { minLength: 8, maxLength: 40, size: 'max' }),
      fc.boolean(),
      fc.boolean(),
      async (history, burnsKeys, isLate) => {
        await connection.flushall();
        const world = newWorld(connection, burnsKeys, isLate);
        for (const step of isLate ? [...LATE_CYCLES, ...history] : history) await take(world, step);
        const tenant = await settle(world);
        for (const target of tenant.targets.values()) expectMirror(world, tenant, target);
        const foreign = world.model.objects().filter(({ ownerTag }) => ownerTag === null);
        expect(foreign).toMatchObject([{ item: { title: 'Dentist' }, version: 1 }]);
      },
    ),
    HISTORIES,
    process.env.HISTORIES,
  );
});
