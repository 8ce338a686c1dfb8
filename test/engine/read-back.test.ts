import { expect, onTestFinished, test } from 'vitest';
import { startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import type { Quirks } from '../../sandbox/caldav/options.ts';
import { caldav } from '../../src/connectors/caldav/index.ts';
import { restCrm } from '../../src/connectors/rest-crm/index.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { render } from '../../src/messages/message.ts';
import { targetFinding } from '../../src/operator/control/findings.ts';
import { tryWhatWaits } from '../../src/operator/control/resume.ts';
import { status } from '../../src/operator/control/status.ts';
import { DavHands } from '../connectors/caldav/dav-hands.ts';
import { espocrm, openProfile } from '../connectors/rest-crm/profiles.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { runProgram } from '../operator/cli/run-program.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf } from '../tenant/cycle.ts';
import { auditOf, openCalendarWorld, openCrmWorld, patientOf, stateOf } from '../tenant/world.ts';

const redis = useRedis();
const BOOKED = 6;

/** A tenant whose calendar is at a CalDAV server that keeps only so much of an object. */
async function openWorld(keeps: Quirks['keeps']) {
  const sandbox = await startCaldavSandbox({ quirks: { keeps } });
  onTestFinished(() => sandbox.close());
  const path = sandbox.addCalendar('clinic');
  const world = openCalendarWorld(redis, BOOKED);
  const target = targetOf(world.tenant);
  const header = async () => sandbox.authorization;
  target.supports = caldav.supports;
  /** The settings name this calendar. */
  const useCalendar = (named: string) => {
    target.connector = caldav.open({
      settings: caldav.settingsSchema.parse({ calendar: { url: `${sandbox.url}${named}` } }),
      ownerTag: target.identity.ownerTag,
      authorizer: { header, renew: header, quotaUser: null },
      http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5 * SECOND_MS) }),
      shared: new SharedState(),
      log: silentLogger,
      clock: world.tenant.clock,
    });
  };
  useCalendar(path);
  const hands = new DavHands({ url: sandbox.url, homePath: sandbox.homePath, login: sandbox.authorization });
  const events = () => hands.members(path);
  const finding = () => targetFinding(world.tenant, target, 'studio-rossi.yaml', NEVER);
  return { ...world, sandbox, path, hands, events, finding, useCalendar };
}

test.each(['name', 'uid'] as const)(
  'a server that drops marks and keeps the %s never gets copies, and status and doctor say it',
  async (keeps) => {
    const { clinic, clock, tenant, events, finding } = await openWorld(keeps);
    await cycle(tenant);
    expect(await events()).toHaveLength(BOOKED);
    for (let audits = 0; audits < 3; audits += 1) {
      clock.now += HOUR_MS;
      expect(await auditOf(tenant, { whole: true })).toMatchObject({ removed: 0, edited: 0 });
      await cycle(tenant);
      expect(await events()).toHaveLength(BOOKED);
    }
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', health: 'ok', dropsMarks: true });
    expect(await finding()).toMatchObject({ result: 'warning', code: 'marks-dropped', next: null });
    clinic.appointments.set('1', { ...appointmentOf('1'), status: 'cancelled' });
    clinic.appointments.set('2', appointmentOf('2', { inHours: 90 }));
    await cycle(tenant);
    expect(await events()).toHaveLength(BOOKED - 1);
  },
);

test('a server that keeps neither name nor UID nor marks gets one event, however often the daemon tries', async () => {
  const { clinic, clock, tenant, events, finding } = await openWorld('nothing');
  for (let cycles = 0; cycles < 5; cycles += 1) {
    clinic.appointments.set('3', appointmentOf('3', { inHours: 50 + cycles }));
    await cycle(tenant);
    await auditOf(tenant, { whole: true });
    expect(await events()).toHaveLength(1);
    expect(await stateOf(tenant)).toMatchObject({ health: 'action-required', failure: { code: 'events-not-kept' } });
    clock.now += 2 * HOUR_MS;
  }
  expect(await finding()).toMatchObject({ result: 'problem', code: 'events-not-kept' });
});

test('a server that keeps nothing and is corrected gets every event by the sync that the remedy proposes', async () => {
  const { clock, tenant, sandbox, hands, events } = await openWorld('nothing');
  await cycle(tenant);
  const installation = openInstallation({ tenants: [tenant] });
  const { problems } = await status(installation);
  const [, command = ''] = /clinic-mirror (sync [^;]+)/.exec(render(problems[0]?.texts.next ?? '')) ?? [];
  expect(command).toBe('sync studio-rossi');
  for (const name of await events()) await hands.send('DELETE', name);
  sandbox.configure({ keeps: 'all' });
  clock.now += MINUTE_MS;
  expect(await runProgram(command.split(' '), { installation })).toMatchObject({ thrown: null, code: 0 });
  expect(await events()).toHaveLength(BOOKED);
  expect((await status(installation)).problems).toEqual([]);
});

test('doctor finds a missing calendar of the settings before the first sync, and writes nothing', async () => {
  const { sandbox, finding, useCalendar, events } = await openWorld('all');
  expect(await finding()).toMatchObject({ result: 'ok', code: null });
  useCalendar(`${sandbox.homePath}missing/`);
  expect(await finding()).toMatchObject({ result: 'problem', code: 'calendar-gone' });
  expect(await events()).toEqual([]);
});

