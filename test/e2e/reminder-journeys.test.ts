import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type DaemonProcess, startDaemon as startProcess } from '../../demo/daemon.ts';
import { startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { startMailSandbox } from '../../sandbox/mail/index.ts';
import { startSmsSandbox } from '../../sandbox/sms/index.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { startDaemon } from '../../src/main.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { freePort } from '../../tools/free-port.ts';
import { startReceiver } from '../support/receiver.ts';
import { useRedis } from '../support/redis.ts';
import { type ShiftedTime, useShiftedTime } from '../support/shifted-time.ts';
import { waitFor } from '../support/wait-for.ts';
import { type SmallWorld, startSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const [NEW, OLD] = [5, 6].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`) as [string, string];
const PATIENT = { phone: '+393331234567', email: 'anna.verdi@example.org' };
const OTHER = { phone: '+393337654321', email: 'bruno@example.org' };
/** From the bookings to the first reminder. */
const AHEAD_MS = 10 * MINUTE_MS;

type Answer = Parameters<typeof startReceiver>[0];

/** A clinic whose daemon reminds by every channel, and all that patients and gateways would see. */
async function remindingWorld(rules: object, answer?: Answer) {
  const [sms, mail, receiver, port] = await Promise.all([
    startSmsSandbox(),
    startMailSandbox({ security: 'none' }),
    startReceiver(answer),
    freePort(),
  ]);
  const gateway = await startFaultProxy(sms.url);
  for (const server of [gateway, sms, mail, receiver]) onTestFinished(() => server.close());
  const base = `http://127.0.0.1:${port}`;
  const world = await startSmallWorld({
    redisUrl: redis.url,
    appointments: 12,
    clinic: { agendas: 2, allowDoubleBooking: true },
    target: { agendas: 'all' },
    settings: { http: { port, publicUrl: base } },
    reminders: {
      quietHours: { from: '00:00', to: '00:00' },
      minimumLeadMinutes: 0,
      unreachableMinutes: 1,
      phone: '06 1234567',
      links: { cancel: true, cancelUntilHours: 0 },
      channels: channelsOf({ sms, smsUrl: gateway.url, mailPort: mail.port, hookUrl: receiver.url }),
      rules,
    },
  });
  onTestFinished(() => world.close());
  Object.assign(world.env, {
    TENANT_CLINIC_1__SMS_TOKEN: sms.authToken,
    TENANT_CLINIC_1__HOOK_NEW: NEW,
    TENANT_CLINIC_1__HOOK_OLD: OLD,
  });
  await world.logIn();
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const ids = [...world.clinic.appointments(clinicId)].flatMap(({ patientId }) => patientId ?? []);
  const [patient = '', other = ''] = new Set(ids);
  for (const [id, { phone, email }] of [[patient, PATIENT] as const, [other, OTHER] as const]) {
    world.clinic.plant(clinicId, 'patients', id, { mobilePhone: phone, phone, email });
  }
  const book = (start: number, patientId = patient) => world.clinic.book(clinicId, { start, patientId }).id;
  return { world, sms, mail, receiver, gateway, clinicId, patient, other, base, book };
}

function channelsOf(to: {
  sms: { accountSid: string; from: string };
  smsUrl: string;
  mailPort: number;
  hookUrl: string;
}) {
  const { accountSid, from } = to.sms;
  const secrets = [{ env: 'TENANT_CLINIC_1__HOOK_NEW' }, { env: 'TENANT_CLINIC_1__HOOK_OLD' }];
  return {
    text: {
      kind: 'sms',
      settings: {
        accountSid,
        from,
        authToken: { env: 'TENANT_CLINIC_1__SMS_TOKEN' },
        server: to.smsUrl,
        maximumSegments: 4,
      },
    },
    mail: {
      kind: 'email',
      settings: { host: 'localhost', port: to.mailPort, security: 'none', from: 'desk@clinic.example' },
    },
    hook: { kind: 'webhook', settings: { url: `${to.hookUrl}/in`, secrets } },
  };
}

async function runDaemon(world: SmallWorld) {
  const { configDir: dir, env } = world;
  const configuration = loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'strict' });
  const daemon = await startDaemon(configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  return daemon;
}

