import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { decideHold, listHolds } from '../../../src/features/holds/holds.ts';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { applyPlan, newestPlan, planTenant, readStoredPlan, storePlan } from '../../../src/operator/control/plan.ts';
import { planDocument } from '../../../src/operator/documents/plan.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openCrmWorld, patientOf } from '../../tenant/world.ts';
import { openBooked, openInstallation } from './open-installation.ts';

const redis = useRedis();
const SILENT = () => {};

test('a plan counts failed and waiting records as not in sync', async () => {
  const world = openCrmWorld(redis);
  const { tenant, contacts, clinic } = world;
  const installation = {
    tenants: new Map([[tenant.id, tenant]]),
    clock: () => world.clock.now,
  } as unknown as Installation;
  const planned = async () => {
    const plan = await planTenant(installation, tenant.id, () => {}, NEVER);
    const target = plan.targets.find((one) => one.target === 'contacts')!;
    return {
      target,
      text: printTerminal(planDocument({ ...plan, targets: [target] }, 'en'))
        .split('\n')
        .slice(4)
        .join('\n'),
    };
  };
  clinic.patientList.push(...['1', '2', '3', '4'].map((id) => patientOf(id)));
  await cycle(tenant);
  expect((await planned()).text).toBe('contacts\n  No changes: 4 in sync.');

  contacts.fault = ({ recordId }) => (recordId === '3' || recordId === '4' ? 'refused' : null);
  for (const [index, id] of ['1', '2', '3'].entries()) clinic.patientList[index] = patientOf(id, { firstName: 'Eva' });
  clinic.patientList[3] = patientOf('4', { consents: { marketing: false } });
  world.clock.now += 15 * 60_000;
  await cycle(tenant);
  const { target, text } = await planned();
  expect(target).toMatchObject({ unchanged: 2, failing: 2, waiting: 0, lines: [] });
  expect(text).toMatchInlineSnapshot(`
    "contacts
      No changes: 2 in sync. · 2 already failed
      List of failed changes:
        clinic-mirror health studio-rossi contacts"
  `);

  // The newer change of the clinic replaces the failed one.
  clinic.patientList[2] = patientOf('3', { firstName: 'Ada' });
  world.clock.now += 15 * 60_000;
  expect((await planned()).target).toMatchObject({ unchanged: 2, failing: 1, lines: [{ record: '3' }] });
});

test('a plan shows the calendar, and titles that contain no patient data', async () => {
  const clinic = createModelClinic();
  clinic.appointments.set('1', appointmentOf('1', { inHours: 24 }));
  const named = { settings: { calendar: { create: 'Appointments of Dr Bianchi' } } };
  const targets = (['busy', 'appointment', 'code', 'initials', 'full'] as const).map((title) => ({
    id: title,
    model: createModelTarget(),
    configuration: { ...named, title },
  }));
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => NOW });
  const plan = await planTenant(openInstallation({ tenants: [tenant] }), tenant.id, () => {}, NEVER);
  expect(plan.targets.map(({ target, lines }) => [target, lines.map(({ title }) => title !== null)])).toEqual([
    ['busy', [true]],
    ['appointment', [true]],
    ['code', [true]],
    ['initials', [false]],
    ['full', [false]],
  ]);
  expect(JSON.stringify(plan)).not.toContain('Mario');
  expect(printTerminal(planDocument(plan, 'en'))).toContain('busy (Appointments of Dr Bianchi)\n  1 to create');
});

