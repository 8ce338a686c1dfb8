import { remind } from '../../../src/features/reminders/job.ts';
import { type Outages, wakeOther } from '../../../src/jobs/outages.ts';
import type { OpenTenant } from '../../../src/jobs/tenant.ts';
import type { LedgerEntry } from '../../../src/model/reminders.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { NEVER, pull } from '../../jobs/cycle.ts';
import { createModelClinic, type ModelClinic } from '../../jobs/model-clinic.ts';
import { openEpoch, openOutages, openTenant, withReminders } from '../../jobs/open-tenant.ts';
import { appointmentOf, NOW } from '../../sync/arbitraries.ts';
import {
  createModelGateway,
  type ModelAlarms,
  type ModelGateway,
  openModelReminders,
  patientOf,
  type RemindersChoice,
} from './model-reminders.ts';

/** A clinic with one patient, a gateway, alarms, and a clock that tests move. */
export interface ReminderWorld {
  clinic: ModelClinic;
  gateway: ModelGateway;
  alarms: ModelAlarms;
  lags: number[];
  now: number;
  tenant: OpenTenant;
  outages: Outages;
  /** The same tenant in a new process, or over another connection. */
  open(redis?: RedisClient): OpenTenant;
  /** Lets the time pass; each alarm rings when it is due. */
  advance(durationMs: number): Promise<void>;
  /** A cycle at this moment. */
  cycle(): Promise<void>;
  entries(): Promise<LedgerEntry[]>;
  /** State and reason of the only reminder of an appointment: `sent`, `dropped moved`. */
  fate(appointmentId?: string): Promise<string>;
}

/** @param options.file the tenant file's part on reminders, without channels */
export function createReminderWorld(
  redis: RedisClient,
  options: Partial<Omit<RemindersChoice, 'redis' | 'alarms' | 'gateway'>> & {
    deduplicates?: boolean;
    dataDirectory?: string;
  } = {},
): ReminderWorld {
  const clinic = createModelClinic();
  clinic.patientList.push(patientOf('p1'));
  const world: ReminderWorld = {
    clinic,
    gateway: createModelGateway(options.deduplicates),
    alarms: { wakes: new Map() },
    lags: [],
    now: NOW,
    outages: openOutages(redis, () => world.now, {
      wake: async ({ other }, _, delayMs) => void (other && (await wakeOther(world.open(), other, delayMs))),
    }),
    get tenant() {
      return this.open();
    },
    open(connection = redis) {
      const { gateway, alarms, lags } = world;
      const clock = () => world.now;
      const dataDirectory = options.dataDirectory ?? null;
      const { outages } = world;
      const tenant = openTenant({ redis: connection, clinic, targets: [], clock, dataDirectory, outages });
      const epoch = options.epoch ?? openEpoch(connection, clock, dataDirectory);
      const { store: keep } = tenant.protection;
      const reminders = openModelReminders({ ...options, redis: connection, gateway, alarms, lags, epoch, keep });
      return withReminders(tenant, reminders);
    },
    async advance(durationMs) {
      const untilAt = world.now + durationMs;
      for (;;) {
        const due = [...world.alarms.wakes].filter(([, { wakeAt }]) => wakeAt <= untilAt);
        const [next] = due.sort(([, one], [, other]) => one.wakeAt - other.wakeAt);
        if (next === undefined) break;
        const [name, { id, wakeAt }] = next;
        world.alarms.wakes.delete(name);
        world.now = Math.max(world.now, wakeAt);
        await remind(world.tenant, id, { stop: NEVER, abort: NEVER });
      }
      world.now = untilAt;
    },
    async cycle() {
      const { error } = await pull(world.tenant);
      if (error !== null && clinic.listError === null) throw new Error(`the cycle failed: ${error.code}`);
    },
    entries: async () => {
      const { ledger } = openModelReminders({ ...options, redis, gateway: world.gateway, alarms: world.alarms });
      return [...(await ledger.open()), ...(await ledger.finished(10_000))];
    },
    async fate(appointmentId = 'one') {
      const own = (await world.entries()).filter((entry) => entry.appointmentId === appointmentId);
      return own.map(({ state, reason }) => (reason === null ? state : `${state} ${reason}`)).join(', ');
    },
  };
  return world;
}

/** Books an appointment with the patient, or changes it. */
export function book(world: ReminderWorld, id: string, inHours: number, own: Parameters<typeof appointmentOf>[1] = {}) {
  const appointment = appointmentOf(id, { inHours, updatedAt: NOW, ...own });
  world.clinic.appointments.set(id, appointment);
  return appointment;
}