/** Outcomes of an appointment's reminders, as shown to users: `text sent`, `mail dropped moved`. */
async function fates(world: SmallWorld, appointment: string): Promise<string[]> {
  const { reminders } = world.opened().installation.tenants.get('clinic-1') ?? {};
  const entries = (await reminders?.ledger.ofAppointment(appointment)) ?? [];
  return entries.map(({ channel, state, reason }) => [channel, state, reason ?? []].flat().join(' ')).sort();
}

/** Waits until every appointment has its plan. */
async function planned(world: SmallWorld, ...appointments: readonly string[]): Promise<void> {
  const isPlanned = async (id: string) => (await fates(world, id)).length > 0;
  await waitFor(async () => (await Promise.all(appointments.map(isPlanned))).every(Boolean), {
    what: 'the reminders to be planned',
  });
}

/** Puts the clock forward to when the reminders are due, and waits until each has come to its end. */
async function settled(world: SmallWorld, time: ShiftedTime, appointments: readonly string[]): Promise<void> {
  await planned(world, ...appointments);
  await time.leap(AHEAD_MS + 5 * SECOND_MS);
  const isOpen = (fate: string) => / (planned|sending)$/.test(fate);
  await waitFor(
    async () => {
      const all = await Promise.all(appointments.map((id) => fates(world, id)));
      if (all.every((each) => each.length > 0 && !each.some(isOpen))) return true;
      throw new Error(all.flat().join(', '));
    },
    {
      what: 'the reminders to be settled',
      intervalMs: 200,
    },
  );
}

const linkIn = (text: string) => /http:\/\/127\.\S+\/r\/[\w-]{22}/.exec(text)?.[0] ?? '';

/** A patient without scripts: opens the page and presses a button. */
async function press(link: string, answer: 'confirmed' | 'cancelled'): Promise<string> {
  const shown = await (await fetch(link)).text();
  const proof = /name="proof" value="([^"]+)"/.exec(shown)?.[1] ?? '';
  const pressed = await fetch(link, { method: 'POST', body: new URLSearchParams({ proof, answer }) });
  return `${pressed.status} ${/<h1>(.*)<\/h1>/.exec(await pressed.text())?.[1]}`;
}

