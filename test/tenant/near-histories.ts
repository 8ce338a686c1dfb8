import fc from 'fast-check';
import { expect } from 'vitest';
import type { AppointmentStatus } from '../../src/core/model/records.ts';
import { HOUR_MS, MINUTE_MS, overlaps } from '../../src/core/model/time.ts';
import { next48hWindow, windowOf } from '../../src/domain/mapping-sources.ts';
import type { RunReport } from '../../src/domain/runs.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import type { TestRedis } from '../support/redis.ts';
import { drain, NEVER, targetOf, wholeCycle } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant, type TenantChoice } from './open-tenant.ts';

export const EVERY_MS = 5 * MINUTE_MS;

/** What a cycle fetched. */
export function readingOf({ soon: near }: RunReport): 'near' | 'whole' {
  return near === null ? 'whole' : 'near';
}

type Step =
  | { do: 'book'; id: string; inHours: number; lasts: number; agendaId: string; status: AppointmentStatus }
  | { do: 'erase' | 'hide'; id: string }
  | { do: 'clinic'; hidesCancelled: boolean; truncatedAfter: number | null; lookupsFail: boolean }
  | { do: 'cycle'; afterMinutes: number };

const ids = fc.nat(7).map(String);
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('book' as const),
      id: ids,
      inHours: fc.oneof(fc.integer({ min: -20, max: 60 }), fc.integer({ min: -200, max: 400 })),
      lasts: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 200 })),
      agendaId: fc.constantFrom('a1', 'a1', 'a2'),
      status: fc.constantFrom<AppointmentStatus>('booked', 'booked', 'confirmed', 'cancelled'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('erase' as const, 'hide' as const), id: ids }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('clinic' as const),
      hidesCancelled: fc.boolean(),
      truncatedAfter: fc.option(fc.nat(5)),
      lookupsFail: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('cycle' as const), afterMinutes: fc.integer({ min: 11, max: 90 }) }),
  },
);

const WIDE = { vanished: { share: 1, count: 1_000 }, cancelled: { share: 1, count: 1_000 }, holdExpiresAfterHours: 1 };

/** Two tenants of one clinic: every cycle of one fetches everything, those of the other are late. */
async function twoTenants(redis: TestRedis) {
  const connection = redis.connect();
  await connection.flushall();
  const [clinic, clock] = [createModelClinic(), { now: NOW }];
  const open = (id: string, more: Partial<TenantChoice>) => {
    const models = { doctor: createModelTarget(), clinic: createModelTarget() };
    const configuration = { guard: WIDE, window: { pastDays: 3, futureDays: 10 } };
    const targets = [
      { id: 'doctor', model: models.doctor, configuration: { ...configuration, agendas: ['a1'] } },
      { id: 'clinic', model: models.clinic, configuration },
    ];
    return { models, tenant: openTenant({ redis: connection, clinic, id, targets, clock: () => clock.now, ...more }) };
  };
  const worlds = [open('all', {}), open('late', { pullEveryMs: EVERY_MS })] as const;
  return { clinic, clock, worlds };
}

type Shared = Awaited<ReturnType<typeof twoTenants>>;

/** Content of each record's object within the window, by target and record. An object that left the window is unchanged. */
function shown({ models, tenant }: Shared['worlds'][number]): Map<string, unknown> {
  const all = Object.entries(models).flatMap(([id, model]) => {
    const target = targetOf(tenant, id);
    const window = windowOf(target, tenant.clock());
    const inside = model.objects().filter(({ item }) => overlaps(target.identity.spanOf(item), window));
    return inside.map(
      ({ sealedRecordId, item }) => [`${id} ${target.identity.recordIdOf(sealedRecordId ?? '')}`, item] as const,
    );
  });
  return new Map(all);
}

function take({ clinic, clock }: Shared, step: Exclude<Step, { do: 'cycle' }>): void {
  switch (step.do) {
    case 'book': {
      const { id, inHours, lasts, agendaId, status } = step;
      const startAt = clock.now + inHours * HOUR_MS;
      const time = { kind: 'timed' as const, startAt, endAt: startAt + lasts * HOUR_MS };
      return void clinic.appointments.set(id, appointmentOf(id, { time, agendaId, status }));
    }
    case 'erase':
      return void clinic.appointments.delete(step.id);
    case 'hide':
      return void (clinic.unusable.delete(step.id) || clinic.unusable.add(step.id));
    case 'clinic':
      return void Object.assign(clinic, step);
  }
}

async function writtenCycle(tenant: OpenTenant): Promise<RunReport | null> {
  const run = await pullTenant(tenant, NEVER);
  for (const target of tenant.targets.values()) await drain(tenant, target);
  return run;
}

/** A removal is right only of what the clinic does not show there. */
function watchRemovals({ clinic, worlds }: Shared): void {
  for (const { models } of worlds) {
    for (const [target, model] of Object.entries(models)) {
      model.beforeApply = (operations) => {
        for (const { kind, recordId } of operations) {
          const record = clinic.appointments.get(recordId);
          const isThere = record !== undefined && record.status !== 'cancelled' && !clinic.unusable.has(recordId);
          const isShown = isThere && (target === 'clinic' || record.agendaId === 'a1');
          expect(kind === 'delete' && isShown, `${recordId} was removed and is there`).toBe(false);
        }
      };
    }
  }
}

/** Both tenants' targets must show equal content for the clinic's appointments of the next two days. */
function expectSameNear({ clinic, clock, worlds }: Shared): void {
  const [all, late] = worlds.map(shown) as [Map<string, unknown>, Map<string, unknown>];
  for (const { id, status, time } of clinic.appointments.values()) {
    if (status === 'cancelled' || clinic.unusable.has(id) || !overlaps(time, next48hWindow(clock.now))) continue;
    for (const target of ['doctor', 'clinic']) expect(late.get(`${target} ${id}`)).toEqual(all.get(`${target} ${id}`));
  }
}

/**
 * Checks in random histories that the next two days equal those of full fetches, that no existing record is removed, and that the final
 * states are equal.
 * @returns how many cycles fetched two days only, and how many everything
 */
export async function tryNearHistories(redis: TestRedis, numRuns: number): Promise<{ near: number; whole: number }> {
  const read = { near: 0, whole: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 10, maxLength: 40, size: 'max' }), async (history) => {
      const shared = await twoTenants(redis);
      const { clinic, clock, worlds } = shared;
      watchRemovals(shared);
      for (const step of history) {
        if (step.do !== 'cycle') {
          take(shared, step);
          continue;
        }
        clock.now += step.afterMinutes * MINUTE_MS;
        await writtenCycle(worlds[0].tenant);
        const run = await writtenCycle(worlds[1].tenant);
        if (run !== null) read[readingOf(run)] += 1;
        if (clinic.truncatedAfter === null) expectSameNear(shared);
      }
      Object.assign(clinic, { truncatedAfter: null, lookupsFail: false, hidesCancelled: false });
      clinic.unusable.clear();
      for (let round = 0; round < 3; round += 1) {
        clock.now += HOUR_MS;
        for (const { tenant } of worlds) await wholeCycle(tenant);
      }
      expect(shown(worlds[1])).toEqual(shown(worlds[0]));
    }),
    { numRuns },
  );
  return read;
}
