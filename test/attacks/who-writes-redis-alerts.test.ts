import { afterEach, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { needsPerson, type Problem } from '../../src/core/model/problems.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import type { TargetFailure } from '../../src/engine/store.ts';
import { createAlertWatch } from '../../src/features/alerts/alerts.ts';
import { type AlertMemory, type Digest, NOTHING_REPORTED } from '../../src/features/alerts/digest.ts';
import { alertKeys } from '../../src/features/alerts/keys.ts';
import { createAlertStore } from '../../src/features/alerts/store.ts';
import { payloadOf, textOf } from '../../src/features/alerts/texts.ts';
import { reminderKeys } from '../../src/features/reminders/keys.ts';
import { createReminderLedger } from '../../src/features/reminders/store.ts';
import { triggerRedisKeys } from '../../src/features/triggers/keys.ts';
import { createTriggerStore } from '../../src/features/triggers/store.ts';
import { message } from '../../src/messages/message.ts';
import { createCertificateStore } from '../../src/operator/control/certificate-store.ts';
import { controlKeys } from '../../src/operator/control/keys.ts';
import { createReloadReports } from '../../src/operator/control/reload-reports.ts';
import { status } from '../../src/operator/control/status.ts';
import { openDamagedStore } from '../../src/state/damaged.ts';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle as runCycle } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';

const redis = useRedis();
/** Ended after each test: the next one has its own. */
let ended = () => {};
afterEach(() => ended());
const IDENTITY_KEY = Buffer.alloc(32, 7);
const CHANNEL = 'webhook';
const LURE = 'your account is locked: https://clinic-mirror.example.net/unlock';
const PROBLEMS = Array.from({ length: 6 }, (_, index): Problem => {
  const subject = message('subject.login', { id: `doctor-${index}` });
  return needsPerson({ tenant: 'aurora', subject, code: 'login-ended', sentence: message('login-ended'), next: null });
});
const TOLD = { seenAt: 0, goneAt: null, sent: 4 };

/** The alerts of one daemon, by a clock of the test. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const errors: unknown[] = [];
  const log: Logger = { ...silentLogger, error: (data) => void errors.push(data), child: () => log };
  const clock = { now: NOW };
  const damaged = openDamagedStore({ redis: connection, clock: () => clock.now, log });
  ended = damaged.close;
  const restarted = () => {
    const store = createAlertStore({ redis: connection, identityKey: IDENTITY_KEY, clock: () => clock.now });
    const watch = createAlertWatch();
    const told: Digest[] = [];
    const channels = new Map([[CHANNEL, async (digest: Digest) => void told.push(digest)]]);
    const leases = createLeases(connection, 'clinic-mirror', 30_000);
    const parts = { channels, outageAfterMs: 900_000, store, leases, clock: () => clock.now, log };
    const check = (problems: readonly Problem[]) =>
      watch.check({ ...parts, problems: async () => problems }, new AbortController().signal);
    return { store, told, check };
  };
  const stored = () => connection.hget(alertKeys.alerts(), CHANNEL);
  return { connection, clock, errors, damaged, stored, restarted, ...restarted() };
}

const idOf = ({ tenant, texts, code }: Problem) => JSON.stringify([tenant, texts.subject, code]);
/** Attack: a forged record in Redis claims that all six problems were reported often enough. */
const SILENCING: AlertMemory = { open: Object.fromEntries(PROBLEMS.map((each) => [idOf(each), TOLD])), lastSentAt: 1 };
const DAMAGED = { code: 'state-damaged', kind: 'alerts', tenant: null, treatment: 'rebuild' };
const PLAIN = JSON.stringify({ memory: JSON.stringify(SILENCING), failure: null });

test('a plaintext memory of alerts silences none of six problems', async () => {
  const { connection, clock, told, errors, check, damaged } = await open();
  await connection.hset(alertKeys.alerts(), CHANNEL, PLAIN);
  for (let look = 0; look < 2; look += 1) {
    await check(PROBLEMS);
    clock.now += HOUR_MS;
  }
  expect(told.map(({ begun }) => begun.length)).toEqual([6]);
  expect(errors).toEqual([DAMAGED]);
  expect(await damaged.list()).toEqual([{ tenant: null, kinds: ['alerts'], sinceAt: NOW }]);
  clock.now += DAY_MS;
  expect(await damaged.list()).toEqual([]);
});

test('a forged sentence reaches no one, in plain text or encrypted with another key', async () => {
  const { connection, clock, told, check } = await open();
  const id = JSON.stringify(['aurora', LURE, 'login-ended']);
  const memory: AlertMemory = { open: { [id]: { ...TOLD, goneAt: 1 } }, lastSentAt: null };
  const record = { memory: JSON.stringify(memory), failure: null, version: 9 };
  const foreign = createProofSealer(Buffer.alloc(32, 8), '{alerts}');
  for (const forged of [
    JSON.stringify(record),
    foreign.seal(JSON.stringify(record), `${alertKeys.alerts()} ${CHANNEL}`),
  ]) {
    await connection.hset(alertKeys.alerts(), CHANNEL, forged);
    clock.now += HOUR_MS;
    await check([]);
  }
  expect(told).toEqual([]);
});

