import type { Connector } from '../../src/connectors/connector.ts';
import { endWait, type Outages } from '../../src/jobs/outages.ts';
import { pullTenant } from '../../src/jobs/pull.ts';
import { pushTarget } from '../../src/jobs/push.ts';
import type { OpenTarget, OpenTenant } from '../../src/jobs/tenant.ts';
import type { Logger } from '../../src/log/logger.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/model/time.ts';
import type { WaitingWork } from '../../src/state/outages.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openOutages, openTenant } from './open-tenant.ts';

/** The vendor's. */
export const HOST = 'dav.example';
export const CLINIC_HOST = 'clinic.example';
export const NEVER = new AbortController().signal;
export const SIGNALS = { stop: NEVER, abort: NEVER };
export const CLINICS = 20;
export const CYCLE_EVERY_MS = 5 * MINUTE_MS;

/** How a host that is out fails whoever asks it. */
type Failure = 'whole' | 'each';

/** A clinic with one calendar. */
export interface Clinic {
  tenant: OpenTenant;
  clinic: ModelClinic;
  model: ModelTarget;
  outages: Outages;
}

/** What tests do with them. */
export interface World {
  clinics: Clinic[];
  clock: { now: number };
  /** The vendor's host, and that of the clinics. */
  isOut: { vendor: boolean; clinic: boolean };
  /** Wait that the vendor's answers name. */
  namedWaitMs: number | null;
  /** What the log got at its usual level: the message, with the data beside it. */
  lines: [message: string, data: object][];
  /** Calls of the vendor that failed. */
  refused: number;
  /** Lets time pass in steps, with the turns of lanes and cycles that come due, until something is so. @returns how long it took */
  runUntil(isSo: () => boolean, atMostMs: number): Promise<number>;
}

/** Clinics, each the work of a process of its own, whose calendars are at one host and whose systems are at another. */
export function openWorld(redis: { connect(): RedisClient }, how: Failure = 'whole', count = CLINICS): World {
  const lanes = new Map<string, number>();
  const cycles = new Map<string, number>();
  const clock = { now: NOW };
  const lines: World['lines'] = [];
  const note = (data: object, message: string) => void lines.push([message, data]);
  const log: Logger = { debug() {}, info: note, warn: note, error: note, child: () => log };
  const open = (_: unknown, index: number): Clinic => {
    const id = `clinic-${index}`;
    const clinic = createModelClinic();
    const model = createModelTarget();
    const client = redis.connect();
    const outages = openOutages(client, () => clock.now, { wake, log });
    const configured = { ...model, open: (tag: string) => heard(model.open(tag), world, outages, how) };
    const tenant = openTenant({
      ...{ id, redis: client, clinic, outages, log },
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
    ...{ clock, lines, isOut: { vendor: false, clinic: false }, namedWaitMs: null, refused: 0 },
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

/** An appointment in each clinic. */
export function book(world: World): void {
  for (const { clinic } of world.clinics) clinic.appointments.set('new', appointmentOf('new', { inHours: 48 }));
}

export function areInSync(world: World): boolean {
  return world.clinics.every(({ model }) => model.objects().length === 1);
}
