import type { Redis } from 'ioredis';
import type { Operation } from '../../../src/core/model/operations.ts';
import type { Appointment, Invoice } from '../../../src/core/model/records.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { forgetPatient } from '../../../src/features/forget/forget.ts';
import { remind } from '../../../src/features/reminders/job.ts';
import type { Wake } from '../../../src/jobs/queues.ts';
import { crmSchema } from '../../../src/settings/crm-schema.ts';
import type { OpenTenant } from '../../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { dumpRedis } from '../../e2e/support/dump-redis.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { createModelClinic, type ModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget, type ModelTarget } from '../../tenant/model-target.ts';
import { openTenant, type TenantChoice } from '../../tenant/open-tenant.ts';
import { answersOver, createModelGateway, openModelReminders, patientOf } from '../reminders/reminder-world.ts';

/** Who is to be forgotten. */
export const PATIENT = 'pat-7731';
/** A patient who is not forgotten. */
export const OTHER = 'pat-8842';
/** All values that identify the forgotten patient, wherever they may be in clear. */
export const TELLING = [PATIENT, 'visit-7731', 'bill-7731', 'Ottavia', 'Zamboni', 'ottavia@example.org', '3337731773'];

/** A clinic with two patients, and one target of each kind that follows them. */
export interface ForgetWorld {
  clinic: ModelClinic;
  calendar: ModelTarget;
  contacts: ModelTarget;
  visits: ModelTarget;
  bills: ModelTarget;
  clock: { now: number };
  /** Operations sent to each target. */
  asked: Record<string, Operation[]>;
  gateway: ReturnType<typeof createModelGateway>;
  alarms: Map<string, Wake>;
  tenant: OpenTenant;
  installation: ReturnType<typeof openInstallation>;
  connection: Redis;
  /** Another process over the same state. */
  again(changes?: Partial<TenantChoice>): OpenTenant;
  /** A minute later, a cycle to its end. */
  pass(tenant?: OpenTenant): Promise<void>;
  /** Keys and contents of Redis that identify the patient. */
  tracesInRedis(): Promise<string[]>;
}

const CONTACTS = { mapping: { lastname: 'lastName', email: 'email', phone: 'mobilePhone' }, everyMinutes: 1 };
const VISITS = {
  stream: 'appointments',
  contacts: 'contacts',
  mapping: { title: { value: 'Visit' }, status: 'status' },
};
const BILLS = { stream: 'invoices', contacts: 'contacts', mapping: { name: 'number' } };

export function visit(id: string, inHours: number, changes: Partial<Appointment> = {}): Appointment {
  const patient = { id: PATIENT, firstName: 'Ottavia', lastName: 'Zamboni' };
  return appointmentOf(id, { inHours, patientId: PATIENT, patient, ...changes });
}

export function ofOther(id: string, inHours: number): Appointment {
  return visit(id, inHours, { patientId: OTHER, patient: { id: OTHER, firstName: 'Ada', lastName: 'Neri' } });
}

function bill(id: string, patientId: string): Invoice {
  const issueDate = new Date(NOW - DAY_MS).toISOString().slice(0, 10);
  const money = { currency: 'EUR', totalAmount: '10.00', paidAmount: '0.00' };
  return { id, patientId, number: id, documentType: 'Invoice', status: 'Issued', issueDate, doctors: [], ...money };
}

function fill(clinic: ModelClinic): void {
  const person = { firstName: 'Ottavia', lastName: 'Zamboni', email: 'ottavia@example.org', mobilePhone: '3337731773' };
  clinic.patientList.push(patientOf(PATIENT, person), patientOf(OTHER, { lastName: 'Neri' }));
  for (const appointment of [visit('visit-7731-a', 30), visit('visit-7731-b', 54), visit('visit-7731-c', -48)]) {
    clinic.appointments.set(appointment.id, appointment);
  }
  for (const appointment of [ofOther('visit-8842-a', 31), ofOther('visit-8842-b', -48)]) {
    clinic.appointments.set(appointment.id, appointment);
  }
  clinic.invoiceList.push(bill('bill-7731', PATIENT), bill('bill-8842', OTHER));
}

