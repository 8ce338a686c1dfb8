import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { KEY_OWNERS } from '../../src/daemon/key-tables.ts';
import type { RunReport } from '../../src/domain/runs.ts';
import { remind } from '../../src/features/reminders/job.ts';
import { runTriggers } from '../../src/features/triggers/job.ts';
import { openBudgetShare } from '../../src/state/budget.ts';
import { pullTenant, readStreamsInTurn } from '../../src/tenant/pull.ts';
import { createRemovedStore } from '../../src/tenant/removed.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { startReceiver } from '../features/reminders/channels/receiver.ts';
import { answersOver, createModelGateway, openModelReminders } from '../features/reminders/reminder-world.ts';
import { createTriggerWorld, report } from '../features/triggers/trigger-world.ts';
import type { TestRedis } from '../support/redis.ts';
import { copyState, goBackTo } from '../support/stored-state.ts';
import { cycle, drain, NEVER } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';
import { auditOf, editByHand, openCrmWorld, patientOf, removeByHand } from '../tenant/world.ts';

const SIGNALS = { stop: NEVER, abort: NEVER };
const LIMITS = { requestsPerMinute: 60_000, burst: 1_000 };
const PATIENTS = ['1', '2', '3', '4', '5', '6'];

/** A tenant with a calendar, CRMs, reminders and triggers, and another tenant, over one Redis. */
export type BusyTenant = Awaited<ReturnType<typeof openBusyTenant>>;

/** Opens both tenants, and fills every kind of state that their work keeps. */
export async function openBusyTenant(redis: TestRedis) {
  const connection = redis.connect();
  const receiver = await startReceiver();
  const world = openCrmWorld({ connect: () => connection }, { calendar: true });
  const { clinic, clock, calendar } = world;
  const gateway = createModelGateway();
  const alarms: Parameters<typeof openModelReminders>[0]['alarms'] = { wakes: new Map() };
  const events = ['report.available', 'appointment.moved'];
  const triggers = createTriggerWorld(connection, { portal: { url: `${receiver.url}/in`, events } });
  const other = { clinic: createModelClinic(3), model: createModelTarget() };
  const busy = {
    ...{ connection, receiver, clinic, clock, gateway, alarms, triggers, other },
    models: { calendar, contacts: world.contacts, activities: world.activities },
    /** The tenant in a new process. */
    open(): OpenTenant {
      const reminders = openModelReminders({ redis: connection, gateway, alarms, answers: answersOver(connection) });
      return world.again({ reminders, triggers: triggers.open().triggers });
    },
    openOther: () =>
      openTenant({
        ...{ redis: connection, id: 'studio-bianchi', clinic: other.clinic, targets: [{ model: other.model }] },
        clock: () => clock.now,
      }),
    /** The work of fifteen minutes. */
    async work(tenant: OpenTenant): Promise<RunReport | null> {
      clock.now += 15 * MINUTE_MS;
      triggers.now = clock.now;
      await readStreamsInTurn(tenant, { takesOver: true }, NEVER);
      const run = await pullTenant(tenant, NEVER, { asked: true });
      for (const target of tenant.targets.values()) await drain(tenant, target);
      await runTriggers(tenant, { read: true }, SIGNALS);
      for (const [name, { id, wakeAt }] of [...alarms.wakes]) {
        if (wakeAt > clock.now) continue;
        alarms.wakes.delete(name);
        await remind(tenant, id, SIGNALS);
      }
      await share(connection, tenant.id).take(NEVER);
      await tenant.feeds.recordFetch('doctor', clock.now);
      return run;
    },
  };
  await fill(busy);
  return busy;
}

function share(redis: Parameters<typeof openBudgetShare>[0], participant: string) {
  return openBudgetShare(redis, { budget: 'clinic', participant, limits: LIMITS, priority: 'background' });
}

