import { expect, onTestFinished, test } from 'vitest';
import { startCaldavSandbox } from '../../sandbox/caldav/index.ts';
import type { Quirks } from '../../sandbox/caldav/options.ts';
import { caldav } from '../../src/connectors/caldav/index.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { targetFinding } from '../../src/control/findings.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { silentLogger } from '../../src/log/logger.ts';
import { HOUR_MS, SECOND_MS } from '../../src/model/time.ts';
import { DavHands } from '../connectors/caldav/dav-hands.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf } from '../sync/arbitraries.ts';
import { cycle, drain, NEVER, pull, targetOf } from './cycle.ts';
import { auditOf, openCalendarWorld, stateOf } from './world.ts';

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
  target.connector = caldav.open({
    settings: caldav.settingsSchema.parse({ calendar: { url: `${sandbox.url}${path}` } }),
    ownerTag: target.identity.ownerTag,
    authorizer: { header, renew: header, quotaUser: null },
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5 * SECOND_MS) }),
    shared: new SharedState(),
    log: silentLogger,
    clock: world.tenant.clock,
  });
  const hands = new DavHands({ url: sandbox.url, homePath: sandbox.homePath, login: sandbox.authorization });
  const events = () => hands.members(path);
  const finding = () => targetFinding(world.tenant, target, 'studio-rossi.yaml', NEVER);
  return { ...world, sandbox, path, hands, events, finding };
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