test('a restored older memory of alerts does not silence a recurring problem', async () => {
  const { connection, clock, told, errors, check, stored } = await open();
  for (let hour = 0; hour < 15 * 24; hour += 1) {
    clock.now += HOUR_MS;
    await check(PROBLEMS);
  }
  const silencing = (await stored()) ?? '';
  expect(told.length).toBeGreaterThan(2);
  for (const problems of [[], [], PROBLEMS]) {
    clock.now += HOUR_MS;
    await check(problems);
  }
  const before = told.length;
  await connection.hset(alertKeys.alerts(), CHANNEL, silencing);
  for (let look = 0; look < 2; look += 1) {
    clock.now += HOUR_MS;
    await check(PROBLEMS);
  }
  expect(told.slice(before).map(({ begun }) => begun.length)).toEqual([6]);
  expect(errors).toEqual([DAMAGED]);
});

test('a restored older memory of alerts silences nothing after a restart either', async () => {
  const { connection, clock, check, stored, restarted } = await open();
  for (let hour = 0; hour < 15 * 24; hour += 1) {
    clock.now += HOUR_MS;
    await check(PROBLEMS);
  }
  const silencing = (await stored()) ?? '';
  for (let hour = 0; hour < 24; hour += 1) {
    clock.now += HOUR_MS;
    await check([]);
  }
  await connection.hset(alertKeys.alerts(), CHANNEL, silencing);
  const { told, check: checkAgain } = restarted();
  for (let look = 0; look < 2; look += 1) {
    clock.now += HOUR_MS;
    await checkAgain(PROBLEMS);
  }
  expect(told.map(({ begun }) => begun.length)).toEqual([6]);
});

test('the last memory of the process is valid after a restart: no alert is sent twice', async () => {
  const { clock, check, told: before, restarted } = await open();
  for (let look = 0; look < 2; look += 1) {
    clock.now += HOUR_MS;
    await check(PROBLEMS);
  }
  expect(before).toHaveLength(1);
  const { told, check: checkAgain } = restarted();
  clock.now += HOUR_MS;
  await checkAgain(PROBLEMS);
  expect(told).toEqual([]);
});

test('ids, codes and times are kept, and the text about solved problems is built from them', async () => {
  const { clock, told, check, store, stored } = await open();
  for (const problems of [PROBLEMS, PROBLEMS, [], []]) {
    clock.now += HOUR_MS;
    await check(problems);
  }
  const { memory } = (await store.read()).get(CHANNEL) ?? { memory: null };
  expect(memory).not.toContain('the connection has expired');
  expect(await stored()).not.toContain('aurora');
  expect(JSON.parse(memory ?? '')).toMatchObject({ open: NOTHING_REPORTED.open });
  const { text } = textOf(told.at(-1)!, clock.now, 'it');
  expect(text).toContain(
    'aurora, collegamento doctor-0: collegamento scaduto o revocato: è necessario un nuovo accesso',
  );
});

/** A clinic with two calendars that were written to, and the alerts of its daemon. */
async function openClinic() {
  const alerts = await open();
  const { connection, clock, damaged, told, check } = alerts;
  const clinic = createModelClinic();
  clinic.appointments.set('1', appointmentOf('1', { inHours: 24 }));
  const targets = ['doctor', 'other'].map((id) => ({ id, model: createModelTarget() }));
  const tenant = openTenant({ redis: connection, clinic, targets, clock: () => clock.now });
  const installation = openInstallation({ tenants: [tenant], damaged });
  const cycle = () => runCycle(tenant);
  await cycle();
  /** Returns the pages and the alerts of two checks. */
  const shown = async () => {
    for (let look = 0; look < 2; look += 1) {
      await check((await status(installation)).problems);
      clock.now += HOUR_MS;
    }
    const found = await status(installation);
    const sent = told.map((digest) => [textOf(digest, clock.now, 'it').text, payloadOf(digest, clock.now)]);
    return { problems: found.problems, all: JSON.stringify([found, found.problems, sent]), sent };
  };
  const keyOf = (target: string) => keys.target(tenant.id, target);
  return { ...alerts, tenant, cycle, shown, keyOf };
}

const INVENTED: TargetFailure = {
  code: 'locked',
  actor: 'settings',
  message: LURE,
  remedy: LURE,
  texts: { message: LURE, remedy: LURE },
  sinceAt: NOW,
};
const TEXTS: Readonly<Record<string, string>> = {
  failure: JSON.stringify(INVENTED),
  gaps: JSON.stringify([{ code: 'agenda-unknown', count: 1, what: [LURE], near: [LURE] }]),
  outage: LURE,
};