test('what is booked, moved, cancelled, opted out and answered, from the clinic to the phone and back', async () => {
  const time = useShiftedTime(redis);
  const bed = await remindingWorld({
    'an-hour': { before: 'PT1H', channels: ['text', 'mail', 'hook'], group: 'none' },
  });
  const { world, sms, mail, receiver, clinicId, book, base } = bed;
  const daemon = await runDaemon(world);
  const dueAt = Date.now() + AHEAD_MS;
  const kept = book(dueAt + HOUR_MS);
  const moved = book(dueAt + HOUR_MS);
  const gone = book(dueAt + HOUR_MS);
  const optedOut = book(dueAt + HOUR_MS, bed.other);
  const { installation } = daemon.composition;
  await installation.pullNow('clinic-1');
  const ledger = installation.tenants.get('clinic-1')?.reminders?.ledger;
  await waitFor(async () => (await ledger?.openCount()) === 12, { what: 'the plan' });

  world.clinic.move(clinicId, moved, { start: dueAt + HOUR_MS + 4_000 });
  world.clinic.cancel(clinicId, gone);
  const incoming = `${base}/reminders/clinic-1/text`;
  expect(await sms.post(sms.reply(OTHER.phone, 'STOP', incoming))).toBe(204);
  const forged = new URLSearchParams({ From: PATIENT.phone, Body: 'STOP', AccountSid: sms.accountSid });
  expect((await fetch(incoming, { method: 'POST', body: forged })).status).toBe(403);
  await installation.pullNow('clinic-1');
  await waitFor(async () => (await fates(world, moved)).length === 6, {
    what: 'the plan of the appointment that was moved',
  });
  await settled(world, time, [kept, moved, gone, optedOut]);

  expect(await fates(world, kept)).toEqual(['hook sent', 'mail sent', 'text sent']);
  expect(await fates(world, moved)).toEqual(
    ['hook', 'mail', 'text'].flatMap((channel) => [`${channel} dropped moved`, `${channel} sent`]),
  );
  expect(await fates(world, gone)).toEqual(['hook', 'mail', 'text'].map((channel) => `${channel} dropped cancelled`));
  expect(await fates(world, optedOut)).toEqual(['hook sent', 'mail sent', 'text dropped opted-out']);
  expect(sms.messages(PATIENT.phone)).toHaveLength(2);
  expect(sms.messages(OTHER.phone)).toEqual([]);
  expect(mail.mails(PATIENT.email)).toHaveLength(2);
  expect(receiver.requests).toHaveLength(3);
  // A receiver may know the new secret, the old one, or check with another library.
  for (const { body, headers } of receiver.requests) {
    for (const secret of [NEW, OLD]) new Webhook(secret).verify(body, headers as Record<string, string>);
    new SvixWebhook(OLD).verify(body, headers as Record<string, string>);
    expect(body).not.toMatch(/127\.0\.|anna|33312345|33376543/);
  }

  const [first, second] = sms.messages(PATIENT.phone);
  const report = sms.report(first?.sid ?? '', 'delivered');
  if (report === null) throw new Error('no report was requested');
  expect(await sms.post(report)).toBe(204);

  const [target] = world.targets;
  const before = (await target?.read())?.length ?? 0;
  expect(await press(linkIn(first?.body ?? ''), 'confirmed')).toBe('200 Thank you');
  expect(await press(linkIn(first?.body ?? ''), 'cancelled')).toBe('200 Already confirmed');
  expect(await press(linkIn(second?.body ?? ''), 'cancelled')).toBe('200 Cancelled');
  const truth = new Map([...world.clinic.appointments(clinicId)].map(({ id, status }) => [id, status]));
  expect([truth.get(kept), truth.get(moved)].sort()).toEqual(['Cancelled', 'Confirmed']);
  await waitFor(async () => (await target?.read())?.length === before - 1, {
    what: 'the calendar to be in sync',
  });

  const stories = await Promise.all([kept, moved, gone].map((id) => world.cli('reminders', 'explain', 'clinic-1', id)));
  expect(stories.map(({ code }) => code)).toEqual([0, 0, 0]);
  const told = stories.map(({ out }) => out).join('\n');
  for (const words of ['delivered', 'by the patient: confirmed', 'by the patient: cancelled', 'was moved (moved)']) {
    expect(told).toContain(words);
  }
  expect(told).toContain('was cancelled (cancelled)');
});

