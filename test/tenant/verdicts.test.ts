import { describe, expect, test } from 'vitest';

import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { createModelGateway, openModelReminders } from '../features/reminders/reminder-world.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, twoCycles } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openEpoch, openTenant, withReminders } from './open-tenant.ts';
import { patientOf } from './world.ts';

const redis = useRedis();

const CONTACTS = { consents: ['marketing'], mapping: { lastname: 'lastName', visits: 'derived.visits' } };
const ACTIVITIES = {
  stream: 'appointments',
  contacts: 'contacts',
  mapping: { title: { value: 'Visit' }, status: 'status' },
};

/** Opens a calendar of one agenda, a small one of another agenda, a CRM of contacts and activities, and reminders, for one clinic. */
async function open(large: number, small: number) {
  const connection = redis.connect();
  await connection.flushall();
  const clinic = createModelClinic();
  clinic.patientList.push(patientOf('p1'), patientOf('p2'));
  book(clinic, 'l', 'a1', large, 24);
  book(clinic, 's', 'a2', small, 26);
  const clock = { now: NOW };
  const models = {
    large: createModelTarget({ batchSize: 100 }),
    small: createModelTarget({ batchSize: 100 }),
    contacts: createModelTarget({ batchSize: 100 }),
    activities: createModelTarget({ batchSize: 100 }),
  };
  const part = (crm: object) => ({ configuration: { crm: crmSchema.parse(crm) } });
  const base = openTenant({
    redis: connection,
    clinic,
    clock: () => clock.now,
    targets: [
      { id: 'large', model: models.large, configuration: { agendas: ['a1'] } },
      { id: 'small', model: models.small, configuration: { agendas: ['a2'] } },
      { id: 'contacts', model: models.contacts, ...part(CONTACTS) },
      { id: 'activities', model: models.activities, ...part(ACTIVITIES) },
    ],
  });
  const reminders = openModelReminders({
    redis: connection,
    gateway: createModelGateway(),
    alarms: { wakes: new Map() },
    epoch: openEpoch(connection, () => clock.now),
    keep: base.protection.store,
  });
  const tenant = withReminders(base, reminders);
  const everything = () => JSON.stringify(Object.values(models).map((model) => model.objects()));
  const waiting = async () =>
    (await reminders.ledger.open()).map(({ appointmentId, dueAt }) => `${appointmentId} ${dueAt}`).sort();
  const holds = async () =>
    (await tenant.holds.list()).map(({ target, kind, recordIds }) => `${target} ${kind} ${recordIds.length}`).sort();
  return { clinic, models, tenant, clock, everything, waiting, holds };
}

function book(clinic: ModelClinic, prefix: string, agendaId: string, count: number, fromHour: number) {
  for (let index = 0; index < count; index += 1) {
    const id = `${prefix}${index}`;
    const patientId = index % 2 === 0 ? 'p1' : 'p2';
    clinic.appointments.set(id, { ...appointmentOf(id, { inHours: fromHour + index * 4 }), agendaId, patientId });
  }
}