async function fill({ clinic, clock, models, triggers, receiver, connection, open, openOther, work }: Filled) {
  const tenant = open();
  for (const id of PATIENTS) {
    clinic.patientList.push(patientOf(id, { mobilePhone: `+39 333 765431${id}` }));
    const appointment = appointmentOf(id, { inHours: 24 + Number(id), patientId: id, updatedAt: NOW });
    clinic.appointments.set(id, appointment);
    triggers.documents.appointments.set(id, appointment);
  }
  triggers.documents.reports.set('old', report('old'));
  await work(tenant);
  clock.now += 5 * HOUR_MS;
  await work(tenant);
  editByHand({ model: models.calendar, tenant }, '1', { title: 'Edited' });
  removeByHand({ model: models.calendar, tenant }, '2');
  await auditOf(tenant, { whole: true });
  receiver.kit.faults.add({ times: 1, fault: { kind: 'status', status: 503, headers: {} } });
  triggers.documents.reports.set('new', report('new'));
  // A waiting change, and a cancellation.
  models.calendar.fault = ({ recordId }) => (recordId === '3' ? 'unavailable' : null);
  clinic.appointments.set('3', appointmentOf('3', { inHours: 40, patientId: '3', updatedAt: NOW }));
  clinic.appointments.set('4', appointmentOf('4', { inHours: 50, status: 'cancelled', updatedAt: NOW }));
  await work(tenant);
  models.calendar.fault = () => null;
  await fillRest(tenant, clock.now);
  const lease = await tenant.leases.take('removal', 0, NEVER);
  await createRemovedStore(connection, KEY_OWNERS).recordParts(
    tenant.id,
    { missed: ['target/gone'], ended: [] },
    NOW,
    lease,
  );
  await lease.release();
  await cycle(openOther());
}

type Filled = Pick<
  BusyTenant,
  'clinic' | 'clock' | 'models' | 'triggers' | 'receiver' | 'connection' | 'open' | 'openOther' | 'work'
>;

/** State that operators, callbacks and rare events leave. */
async function fillRest(tenant: OpenTenant, now: number) {
  const { reminders, targetStore } = tenant;
  await tenant.tombstones.add('99', now);
  await tenant.tombstones.storeReceipt({
    ...{ tenant: tenant.id, at: now, tombstone: null, upcoming: 0, targets: [], warnings: [] },
    state: { journalLines: 0, pins: 0, holds: 0, auditFindings: 0, reminders: 0, answerLinks: 0, examples: 0 },
  });
  await tenant.feeds.rotate('doctor', now);
  await tenant.unanswered.record('doctor', new Map([['key', now + DAY_MS]]));
  await tenant.storage.count(now);
  await targetStore.recordGone('doctor', { cancelled: 1, excluded: 0, vanished: 0, released: 0, restored: 0 }, now);
  await targetStore.write('contacts', { copies: [], refusedThere: { marketing: [] }, replacedAt: now - 300 * DAY_MS });
  if (reminders === null) throw new Error('the tenant has no reminders');
  const { ledger, optOuts, replies } = reminders;
  await optOuts.add(optOuts.hashOf('phone', '+393331234567'), { source: 'reply', at: now });
  await ledger.closeChannel('other', { code: 'gone', at: now });
  await ledger.report('ref-1', { state: 'failed', code: 'absent', at: now });
  await replies.add({ at: now, phone: '+39', text: 'hello', message: 'm', recipient: 'phone:x' });
}

/** Returns to the present state of both tenants, their clinics and their targets. */
export async function rememberState({ connection, clinic, clock, alarms, gateway, models, other }: BusyTenant) {
  const stored = await copyState(connection);
  const restores = [...Object.values(models), other.model].map((model) => model.copy());
  const [appointments, wakes, now] = [structuredClone(clinic.appointments), new Map(alarms.wakes), clock.now];
  const delivered = gateway.delivered.length;
  return {
    keys: stored.map(({ key }) => String(key)),
    async restore(): Promise<void> {
      await goBackTo(connection, stored);
      for (const restore of restores) restore();
      clinic.appointments.clear();
      for (const [id, each] of appointments) clinic.appointments.set(id, structuredClone(each));
      alarms.wakes.clear();
      for (const [name, wake] of wakes) alarms.wakes.set(name, wake);
      gateway.delivered.length = delivered;
      clock.now = now;
    },
  };
}
