import { expect, onTestFinished, test } from 'vitest';
import { startHubSpotSandbox } from '../../../sandbox/hubspot/index.ts';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import { renderHealth } from '../../../src/operator/cli/render-health.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { explain } from '../../../src/operator/control/explain.ts';
import { tenantHealth } from '../../../src/operator/control/health.ts';
import { listRecords } from '../../../src/operator/control/records.ts';
import { status } from '../../../src/operator/control/status.ts';
import type { ConnectionStatus } from '../../../src/operator/control/status-schemas.ts';
import { viewWeek } from '../../../src/operator/control/week.ts';
import { explanationDocument } from '../../../src/operator/documents/explain.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { writeToHubSpot } from '../../tenant/hubspot-targets.ts';
import { auditOf, editByHand, held, openCalendarWorld, openCrmWorld, patientOf, stateOf } from '../../tenant/world.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();

test('health shows synchronized targets, exclusions with their reasons, and failures with begin and next try', async () => {
  const world = openCrmWorld(redis);
  const { tenant, contacts, clinic } = world;
  clinic.patientList.push(...['1', '2', '3', '4'].map((id) => patientOf(id)));
  clinic.patientList.push(patientOf('5', { consents: { marketing: false } }));
  clinic.patientList.splice(2, 1, patientOf('3', { mobilePhone: 'call the neighbour' }));
  contacts.fault = ({ recordId }) => (recordId === '4' ? 'refused' : null);
  await cycle(tenant);
  expect(held(contacts)).toHaveLength(3);
  world.clock.now += 60_000;
  const login: ConnectionStatus = {
    ...{ connection: 'crm', kind: 'hubspot', state: 'unconfirmed', reason: 'account-unconfirmed', sinceAt: null },
    ...{ account: 'admin@practice.example (4711)', accessExpiresAt: null, refreshExpiresAt: null, missingScopes: [] },
    ...{ nextTryAt: null, pause: null, isEndFixed: false, obtainedAt: null, usedAt: null },
  };
  const installation = openInstallation({ tenants: [tenant], connections: [login] });
  const view = await tenantHealth(installation, tenant.id, { target: 'contacts', progress: () => {} }, NEVER);
  expect(view.targets).toMatchObject([
    {
      target: 'contacts',
      stream: 'patients',
      inSync: 3,
      unusable: { phone: 1 },
      excluded: { counts: { 'no-consent': 1 }, records: [{ record: '5', why: 'no-consent' }] },
      failing: [{ record: '4', why: 'refused', sinceAt: world.clock.now - 60_000, attempts: 1, parked: true }],
      pending: 0,
      unread: null,
    },
  ]);
  expect(renderHealth(view)).toMatchInlineSnapshot(`
    "studio-rossi as of 2026-06-15 08:01:00Z
      connection crm (hubspot): unconfirmed, account-unconfirmed, account admin@practice.example (4711),
      not used until "clinic-mirror accept-account"

    target    connector  follows   in sync  excluded  failed  pending  manual  on hold
    ────────  ─────────  ────────  ───────  ────────  ──────  ───────  ──────  ───────
    contacts  model      patients        3         1       1        0       0        0

    contacts:
      Invalid phone numbers, left empty: phone (1)
      Excluded, 1: no patient consent for this target
        5
      Failed, 1:
        record  why                                     since     attempts  next retry
        ──────  ──────────────────────────────────────  ────────  ────────  ────────────────────
        4       refused (waits for data or a decision)  60 s ago         1  2026-06-16 08:30:00Z"
  `);
  await expect(
    tenantHealth(installation, tenant.id, { target: 'contact', progress: () => {} }, NEVER),
  ).rejects.toMatchObject({
    code: 'no-such-target',
  });
});