describe('failures while reminders are due', () => {
  test('a lost answer is never a second message, and an unreachable clinic never a blind one', async () => {
    const time = useShiftedTime(redis);
    const { world, sms, gateway, book } = await remindingWorld({ 'an-hour': { before: 'PT1H', channels: ['text'] } });
    const daemon = await runDaemon(world);
    const dueAt = Date.now() + AHEAD_MS;
    const lost = book(dueAt + HOUR_MS);
    const blind = book(dueAt + HOUR_MS + 3_000);
    gateway.add({ method: /POST/, fault: { kind: 'lost-answer' } });
    const away = { status: 503, headers: {}, body: '' };
    world.clinicProxy.add({
      url: new RegExp(`/${blind}$`),
      times: 1_000,
      fault: { kind: 'answer', answer: away },
    });
    await daemon.composition.installation.pullNow('clinic-1');
    await settled(world, time, [lost, blind]);
    expect(await fates(world, lost)).toEqual(['text unknown']);
    expect(await fates(world, blind)).toEqual(['text dropped source-unreachable']);
    expect(sms.messages()).toHaveLength(1);
  });

  test('a missing receiver closes its channel until an operator opens it', async () => {
    const time = useShiftedTime(redis);
    let status = 410;
    const rules = { 'an-hour': { before: 'PT1H', channels: ['hook'] } };
    const { world, receiver, book } = await remindingWorld(rules, () => ({ status }));
    const daemon = await runDaemon(world);
    const appointments: string[] = [];
    const remind = async () => {
      appointments.push(book(Date.now() + AHEAD_MS + HOUR_MS));
      await daemon.composition.installation.pullNow('clinic-1');
      await settled(world, time, appointments);
      return (await fates(world, appointments.at(-1) ?? '')).join();
    };
    expect(await remind()).toBe('hook dropped channel-gone');
    status = 200;
    expect(await remind()).toBe('hook dropped channel-gone');
    expect(receiver.requests).toHaveLength(1);
    expect((await world.cli('status', 'clinic-1')).out).toMatch(/reminders by hook: closed since .*\(webhook-gone\)/);
    expect(await world.cli('reminders', 'reopen', 'clinic-1', 'hook')).toMatchObject({ code: 0 });
    expect((await world.cli('status', 'clinic-1')).out).not.toContain('closed since');
    expect(await remind()).toBe('hook sent');
  });

  test('a daemon killed during delivery sends at most one message, and at least one webhook with one id', async () => {
    let daemon: DaemonProcess | undefined;
    const time = useShiftedTime(redis, (offsetMs) => {
      writeFileSync(join(bed.world.dir, 'clock'), `${offsetMs}`);
      daemon?.process.kill('SIGUSR2');
    });
    let strike = () => {};
    const bed = await remindingWorld(
      {
        'an-hour': { before: 'PT1H', channels: ['text'] },
        'half-an-hour': { before: 'PT30M', channels: ['hook'] },
      },
      () => {
        strike();
        return {};
      },
    );
    const { world, sms, gateway, receiver, book } = bed;
    world.env.CLOCK_OFFSET_FILE = join(world.dir, 'clock');
    const clock = new URL('../support/shifted-daemon.ts', import.meta.url).href;
    world.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS} --import=${clock}`;
    const killed = async (daemon: DaemonProcess) => {
      await waitFor(() => daemon.process.signalCode === 'SIGKILL', { what: 'the kill' });
      // The claims of the dead end after two minutes.
      const connection = redis.connect();
      const claims = await connection.keys('*:reminder-claim:*');
      expect(claims).toHaveLength(1);
      await connection.del(claims);
    };

    const first = await start(bed);
    daemon = first;
    gateway.add({
      method: /POST/,
      fault: {
        kind: 'rewrite',
        answer: (answer) => {
          first.process.kill('SIGKILL');
          return answer;
        },
      },
    });
    const texted = book(Date.now() + AHEAD_MS + HOUR_MS);
    await world.opened().installation.pullNow('clinic-1');
    await planned(world, texted);
    await time.leap(AHEAD_MS + SECOND_MS);
    await killed(first);
    const second = await start(bed);
    daemon = second;
    strike = () => void second.process.kill('SIGKILL');
    const hooked = book(Date.now() + AHEAD_MS + HOUR_MS / 2);
    await world.opened().installation.pullNow('clinic-1');
    await planned(world, hooked);
    await time.leap(AHEAD_MS + SECOND_MS);
    await killed(second);
    strike = () => {};
    const third = await start(bed);
    await waitFor(async () => (await fates(world, hooked)).includes('hook sent'), {
      what: 'the webhook to be accepted',
      intervalMs: 200,
    });
    expect(await fates(world, texted)).toContain('text unknown');
    expect(sms.messages()).toHaveLength(1);
    expect(receiver.requests.length).toBeGreaterThanOrEqual(2);
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await third.stop()).toBe(0);
  });
});

/** Starts a separate daemon, and waits until it listens. */
async function start({ world, base }: { world: SmallWorld; base: string }): Promise<DaemonProcess> {
  const daemon = startProcess(world);
  onTestFinished(async () => {
    if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
  });
  await waitFor(async () => (await fetch(base)).status === 404, {
    what: 'the daemon to listen',
    intervalMs: 100,
  });
  return daemon;
}
