import { describe, expect, test } from 'vitest';
import type { Connector } from '../../src/connectors/connector.ts';
import { endWait, type Outages } from '../../src/jobs/outages.ts';
import { pullTenant } from '../../src/jobs/pull.ts';
import { pushTarget } from '../../src/jobs/push.ts';
import type { OpenTarget, OpenTenant } from '../../src/jobs/tenant.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/model/time.ts';
import type { WaitingWork } from '../../src/state/outages.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openOutages, openTenant } from './open-tenant.ts';

const redis = useRedis({ appendOnly: false });
const HOST = 'dav.example';
const CLINIC_HOST = 'clinic.example';
const NEVER = new AbortController().signal;
const SIGNALS = { stop: NEVER, abort: NEVER };
const CLINICS = 20;
const CYCLE_EVERY_MS = 5 * MINUTE_MS;
/** What the issue asks for. */
const WOKEN_WITHIN_MS = 30 * SECOND_MS;

/** How a host that is out fails whoever asks it. */
type Failure = 'whole' | 'each';

interface Clinic {
  tenant: OpenTenant;
  clinic: ModelClinic;
  model: ModelTarget;
  outages: Outages;
}

interface World {
  clinics: Clinic[];
  clock: { now: number };
  /** The vendor's host, and that of the clinics. */
  isOut: { vendor: boolean; clinic: boolean };
  /** Wait that the vendor's answers name. */
  namedWaitMs: number | null;
  /** Calls of the vendor that failed. */
  refused: number;
  /** Lets time pass in steps, with the turns of lanes and cycles that come due, until something is so. @returns how long it took */
  runUntil(isSo: () => boolean, atMostMs: number): Promise<number>;
}

/** Clinics, each the work of a process of its own, whose calendars are at one host and whose systems are at another. */
function openWorld(how: Failure = 'whole', count = CLINICS): World {
  const lanes = new Map<string, number>();
  const cycles = new Map<string, number>();
  const clock = { now: NOW };
  const open = (_: unknown, index: number): Clinic => {
    const id = `clinic-${index}`;
    const clinic = createModelClinic();
    const model = createModelTarget();
    const client = redis.connect();
    const outages = openOutages(client, () => clock.now, wake);
    const configured = { ...model, open: (tag: string) => heard(model.open(tag), world, outages, how) };
    const tenant = openTenant({
      ...{ id, redis: client, clinic, outages },
      clock: () => clock.now,
      targets: [{ model: configured }],
    });
    const list = clinic.readAppointments;
    clinic.readAppointments = async (question, signal) => {
      outages.heard(CLINIC_HOST, world.isOut.clinic ? 'failed' : 'answered');
      if (world.isOut.clinic) throw new MirrorError('away', { actor: 'remote', code: 'unavailable', retry: 'later' });
      return list(question, signal);
    };
    cycles.set(id, NOW + index * SECOND_MS);
    return { tenant, clinic, model, outages };
  };
  /** As the composition does it: any process has any tenant open. */
  async function wake({ tenant: id, target }: WaitingWork, host: string, delayMs: number): Promise<void> {
    const { tenant } = world.clinics.find((one) => one.tenant.id === id) as Clinic;
    if (target === null) cycles.set(id, clock.now + delayMs);
    else if (await endWait(tenant, target, host)) lanes.set(id, clock.now + delayMs);
  }
  const turn = async ({ tenant }: Clinic) => {
    if ((cycles.get(tenant.id) ?? 0) <= clock.now) {
      cycles.set(tenant.id, clock.now + CYCLE_EVERY_MS);
      await pullTenant(tenant, NEVER);
      const dueAt = await tenant.outbox.nextDueAt('doctor');
      if (dueAt !== null) lanes.set(tenant.id, dueAt);
    }
    if ((lanes.get(tenant.id) ?? Number.POSITIVE_INFINITY) > clock.now) return;
    lanes.delete(tenant.id);
    const { nextInMs } = await pushTarget(tenant, tenant.targets.get('doctor') as OpenTarget, SIGNALS);
    if (nextInMs !== null) lanes.set(tenant.id, clock.now + nextInMs);
  };
  const world: World = {
    clinics: [],
    ...{ clock, isOut: { vendor: false, clinic: false }, namedWaitMs: null, refused: 0 },
    async runUntil(isSo, atMostMs) {
      const since = clock.now;
      for (; !isSo() && clock.now - since < atMostMs; clock.now += SECOND_MS) {
        for (const one of world.clinics) await turn(one);
      }
      return clock.now - since;
    },
  };
  world.clinics = Array.from({ length: count }, open);
  return world;
}