test('an overdue retry is due on each surface, and never a next retry in the past', async () => {
  const world = openCalendarWorld(redis, 3);
  const { tenant, clinic, clock, model } = world;
  await cycle(tenant);
  clinic.appointments.set('1', appointmentOf('1', { inHours: 99 }));
  model.fault = ({ recordId }) => (recordId === '1' ? 'refused' : null);
  await cycle(tenant);
  const installation = openInstallation({ tenants: [tenant] });
  const health = () => tenantHealth(installation, tenant.id, { progress: () => {} }, NEVER);
  const target = { tenant: tenant.id, target: 'doctor' };
  const shown = async () => [
    (await health()).targets[0]?.failing[0]?.nextTryAt,
    (await listRecords(installation, { ...target, state: 'failed' }, { after: null, limit: 9 })).items[0]?.nextTryAt,
    (await viewWeek(installation, target, { date: null, titles: false }, NEVER)).entries.flatMap(({ next }) =>
      next?.step === 'waits' ? [next.nextTryAt] : [],
    )[0],
  ];
  const dueAt = (await tenant.outbox.pendingOf('doctor', '1'))?.dueAt ?? 0;
  expect(await shown()).toEqual([dueAt, dueAt, dueAt]);
  expect(dueAt).toBeGreaterThan(clock.now);
  clock.now = dueAt;
  expect(await shown()).toEqual([null, null, null]);
  expect(renderHealth(await health())).toMatch(/refused .* 1 {2}due now$/m);
  const explanation = printTerminal(explanationDocument(await explain(installation, tenant.id, '1', NEVER), 'en'));
  expect(explanation.replaceAll(/\s+/g, ' ')).toMatch(/to be written \(content-changed\): .*, due now/);
  const whole = await status(installation);
  expect(JSON.stringify(whole).match(/"nextTryAt":\d+/g)).toBeNull();
  for (const text of [explanation, renderStatus(whole)]) expect(text).not.toContain('next retry');
});

test('records on hold are in no other set, and all sets add up', async () => {
  const world = openCalendarWorld(redis, 40);
  const { tenant, clinic } = world;
  await cycle(tenant);
  for (let id = 0; id < 30; id += 1) clinic.appointments.delete(`${id}`);
  clinic.appointments.set('35', appointmentOf('35', { inHours: 99 }));
  world.model.fault = ({ recordId }) => (recordId === '35' ? 'refused' : null);
  await cycle(tenant);
  editByHand(world, '36', { title: 'Lunch' });
  editByHand(world, '0', { title: 'Lunch' });
  await auditOf(tenant);
  const installation = openInstallation({ tenants: [tenant] });
  const { targets } = await tenantHealth(installation, tenant.id, { progress: () => {} }, NEVER);
  expect(targets).toMatchObject([{ inSync: 8, held: 30, pending: 0, changedByHand: 1, failing: [{ record: '35' }] }]);
  expect(await stateOf(tenant)).toMatchObject({ held: 30 });
  const lists = ['in-sync', 'on-hold', 'changed-by-hand', 'failed'] as const;
  const asked = lists.map((state) =>
    listRecords(installation, { tenant: tenant.id, target: 'doctor', state }, { after: null, limit: 100 }),
  );
  const sizes = (await Promise.all(asked)).map(({ items }) => items.length);
  expect(sizes).toEqual([8, 30, 1, 1]);
});

test('health shows field and rule of a refusal, and the page of the blocked object', async () => {
  const world = openCrmWorld(redis, { contacts: { mapping: { firstname: 'firstName', lastname: 'lastName' } } });
  const { tenant, clinic } = world;
  const sandbox = await startHubSpotSandbox({ now: () => world.clock.now });
  onTestFinished(() => sandbox.close());
  writeToHubSpot(tenant, ['contacts'], { sandbox });
  clinic.patientList.push(patientOf('1'));
  await cycle(tenant);
  sandbox.requireOnCreate('contacts', 'jobtitle');
  sandbox.requireWhen('contacts', 'phone', { property: 'lastname', is: 'Bianchi' });
  clinic.patientList.splice(0, 1, patientOf('1', { lastName: 'Bianchi' }), patientOf('2'));
  world.clock.now += 3_600_000;
  await cycle(tenant);
  const installation = openInstallation({ tenants: [tenant] });
  const view = await tenantHealth(installation, tenant.id, { target: 'contacts', progress: () => {} }, NEVER);
  const failing = new Map(view.targets[0]?.failing.map((one) => [one.record, one]));
  const [contact] = sandbox.records('contacts');
  const page = `https://app.hubspot.com/contacts/${sandbox.portalId}/record/0-1/${contact?.id}`;
  const about = 'contacts.phone, required by the value of contacts.lastname';
  expect(failing.get('1')).toMatchObject({ why: 'property-required-by-rule', about, page });
  expect(failing.get('2')).toMatchObject({ why: 'property-required', about: 'contacts.jobtitle', page: null });
  const text = renderHealth(view);
  expect(text).toContain(`1: ${about}\n      ${page}`);
  expect(text).toContain('2: contacts.jobtitle');
  expect(text).not.toContain('Bianchi');
});