/** Opens it; nothing was read or written yet. */
export function openForgetWorld(connection: Redis): ForgetWorld {
  const clinic = createModelClinic();
  fill(clinic);
  const models = {
    doctor: createModelTarget(),
    contacts: createModelTarget({ batchSize: 100, erases: ['patients'] }),
    visits: createModelTarget({ batchSize: 100 }),
    bills: createModelTarget({ batchSize: 100 }),
  };
  const asked: Record<string, Operation[]> = {};
  for (const [id, model] of Object.entries(models)) {
    asked[id] = [];
    model.beforeApply = (operations) => void asked[id]?.push(...operations);
  }
  const clock = { now: NOW };
  const gateway = createModelGateway();
  const alarms = new Map<string, Wake>();
  const crm = (part: object) => ({ crm: crmSchema.parse(part) });
  const again = (changes: Partial<TenantChoice> = {}) =>
    openTenant({
      redis: connection,
      clinic,
      targets: [
        { id: 'doctor', model: models.doctor, configuration: { title: 'full' } },
        { id: 'contacts', model: models.contacts, configuration: crm(CONTACTS) },
        { id: 'visits', model: models.visits, configuration: crm(VISITS) },
        { id: 'bills', model: models.bills, configuration: crm(BILLS) },
      ],
      clock: () => clock.now,
      reminders: openModelReminders({
        redis: connection,
        gateway,
        alarms: { wakes: alarms },
        answers: answersOver(connection),
      }),
      ...changes,
    });
  const tenant = again();
  return {
    ...{ clinic, calendar: models.doctor, contacts: models.contacts, visits: models.visits, bills: models.bills },
    ...{ clock, asked, gateway, alarms, tenant, connection, again },
    installation: openInstallation({ tenants: [tenant] }),
    async pass(given = tenant) {
      clock.now += MINUTE_MS;
      const { error } = await cycle(given);
      if (error !== null) throw new Error(`the cycle failed: ${error.code}`);
    },
    async tracesInRedis() {
      const dump = await dumpRedis(connection);
      return [...dump]
        .filter(([key, content]) => TELLING.some((word) => key.includes(word) || content.includes(word)))
        .map(([key]) => key);
    },
  };
}

/** Leaves one trace in each location that may name a record, and one of another patient next to it. */
export async function leaveTraces(world: ForgetWorld): Promise<void> {
  const { tenant, clock, clinic } = world;
  const now = clock.now;
  const both = ['visit-7731-a', 'visit-8842-a'];
  // A journal line, an unseen write; the change after it waits in the outbox.
  await tenant.targetStore.write('doctor', { cursor: 'cursor-1' });
  clinic.appointments.set('visit-7731-a', visit('visit-7731-a', 32));
  await world.pass();
  await tenant.journal.pin('doctor', both, now + 10 * DAY_MS);
  await tenant.links.nameDrifted('doctor', new Set(both));
  await tenant.targetStore.countRestorations('doctor', both, now);
  const [run] = await tenant.runs.list(1);
  if (run === undefined) throw new Error('no cycle was reported');
  const example = { recordId: 'visit-7731-b', code: 'bad-time', field: 'startsAt' };
  await tenant.runs.add({ ...run, unusableExamples: [example, { ...example, recordId: OTHER }] });
  world.calendar.fault = ({ recordId }) => (recordId === 'visit-7731-b' ? 'unavailable' : null);
  clinic.appointments.set('visit-7731-b', visit('visit-7731-b', 55));
  clock.now += 60_000;
  await cycle(tenant);
  world.calendar.fault = () => null;
  await ring(world);
  await tenant.targetStore.storeMisses('appointments', new Map([['visit-7731-c', now]]));
  for (const appointmentId of both) await noteMisinformed(tenant, appointmentId, clock.now);
  await tenant.holds.cover('doctor', 'vanished', both, { linkCount: 5, now, expiresAt: clock.now + DAY_MS });
}

/** Records that the patient received wrong information about an appointment. */
async function noteMisinformed(
  { reminders }: ForgetWorld['tenant'],
  appointmentId: string,
  now: number,
): Promise<void> {
  const never = { correctsAt: null, reason: 'corrections-off', held: null } as const;
  await reminders?.ledger.recordWrong({
    appointmentId,
    channel: 'text',
    sinceAt: now,
    untilAt: now + DAY_MS,
    ...never,
  });
}

/** Lets every alarm ring at its time. */
export async function ring(world: ForgetWorld): Promise<void> {
  for (const { id, wakeAt } of [...world.alarms.values()].sort((one, other) => one.wakeAt - other.wakeAt)) {
    world.clock.now = Math.max(world.clock.now, wakeAt);
    await remind(world.tenant, id, { stop: NEVER, abort: NEVER });
  }
}

/** The tenant. */
export const ID = 'studio-rossi';
export const SILENT = () => {};
export const SIGNALS = { stop: NEVER, abort: NEVER };

/** A world after its first cycle. */
export async function openSynced(connection: Redis): Promise<ForgetWorld> {
  const world = openForgetWorld(connection);
  await world.pass();
  return world;
}

/** Forgets the patient as the command does. */
export const forget = (world: ForgetWorld, tenant?: OpenTenant) =>
  forgetPatient(tenant === undefined ? world.installation : openInstallation({ tenants: [tenant] }), ID, PATIENT, {
    progress: SILENT,
    signals: SIGNALS,
  });

/** Models of the targets, by id. */
export const MODELS = (world: ForgetWorld): [string, ModelTarget][] => [
  ['doctor', world.calendar],
  ['contacts', world.contacts],
  ['visits', world.visits],
  ['bills', world.bills],
];
/** How many objects each target has. */
export const counts = (world: ForgetWorld) => MODELS(world).map(([, model]) => model.objects().length);
