import { expect, test } from 'vitest';
import { printTerminal } from '../../src/cli/print-terminal.ts';
import type { Installation } from '../../src/control/installation.ts';
import { planTenant } from '../../src/control/plan.ts';
import { planDocument } from '../../src/documents/plan.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { openCrmWorld, patientOf } from '../jobs/crm-world.ts';
import { cycle, NEVER } from '../jobs/cycle.ts';
import { createModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget } from '../jobs/model-target.ts';
import { openTenant } from '../jobs/open-tenant.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();

test('a plan counts as they should be neither records whose write fails nor those that wait', async () => {
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
  expect((await planned()).text).toBe('contacts\n  Nothing to do: 4 as they should be.');

  contacts.fault = ({ recordId }) => (recordId === '3' || recordId === '4' ? 'refused' : null);
  for (const [index, id] of ['1', '2', '3'].entries()) clinic.patientList[index] = patientOf(id, { firstName: 'Eva' });
  clinic.patientList[3] = patientOf('4', { consents: { marketing: false } });
  world.clock.now += 15 * 60_000;
  await cycle(tenant);
  const { target, text } = await planned();
  expect(target).toMatchObject({ unchanged: 2, failing: 2, waiting: 0, lines: [] });
  expect(text).toMatchInlineSnapshot(`
    "contacts
      Nothing to do: 2 as they should be. · 2 failing from before
      Failing changes are listed by:
        clinic-mirror health studio-rossi contacts"
  `);

  // What the clinic changed since takes the place of what failed.
  clinic.patientList[2] = patientOf('3', { firstName: 'Ada' });
  world.clock.now += 15 * 60_000;
  expect((await planned()).target).toMatchObject({ unchanged: 2, failing: 1, lines: [{ record: '3' }] });
});

test('a plan names the calendar, and titles where they tell nothing of the patient', async () => {
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

test('a plan tells field by field what is and what becomes of it, by what the calendar holds now', async () => {
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
  expect(text).toMatch(/ 1 .* changed: time +is done\n +time 2026-06-16 08:00:00Z to .* → 2026-06-16 10:00:00Z to/);
  expect(text).toMatch(/ 3 .*\n +busy or free busy → free$/m);
  expect(JSON.stringify([...changes])).not.toContain('Mario');

  const away = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
  Object.assign(tenant.targets.get('doctor')!.connector, { find: () => Promise.reject(away) });
  expect((await fieldsOf()).changes.get('1')).toEqual([{ field: 'time', before: { kind: 'unread' }, after: time(26) }]);
});
