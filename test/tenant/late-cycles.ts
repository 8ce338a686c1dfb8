import { expect } from 'vitest';
import type { AppointmentStatus } from '../../src/core/model/records.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import type { RunReport } from '../../src/domain/runs.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import type { TestRedis } from '../support/redis.ts';
import { cycle, targetOf } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { EVERY_MS, readingOf } from './near-histories.ts';
import { openTenant, type TenantChoice } from './open-tenant.ts';

/** By so much do cycles come late: all is then read with one in five. */
export const LATE_MS = 5 * EVERY_MS;
/** Neither late nor in time: the pace stays. */
export const STEADY_MS = 1.08 * EVERY_MS;
/** Hours from now: six within two days, and six later. */
export const NEAR = [2, 5, 9, 22, 27, 33];
const FAR = [100, 200, 300, 500, 700, 900];

/** A tenant whose cycles start late. */
export interface LateWorld {
  clinic: ModelClinic;
  model: ModelTarget;
  clock: { now: number };
  tenant: OpenTenant;
  /** The next regular cycle, with all its writes. */
  next(): Promise<RunReport>;
}

/** A tenant whose cycles came late: one of five fetches everything, and the next three fetch two days only. */
export async function lateWorld(
  redis: TestRedis,
  more: Partial<TenantChoice> = {},
  near: readonly number[] = NEAR,
): Promise<LateWorld> {
  const [clinic, model, clock] = [createModelClinic(), createModelTarget(), { now: NOW }];
  near.forEach((inHours, index) => void book(clinic, `near-${index}`, inHours));
  FAR.forEach((inHours, index) => void book(clinic, `far-${index}`, inHours));
  const tenant = openTenant({
    ...{
      redis: redis.connect(),
      clinic,
      clock: () => clock.now,
      pullEveryMs: EVERY_MS,
      targets: [{ model, configuration: {} }],
    },
    ...more,
  });
  const after = (durationMs: number) => {
    clock.now += durationMs;
    return cycle(tenant);
  };
  const next = () => after(STEADY_MS);
  await cycle(tenant);
  for (let late = 0; late < 2; late += 1) await after(LATE_MS);
  await untilWhole(next);
  expect(readingOf(await next())).toBe('near');
  return { clinic, model, clock, tenant, next };
}

/** Books an appointment, or changes it. */
export function book(clinic: ModelClinic, id: string, inHours: number, status: AppointmentStatus = 'booked'): void {
  clinic.appointments.set(id, appointmentOf(id, { inHours, status }));
}

/** Runs cycles up to the next one that fetches everything. */
export async function untilWhole(next: () => Promise<RunReport>): Promise<void> {
  for (let cycles = 0; cycles < 20; cycles += 1) if (readingOf(await next()) === 'whole') return;
  throw new Error('no cycle reads all');
}

/** When each record's object begins, in hours from the beginning of the test. */
export function held({ model, tenant }: Pick<LateWorld, 'model' | 'tenant'>): Record<string, number> {
  const { identity } = targetOf(tenant);
  const times = model.objects().map(({ sealedRecordId, item }): [string, number] => {
    return [identity.recordIdOf(sealedRecordId ?? '') ?? '', (identity.spanOf(item).startAt - NOW) / HOUR_MS];
  });
  return Object.fromEntries(times);
}