test('a plan shows old and new value of each field, by the current content of the calendar', async () => {
  const clinic = createModelClinic();
  for (const id of ['1', '2', '3']) clinic.appointments.set(id, appointmentOf(id, { inHours: 24 }));
  const model = createModelTarget();
  const clock = { now: NOW };
  const tenant = openTenant({
    redis: redis.connect(),
    clinic,
    targets: [{ model, configuration: { free: ['no_show'] } }],
    clock: () => clock.now,
  });
  const installation = openInstallation({ tenants: [tenant] });
  const fieldsOf = async () => {
    const plan = await planTenant(installation, tenant.id, () => {}, NEVER);
    const lines = plan.targets.flatMap((target) => target.lines);
    return {
      text: printTerminal(planDocument(plan, 'en')),
      changes: new Map(lines.map((line) => [line.record, line.fieldChanges])),
    };
  };
  await cycle(tenant);
  clock.now += 60_000;
  clinic.appointments.set('1', appointmentOf('1', { inHours: 26 }));
  clinic.appointments.set('2', appointmentOf('2', { inHours: 24, status: 'cancelled' }));
  clinic.appointments.set('3', appointmentOf('3', { inHours: 24, status: 'no_show' }));
  const key = tenant.targets.get('doctor')!.identity.key('3', 0);
  Object.assign(model.objects().find((object) => object.key === key)!.item, { title: 'Mario Rossi calls' });
  const time = (inHours: number) => {
    const startAt = NOW + inHours * 3_600_000;
    return { kind: 'time', startAt, endAt: startAt + 3_600_000 };
  };
  const { text, changes } = await fieldsOf();
  expect(changes.get('1')).toEqual([{ field: 'time', before: time(24), after: time(26) }]);
  expect(changes.get('2')).toContainEqual({ field: 'time', before: time(24), after: { kind: 'none' } });
  expect(changes.get('3')).toEqual([
    { field: 'busy', before: { kind: 'text', text: 'busy' }, after: { kind: 'text', text: 'free' } },
  ]);
  expect(text).toMatch(/ 1 .* changed: time +to write\n +time 2026-06-16 08:00:00Z to .* → 2026-06-16 10:00:00Z to/);
  expect(text).toMatch(/ 3 .*\n +busy or free busy → free$/m);
  expect(JSON.stringify([...changes])).not.toContain('Mario');

  const away = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
  Object.assign(tenant.targets.get('doctor')!.connector, { find: () => Promise.reject(away) });
  expect((await fieldsOf()).changes.get('1')).toEqual([{ field: 'time', before: { kind: 'unread' }, after: time(26) }]);
});

const SIGNALS = { stop: NEVER, abort: NEVER };

async function open() {
  const clock = { now: NOW };
  const clinic = createModelClinic();
  const book = (id: string, inHours: number) => clinic.appointments.set(id, appointmentOf(id, { inHours }));
  for (const [index, id] of ['a', 'b', 'c'].entries()) book(id, 24 + index);
  const model = createModelTarget();
  const connection = redis.connect();
  const tenant = openTenant({ redis: connection, clinic, targets: [{ model }], clock: () => clock.now });
  await cycle(tenant);
  book('b', 50);
  book('d', 60);
  clock.now += MINUTE_MS;
  const installation = openInstallation({ tenants: [tenant] });
  const keep = () => storePlan(installation, tenant.id, () => {}, NEVER);
  const apply = (plan: string) => applyPlan(installation, tenant.id, plan, { progress: () => {}, signals: SIGNALS });
  const held = async () => (await tenant.links.read('doctor')).size;
  return { clock, clinic, book, tenant, installation, keep, apply, held, connection };
}