test.each(Object.keys(TEXTS))('a forged %s of a calendar is neither shown nor sent', async (name) => {
  const { connection, tenant, shown, keyOf, cycle } = await openClinic();
  await connection.hset(keyOf('doctor'), name, TEXTS[name] ?? '');
  if (name === 'outage') {
    await tenant.targetStore.write('doctor', {
      failure: { ...INVENTED, message: 'it rests', remedy: null, texts: { message: 'it rests', remedy: null } },
    });
  }
  const { problems, all } = await shown();
  expect(all).not.toContain(LURE);
  if (name === 'failure' || name === 'gaps') {
    expect(problems).toContainEqual(
      expect.objectContaining({ tenant: tenant.id, subject: 'state', code: 'state-damaged' }),
    );
    expect(all).toContain('state-damaged');
  }
  await cycle();
  await cycle();
  expect((await tenant.targetStore.read('doctor')).gaps).toBeNull();
});

test('the failure of one calendar is not valid for another one', async () => {
  const { connection, tenant, shown, keyOf } = await openClinic();
  await tenant.targetStore.write('other', { failure: { ...INVENTED, message: 'the calendar of other is gone' } });
  await connection.hset(keyOf('doctor'), 'failure', (await connection.hget(keyOf('other'), 'failure')) ?? '');
  const { problems } = await shown();
  expect(problems.map(({ subject, code }) => [subject, code])).toEqual([
    ['state', 'state-damaged'],
    ['target other', 'locked'],
  ]);
});

test('a forged cycle is neither shown nor sent, and hides no earlier problem', async () => {
  const { connection, tenant, shown, cycle } = await openClinic();
  const [last] = await tenant.runs.list(1);
  const error = { code: 'locked', actor: 'settings', message: LURE, remedy: LURE };
  const withheld = [{ part: 'patients', code: 'scope-missing', remedy: LURE }];
  await connection.lpush(keys.runs(tenant.id), JSON.stringify({ ...last, error, withheld, unknownStatuses: [LURE] }));
  const { problems, all } = await shown();
  expect(all).not.toContain(LURE);
  expect(problems).toContainEqual(expect.objectContaining({ subject: 'state', code: 'state-damaged' }));
  await cycle();
  expect((await tenant.runs.list(1))[0]?.error).toBeNull();
  expect((await tenant.runs.list(50)).length).toBe(2);
});

test('a forged sentence is ignored in the other views of the installation, of triggers and of reminders', async () => {
  const { connection } = await open();
  const sealer = createProofSealer(IDENTITY_KEY, 'aurora');
  const clock = () => NOW;
  const refused = [{ tenant: LURE, sinceAt: NOW, faults: [{ file: LURE, line: 1, path: '', message: LURE }], more: 0 }];
  await connection.hset(controlKeys.reloads(), 'x', JSON.stringify({ at: NOW, refused, awaitsRestart: [LURE] }));
  await connection.hset(controlKeys.certificates(), LURE, JSON.stringify({ beganAt: 0, endsAt: NOW }));
  const place = { endpoint: 'portal', event: 'report.available' } as const;
  const off = { code: LURE, remedy: LURE, at: NOW };
  const reading = { sinceAt: 1, readAt: 2, off, letThrough: false };
  await connection.hset(triggerRedisKeys.triggerReadings('aurora'), 'portal/report.available', JSON.stringify(reading));
  const closing = JSON.stringify({ code: LURE, at: NOW });
  await connection.hset(triggerRedisKeys.triggerEndpoint('aurora', 'portal'), { closed: closing, code: LURE });
  await connection.set(reminderKeys.reminderChannelClosed('aurora', 'email'), closing);
  const note = { channel: 'email', sinceAt: 1, correctsAt: null, reason: null, untilAt: NOW + 1, held: null };
  for (const appointmentId of [LURE, 'a1']) {
    const field = JSON.stringify([appointmentId, 'email']);
    await connection.hset(reminderKeys.remindersWrong('aurora'), field, JSON.stringify({ ...note, appointmentId }));
  }

  const triggers = createTriggerStore(connection, 'aurora', sealer);
  const ledger = createReminderLedger(connection, 'aurora', { retentionMs: DAY_MS, sealer });
  const read = {
    reloads: await createReloadReports(connection, clock, IDENTITY_KEY).list(),
    certificates: await createCertificateStore(connection, IDENTITY_KEY).read(),
    reading: await triggers.reading(place),
    endpoint: await triggers.endpoint('portal'),
    closing: await ledger.closingOf('email'),
    wrong: await ledger.wrong(NOW),
  };
  expect(JSON.stringify(read)).not.toContain(LURE);
  // Genuine fields next to a forged sentence stay valid: an event is not new, and a closed hold stays closed.
  expect(read).toMatchObject({
    reading: { sinceAt: 1, readAt: 2, off: { code: 'state-damaged' } },
    endpoint: { closed: { code: 'state-damaged', at: NOW } },
    closing: { code: 'state-damaged', at: NOW },
    wrong: [],
  });
});