describe('a calendar that loses too much', () => {
  const lose = (clinic: ModelClinic, ...ids: string[]) => ids.map((id) => clinic.appointments.delete(id));

  test('holds the removals of that fetch in the tenant’s other targets, in CRMs and of reminders', async () => {
    const { clinic, models, tenant, everything, waiting, holds } = await open(60, 8);
    await cycle(tenant);
    const before = everything();
    const planned = await waiting();
    expect(planned).toContainEqual(expect.stringMatching(/^s0 /));
    // Half of the small one; of the large one two in sixty, and six in sixty-eight of the CRM.
    lose(clinic, 's0', 's1', 's2', 's3', 'l0', 'l1');
    await twoCycles(tenant);
    expect(everything()).toBe(before);
    expect(await waiting()).toEqual(planned);
    expect(await holds()).toEqual(['activities vanished 6', 'large vanished 2', 'small vanished 4']);
    const exceeded = (await tenant.holds.list()).map(({ target, exceededIn }) => [target, exceededIn] as const);
    expect(new Map(exceeded)).toEqual(
      new Map([
        ['activities', 'small'],
        ['large', 'small'],
        ['small', null],
      ]),
    );
    // Each target's hold is decided for itself.
    const hold = (await tenant.holds.list()).find(({ target }) => target === 'large');
    await tenant.holds.decide(hold?.id ?? '', { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS });
    await cycle(tenant);
    expect(models.large.objects()).toHaveLength(58);
    expect(models.small.objects()).toHaveLength(8);
    expect(models.activities.objects()).toHaveLength(68);
  });

  test('holds neither what the clinic says itself, nor what is new or changed', async () => {
    const { clinic, models, tenant } = await open(60, 8);
    await cycle(tenant);
    lose(clinic, 's0', 's1', 's2', 's3');
    const [one, two] = ['l0', 'l1'].map((id) => clinic.appointments.get(id));
    clinic.appointments.set('l0', { ...one!, status: 'cancelled' });
    clinic.appointments.set('l1', { ...two!, time: appointmentOf('l1', { inHours: 500 }).time });
    book(clinic, 'n', 'a1', 1, 30);
    await twoCycles(tenant);
    expect(models.large.objects()).toHaveLength(60);
    expect(await tenant.outbox.counts('large')).toMatchObject({ pending: 0 });
  });

  test('and one that loses no more than it may: everything goes', async () => {
    const { clinic, models, tenant, waiting, holds } = await open(60, 8);
    await cycle(tenant);
    lose(clinic, 's0', 's1', 's2', 'l0', 'l1');
    await twoCycles(tenant);
    expect(await holds()).toEqual([]);
    expect([models.large, models.small, models.activities].map((model) => model.objects().length)).toEqual([58, 5, 63]);
    expect((await waiting()).filter((one) => /^(s[012]|l[01]) /.test(one))).toEqual([]);
  });
});

describe('a fetch that replaces nearly everything of one calendar', () => {
  test.each(['l', 'x'])(
    'changes nothing in the tenant’s others, too small to tell, nor in CRMs and reminders (ids %s)',
    async (prefix) => {
      const { clinic, models, tenant, clock, everything, waiting, holds } = await open(60, 3);
      await cycle(tenant);
      const before = everything();
      const planned = await waiting();
      const own = new Map(clinic.appointments);
      clinic.appointments.clear();
      book(clinic, prefix, 'a1', 60, 31);
      book(clinic, prefix === 'l' ? 's' : 'y', 'a2', 3, 33);
      clock.now += HOUR_MS;
      await twoCycles(tenant);
      expect(everything()).toBe(before);
      expect(await waiting()).toEqual(planned);
      expect((await holds()).map((hold) => hold.replace(/ \d+$/, ''))).toEqual(
        expect.arrayContaining(['activities replaced', 'large replaced', 'small replaced']),
      );
      clinic.appointments.clear();
      for (const [id, appointment] of own) clinic.appointments.set(id, appointment);
      await cycle(tenant);
      expect(await holds()).toEqual([]);
      expect(everything()).toBe(before);
      expect(models.small.objects()).toHaveLength(3);
    },
  );

  test('leaves the data of contacts unchanged', async () => {
    const { clinic, models, tenant, clock, holds } = await open(60, 3);
    await cycle(tenant);
    const before = JSON.stringify(models.contacts.objects());
    for (const [id, one] of clinic.appointments) {
      const time = appointmentOf(id, { inHours: -30 - (one.time.startAt - NOW) / HOUR_MS / 10 }).time;
      clinic.appointments.set(id, { ...one, patientId: 'p1', status: 'completed', time });
    }
    clock.now += HOUR_MS;
    await twoCycles(tenant);
    expect(await holds()).toContain('contacts replaced 1');
    expect(JSON.stringify(models.contacts.objects())).toBe(before);
  });
});