test('another calendar in the settings is filled by the sync that doctor proposes, and doctor is content', async () => {
  const { clock, tenant, sandbox, hands, finding, useCalendar, events } = await openWorld('all');
  await cycle(tenant);
  const other = sandbox.addCalendar('other');
  useCalendar(other);
  // A command is another process.
  targetOf(tenant).preparedContainer = null;
  const { code, next } = await finding();
  const [, command = ''] = /clinic-mirror (sync [^;]+)/.exec(render(next ?? '')) ?? [];
  expect([code, command]).toEqual(['calendar-changed', 'sync studio-rossi']);
  clock.now += MINUTE_MS;
  const installation = openInstallation({ tenants: [tenant] });
  expect(await runProgram(command.split(' '), { installation })).toMatchObject({ thrown: null, code: 0 });
  expect(await hands.members(other)).toHaveLength(BOOKED);
  expect(await events(), 'the events in the other calendar stay').toHaveLength(BOOKED);
  expect(await finding()).toMatchObject({ result: 'ok' });
});

test('after a failed read of the first event, no second event is written before a read that shows the first', async () => {
  const { clock, tenant, sandbox, events } = await openWorld('all');
  const refused = { match: { method: 'REPORT' }, times: 1, fault: { kind: 'status', status: 503 } } as const;
  await pull(tenant);
  sandbox.faults.add(refused);
  await drain(tenant, targetOf(tenant));
  expect(await events()).toHaveLength(1);
  sandbox.faults.add(refused);
  clock.now += HOUR_MS;
  await drain(tenant, targetOf(tenant));
  expect(await events()).toHaveLength(1);
  clock.now += HOUR_MS;
  await cycle(tenant);
  expect(await events()).toHaveLength(BOOKED);
});

test('the first event is read back once for a calendar', async () => {
  const { clinic, tenant, sandbox } = await openWorld('all');
  await cycle(tenant);
  const reads = () => sandbox.requests.requests({ method: 'REPORT' });
  const before = reads();
  clinic.appointments.set('1', appointmentOf('1', { inHours: 90 }));
  await cycle(tenant);
  expect(reads()).toBe(before);
  expect(await stateOf(tenant)).toMatchObject({ dropsMarks: false });
  expect(await tenant.targetStore.read('doctor')).toMatchObject({ readBack: { marks: 'kept' } });
});

/** A CRM whose user has no permission to write some fields: EspoCRM omits their values. */
async function openCrm(notWritable: readonly string[], description: object = {}) {
  const { sandbox, target } = await openProfile(espocrm, { description });
  sandbox.configure({ notWritable });
  const world = openCrmWorld(redis, { contacts: { mapping: { firstName: 'firstName', lastName: 'lastName' } } });
  const contacts = targetOf(world.tenant, 'contacts');
  contacts.supports = restCrm.supports;
  contacts.connector = target.connector as typeof contacts.connector;
  world.clinic.patientList.push(...['1', '2', '3'].map((id) => patientOf(id)));
  const rename = (count: number) => {
    const named = world.clinic.patientList.map(({ id }) => patientOf(id, { firstName: `Anna ${count}` }));
    world.clinic.patientList.splice(0, 3, ...named);
  };
  const finding = () => targetFinding(world.tenant, contacts, 'studio-rossi.yaml', NEVER);
  const again = async () => {
    world.clock.now += HOUR_MS;
    await cycle(world.tenant);
  };
  return { ...world, sandbox, rename, finding, again, people: () => sandbox.records('Contact') };
}

test('a CRM that drops the key gets one contact, and status and doctor say what to do', async () => {
  const { tenant, rename, again, finding, people, sandbox } = await openCrm(['cMirrorKey', 'cMirrorStamp']);
  for (let cycles = 0; cycles < 4; cycles += 1) {
    await again();
    rename(cycles);
    await auditTarget(tenant, targetOf(tenant, 'contacts'), NEVER, { whole: true });
    expect(people()).toHaveLength(1);
  }
  expect(await stateOf(tenant, 'contacts')).toMatchObject({
    health: 'action-required',
    failure: { code: 'key-not-kept' },
  });
  expect(await finding()).toMatchObject({ result: 'problem', code: 'key-not-kept' });
  sandbox.configure({ notWritable: [] });
  sandbox.deleteByHand('Contact', people()[0]!.id);
  await again();
  expect(people()).toHaveLength(0);
  await tryWhatWaits(tenant);
  await again();
  expect(people()).toHaveLength(3);
  expect(await stateOf(tenant, 'contacts')).toMatchObject({ health: 'ok', dropsMarks: false });
});

test('a CRM that drops the stamp gets each contact once, recognised by its key, and status and doctor say it', async () => {
  const { tenant, rename, again, finding, people } = await openCrm(['cMirrorStamp']);
  for (let cycles = 0; cycles < 3; cycles += 1) {
    await again();
    rename(cycles);
    await auditTarget(tenant, targetOf(tenant, 'contacts'), NEVER, { whole: true });
    expect(people()).toHaveLength(3);
  }
  expect(await stateOf(tenant, 'contacts')).toMatchObject({ dropsMarks: true });
  expect(await finding()).toMatchObject({ result: 'warning', code: 'marks-dropped' });
});

test('a CRM whose search shows a write late is read by the id of the first contact', async () => {
  const { tenant, again, people, sandbox } = await openCrm([]);
  sandbox.configure({ searchLagMs: 2 * HOUR_MS });
  await again();
  expect(people()).toHaveLength(3);
  expect(await stateOf(tenant, 'contacts')).toMatchObject({ health: 'ok', dropsMarks: false });
});
