import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTarget } from '../../src/tenant/tenant.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER } from '../tenant/cycle.ts';
import {
  areInSync,
  book,
  CLINIC_HOST,
  type Clinic,
  CYCLE_EVERY_MS,
  HOST,
  openOutageWorld,
  SIGNALS,
} from '../tenant/world.ts';

const redis = useRedis({ appendOnly: false });
/** The limit of the requirement. */
const WOKEN_WITHIN_MS = 30 * SECOND_MS;

describe('after an outage of a host', () => {
  test.each([
    ['whole', 20],
    ['each', 8],
  ] as const)('every target is in sync within 30 s (%s, %i clinics)', async (how, clinics) => {
    const world = openOutageWorld(redis, how, clinics);
    world.isOut.vendor = true;
    book(world);
    await world.runUntil(() => false, 11 * MINUTE_MS);
    world.isOut.vendor = false;
    expect(await world.runUntil(() => areInSync(world), 20 * MINUTE_MS)).toBeLessThanOrEqual(WOKEN_WITHIN_MS);
  });

  test('the cycles of all clinics of one clinic system resume within 30 s', async () => {
    const world = openOutageWorld(redis, 'whole', 8);
    world.isOut.clinic = true;
    // Between two cycles of each clinic.
    await world.runUntil(() => false, 12 * MINUTE_MS);
    book(world);
    world.isOut.clinic = false;
    expect(await world.runUntil(() => areInSync(world), 20 * MINUTE_MS)).toBeLessThanOrEqual(WOKEN_WITHIN_MS);
  });

  test('a wait that the vendor named to an account is kept', async () => {
    const world = openOutageWorld(redis, 'whole', 2);
    world.isOut.vendor = true;
    world.namedWaitMs = 10 * MINUTE_MS;
    book(world);
    await world.runUntil(() => world.refused === 2, MINUTE_MS);
    world.isOut.vendor = false;
    expect(await world.runUntil(() => areInSync(world), 20 * MINUTE_MS)).toBeGreaterThan(9 * MINUTE_MS);
  });
});

test('the target that retries for all others is not one that was told to wait', async () => {
  const world = openOutageWorld(redis, 'each', 1);
  const [{ tenant, clinic, outages }] = world.clinics as [Clinic];
  for (const id of ['0', '1']) clinic.appointments.set(id, appointmentOf(id, { inHours: 48 }));
  const target = tenant.targets.get('doctor') as OpenTarget;
  const away = { actor: 'remote', code: 'server-error', retry: 'later', status: 503 } as const;
  const connector: typeof target.connector = {
    ...target.connector,
    async apply(_, operations) {
      outages.heard(HOST, 'failed');
      const [asked, failing] = [{ ...away, retryAfterMs: 10 * MINUTE_MS }, away].map(
        (one) => new MirrorError('away', one),
      );
      return operations.map(({ recordId }) => ({
        recordId,
        result: 'failed',
        error: recordId === '0' ? asked! : failing!,
      }));
    },
  };
  Object.defineProperty(target, 'connector', { value: connector });
  await pullTenant(tenant, NEVER);
  await pushTarget(tenant, target, SIGNALS);
  const pending = await tenant.outbox.pending('doctor');
  expect(pending.get('0')!.dueAt).toBeGreaterThanOrEqual(world.clock.now + 10 * MINUTE_MS);
  expect(pending.get('1')!.dueAt).toBeLessThanOrEqual(world.clock.now + 10 * SECOND_MS);
});

test('a clinic that answers and always fails one list is read no more often for that', async () => {
  const world = openOutageWorld(redis, 'whole', 1);
  const [{ clinic, outages }] = world.clinics as [Clinic];
  let cycles = 0;
  clinic.readAppointments = async () => {
    cycles += 1;
    outages.heard(CLINIC_HOST, 'answered');
    outages.heard(CLINIC_HOST, 'failed');
    throw new MirrorError('away', { actor: 'remote', code: 'unavailable', retry: 'later' });
  };
  await world.runUntil(() => false, 4 * CYCLE_EVERY_MS);
  expect(cycles).toBe(4);
});

test('a clinic that answers again is read once for that', async () => {
  const world = openOutageWorld(redis, 'whole', 1);
  world.isOut.clinic = true;
  await world.runUntil(() => false, 2 * MINUTE_MS);
  world.isOut.clinic = false;
  const [{ clinic }] = world.clinics as [Clinic];
  const list = clinic.readAppointments;
  let reads = 0;
  clinic.readAppointments = (question, signal) => {
    reads += 1;
    return list(question, signal);
  };
  await world.runUntil(() => false, MINUTE_MS);
  expect(reads).toBe(1);
});

test('while a host is down, one target tries it every 10 s, and the others on their schedule', async () => {
  const world = openOutageWorld(redis);
  world.isOut.vendor = true;
  book(world);
  await world.runUntil(() => false, 5 * MINUTE_MS);
  world.refused = 0;
  await world.runUntil(() => false, 10 * MINUTE_MS);
  // 60 by the one, and some four each by 20 others.
  expect(world.refused).toBeGreaterThanOrEqual(50);
  expect(world.refused).toBeLessThan(200);
});

test('an error is attributed to its failed host, also for a job that sent no request', async () => {
  const [{ outages }] = openOutageWorld(redis, 'whole', 1).clinics as [Clinic];
  const error = new MirrorError('away', { actor: 'remote', code: 'token-endpoint-unavailable', retry: 'later' });
  await outages.watch(async () => {
    outages.heard('login.example', 'failed');
    outages.causeOf(error);
  });
  expect(await outages.watch(async () => outages.causeOf(error))).toBe('login.example');
});