describe('a stored plan', () => {
  test('is applied if a cycle would make the same changes', async () => {
    const { keep, apply, held, installation, tenant } = await open();
    const plan = await keep();
    expect(plan.targets[0]?.lines).toMatchObject([
      { record: 'b', operation: 'update' },
      { record: 'd', operation: 'create' },
    ]);
    expect(await readStoredPlan(installation, tenant.id, plan.id)).toEqual(plan);
    expect(await held()).toBe(3);
    const { run, targets } = await apply(plan.id);
    expect([run.error, targets[0]?.sync, await held()]).toEqual([null, 'in-sync', 4]);
  });

  test.each<[string, (world: Awaited<ReturnType<typeof open>>) => unknown, string]>([
    ['there is one more', ({ book }) => book('e', 70), 'doctor e (new)'],
    ['one says something else', ({ book }) => book('b', 51), 'doctor b (otherwise)'],
    [
      'one is not booked any more',
      ({ clinic }) => clinic.appointments.delete('d'),
      'doctor d (nothing to do any more)',
    ],
    ['somebody did it already', ({ tenant }) => cycle(tenant), 'doctor b (nothing to do any more)'],
  ])('is not applied, not even in part, when %s', async (_, change, about) => {
    const world = await open();
    const plan = await world.keep();
    await change(world);
    const [before, runs] = [await world.held(), (await world.tenant.runs.list(9)).length];
    const refusal = { code: 'plan-drifted', actor: 'conflict', about: expect.stringContaining(about) };
    await expect(world.apply(plan.id)).rejects.toMatchObject(refusal);
    expect([await world.held(), (await world.tenant.runs.list(9)).length]).toEqual([before, runs]);
    expect(await world.tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });

  test('lists five differences and counts the others', async () => {
    const { keep, apply, book } = await open();
    const plan = await keep();
    for (let index = 0; index < 8; index += 1) book(`n${index}`, 80 + index);
    await expect(apply(plan.id)).rejects.toMatchObject({ about: expect.stringMatching(/n4 \(new\) and 3 more$/) });
  });

  test('has the same id for the same state, and a different id otherwise', async () => {
    const { clock, keep, book, installation, tenant } = await open();
    const { id } = await keep();
    expect((await keep()).id).toBe(id);
    book('b', 52);
    clock.now += MINUTE_MS;
    const other = await keep();
    expect(other.id).not.toBe(id);
    expect((await newestPlan(installation, tenant.id))?.id).toBe(other.id);
  });

  test('is encrypted in Redis, and expires after an hour', async () => {
    const { keep, connection, tenant } = await open();
    const { id, storedAt, expiresAt } = await keep();
    const key = `cm:{${tenant.id}}:document:plan:${id}`;
    expect(expiresAt - storedAt).toBe(HOUR_MS);
    expect(await connection.pttl(key)).toBeGreaterThan(HOUR_MS - MINUTE_MS);
    expect(await connection.get(key)).toMatch(/^s1\./);
    await connection.set(key, 's1.k1.made-up-by-somebody');
    await expect(
      readStoredPlan({ tenants: new Map([[tenant.id, tenant]]) } as never, tenant.id, id),
    ).rejects.toMatchObject({
      code: 'no-such-plan',
    });
  });
});

test('a plan of a CRM is applied after a new read, and lists the patients that its rules exclude', async () => {
  const world = openCrmWorld(redis);
  const { tenant, clinic } = world;
  const installation = openInstallation({ tenants: [tenant] });
  clinic.patientList.push(patientOf('1'), patientOf('2', { consents: { marketing: false } }));
  const plan = await storePlan(installation, tenant.id, () => {}, NEVER);
  const excluded = plan.excluded.find(({ target }) => target === 'contacts');
  expect(excluded?.records.map(({ record }) => record)).toEqual(['2']);
  const { run } = await applyPlan(installation, tenant.id, plan.id, { progress: () => {}, signals: SIGNALS });
  expect(run.error).toBeNull();
  expect((await tenant.links.read('contacts')).size).toBe(1);
});

describe('a plan', () => {
  test('shows each change with its reason and fields, sorted by time, and writes nothing', async () => {
    const { clinic, model, tenant, installation } = openBooked(redis, 14);
    await cycle(tenant);
    const calls = { ...model.calls };
    clinic.appointments.set('new', appointmentOf('new', { inHours: 2 }));
    clinic.appointments.set('0', appointmentOf('0', { inHours: 100 }));
    clinic.appointments.set('1', appointmentOf('1', { inHours: 25, status: 'cancelled' }));
    const view = await planTenant(installation, 'studio-rossi', SILENT, NEVER);
    expect(view).toMatchObject({
      tenant: 'studio-rossi',
      asOf: NOW,
      snapshot: { completeness: 'complete', records: 15 },
    });
    expect(view.targets[0]).toMatchObject({ target: 'doctor', links: 14, unchanged: 12, released: 0 });
    expect(view.targets[0]?.lines.map(({ fieldChanges: _, ...line }) => line)).toEqual([
      {
        record: 'new',
        operation: 'create',
        reason: 'new',
        fields: [],
        startAt: NOW + 2 * HOUR_MS,
        decision: 'write',
        fingerprint: expect.any(String),
        title: 'Appointment',
        agenda: 'Agenda a1',
      },
      {
        record: '1',
        operation: 'delete',
        reason: 'cancelled',
        fields: [],
        startAt: NOW + 25 * HOUR_MS,
        title: null,
        agenda: 'Agenda a1',
        decision: 'write',
        fingerprint: null,
      },
      {
        record: '0',
        operation: 'update',
        reason: 'content-changed',
        fields: ['time'],
        startAt: NOW + 100 * HOUR_MS,
        title: 'Appointment',
        agenda: 'Agenda a1',
        decision: 'write',
        fingerprint: expect.any(String),
      },
    ]);
    expect(model.calls).toEqual(calls);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
    expect(JSON.stringify(view)).not.toMatch(/Mario|Rossi/);
  });

  test('shows future holds, and changes that an operator rejected', async () => {
    const { clinic, tenant, installation } = openBooked(redis, 30);
    await cycle(tenant);
    for (let index = 0; index < 20; index += 1) clinic.appointments.delete(`${index}`);
    const verdicts = async () =>
      new Set(
        (await planTenant(installation, 'studio-rossi', SILENT, NEVER)).targets[0]?.lines.map(
          ({ decision: verdict }) => verdict,
        ),
      );
    expect(await verdicts()).toEqual(new Set(['on-hold']));
    expect(await tenant.holds.list()).toEqual([]);
    await cycle(tenant);
    const [hold] = await listHolds(installation);
    await decideHold(installation, { tenant: 'studio-rossi', hold: hold?.id ?? '', decision: 'rejected' });
    expect(await verdicts()).toEqual(new Set(['refused']));
  });
});