/** A connector whose calls the host answers, or does not. */
function heard(connector: Connector, world: World, outages: Outages, how: Failure): Connector {
  const { apply } = connector;
  return {
    ...connector,
    async apply(container, operations, signal) {
      const { namedWaitMs } = world;
      if (!world.isOut.vendor) {
        outages.heard(HOST, 'answered');
        return apply.call(connector, container, operations, signal);
      }
      world.refused += 1;
      outages.heard(HOST, namedWaitMs === null ? 'failed' : 'named-wait');
      const wait = namedWaitMs === null ? {} : { retryAfterMs: namedWaitMs };
      const error = new MirrorError('away', {
        actor: 'remote',
        code: 'server-error',
        retry: 'later',
        status: 503,
        ...wait,
      });
      if (how === 'whole') throw error;
      return operations.map(({ recordId }) => ({ recordId, result: 'failed', error }));
    },
  };
}

function book(world: World): void {
  for (const { clinic } of world.clinics) clinic.appointments.set('new', appointmentOf('new', { inHours: 48 }));
}

function areInSync(world: World): boolean {
  return world.clinics.every(({ model }) => model.objects().length === 1);
}

describe('after an outage of a host', () => {
  test.each(['whole', 'each'] as const)('every target of 20 clinics is in sync within 30 s (%s)', async (how) => {
    const world = openWorld(how);
    world.isOut.vendor = true;
    book(world);
    await world.runUntil(() => false, 30 * MINUTE_MS);
    world.isOut.vendor = false;
    expect(await world.runUntil(() => areInSync(world), 20 * MINUTE_MS)).toBeLessThanOrEqual(WOKEN_WITHIN_MS);
  });

  test('the cycles of 20 clinics of one clinic system resume within 30 s', async () => {
    const world = openWorld();
    world.isOut.clinic = true;
    // Between two cycles of each clinic.
    await world.runUntil(() => false, 22 * MINUTE_MS);
    book(world);
    world.isOut.clinic = false;
    expect(await world.runUntil(() => areInSync(world), 20 * MINUTE_MS)).toBeLessThanOrEqual(WOKEN_WITHIN_MS);
  });

  test('a wait that the vendor named to an account is kept', async () => {
    const world = openWorld('whole', 2);
    world.isOut.vendor = true;
    world.namedWaitMs = 10 * MINUTE_MS;
    book(world);
    await world.runUntil(() => world.refused === 2, MINUTE_MS);
    world.isOut.vendor = false;
    expect(await world.runUntil(() => areInSync(world), 20 * MINUTE_MS)).toBeGreaterThan(9 * MINUTE_MS);
  });
});

test('the one that tries for all others is none that was asked to wait', async () => {
  const world = openWorld('each', 1);
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
  const world = openWorld('whole', 1);
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
  const world = openWorld('whole', 1);
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

test('while a host is out, it is tried every 10 s by one target, and by the others as before', async () => {
  const world = openWorld();
  world.isOut.vendor = true;
  book(world);
  await world.runUntil(() => false, 10 * MINUTE_MS);
  world.refused = 0;
  await world.runUntil(() => false, 10 * MINUTE_MS);
  // 60 by the one, and some four each by 20 others.
  expect(world.refused).toBeGreaterThanOrEqual(50);
  expect(world.refused).toBeLessThan(200);
});
