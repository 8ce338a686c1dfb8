import { createHmac } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { createAlertWatch } from '../../../src/features/alerts/alerts.ts';
import { alertChannels } from '../../../src/features/alerts/send.ts';
import { createAlertStore } from '../../../src/features/alerts/store.ts';
import { takeReminderCallback } from '../../../src/features/reminders/callbacks.ts';
import type { ChannelEvent } from '../../../src/features/reminders/channels/channel.ts';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { explainReminders, finishedReminders, listReplies } from '../../../src/features/reminders/reminders.ts';
import { render } from '../../../src/messages/message.ts';
import { renderReminderExplanation } from '../../../src/operator/cli/render-reminders.ts';
import { status } from '../../../src/operator/control/status.ts';
import { createPublicServer } from '../../../src/operator/http-server/public-server.ts';
import { alertsSection } from '../../../src/settings/delivery-schema.ts';
import { secretSchemas } from '../../../src/settings/secret-reference.ts';
import { createLeases } from '../../../src/state/leases.ts';
import { runProgram } from '../../operator/cli/run-program.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { startReceiver } from '../../support/receiver.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { book, createReminderWorld, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });
const ID = 'studio-rossi';
const SECRET = 'of the gateway';
const PHONE = '+393331234567';

/** A channel that takes what is signed: a list of events in JSON. */
function reportingWorld(): ReminderWorld {
  return createReminderWorld(redis.connect(), {
    callback: ({ headers, body, method }) => {
      if (method !== 'POST') return { status: 405, events: [] };
      if (headers['x-signature'] !== sign(body)) return { status: 403, events: [] };
      return { status: 204, events: JSON.parse(body) as ChannelEvent[] };
    },
  });
}

function sign(body: string): string {
  return createHmac('sha256', SECRET).update(body).digest('hex');
}

const tell = (world: ReminderWorld, events: ChannelEvent[], headers?: Record<string, string>) => {
  const body = JSON.stringify(events);
  const installation = openInstallation({ tenants: [world.tenant] });
  const signed = headers ?? { 'x-signature': sign(body) };
  return takeReminderCallback(installation, {
    tenant: ID,
    channel: 'text',
    method: 'POST',
    query: '',
    headers: signed,
    body,
  });
};

describe('what a channel reports', () => {
  test('an opt-out by number stops planned reminders, and an opt-in allows the next', async () => {
    const world = reportingWorld();
    book(world, 'one', 48);
    book(world, 'two', 49);
    await world.cycle();
    expect(await tell(world, [{ kind: 'opted-out', who: { phone: PHONE } }])).toBe(204);
    await world.advance(DAY_MS);
    expect(await world.fate('one')).toBe('dropped opted-out');
    await tell(world, [{ kind: 'opted-in', who: { phone: PHONE }, message: 'SM1' }]);
    await world.advance(DAY_MS);
    expect(await world.fate('two')).toBe('sent');
  });

  test('an opt-in that is shown again does not undo an opt-out that came since', async () => {
    const world = reportingWorld();
    book(world, 'one', 48);
    book(world, 'two', 72);
    await world.cycle();
    const optIn = (message: string) => tell(world, [{ kind: 'opted-in', who: { phone: PHONE }, message }]);
    const optOut = () => tell(world, [{ kind: 'opted-out', who: { phone: PHONE } }]);
    await optOut();
    await optIn('SM1');
    await optOut();
    expect(await optIn('SM1')).toBe(204);
    await world.advance(DAY_MS);
    expect(await world.fate('one')).toBe('dropped opted-out');
    await optIn('SM2');
    await world.advance(DAY_MS);
    expect(await world.fate('two')).toBe('sent');
  });

  test('an opt-out through a sent reminder applies to the address of that reminder', async () => {
    const world = reportingWorld();
    book(world, 'one', 48);
    book(world, 'two', 72);
    await world.cycle();
    await world.advance(DAY_MS);
    const [sent] = (await world.entries()).filter(({ state }) => state === 'sent');
    await tell(world, [{ kind: 'opted-out', who: { reminderId: sent?.id ?? '' } }]);
    await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(await world.fate('two')).toBe('dropped opted-out');
  });

  test('an opt-out of a reminder that is not known changes nothing', async () => {
    const world = reportingWorld();
    book(world, 'one', 48);
    await world.cycle();
    expect(await tell(world, [{ kind: 'opted-out', who: { reminderId: 'x'.repeat(32) } }])).toBe(204);
    await world.advance(DAY_MS);
    expect(await world.fate('one')).toBe('sent');
  });

  test('what is not genuine changes nothing', async () => {
    const world = reportingWorld();
    book(world, 'one', 48);
    await world.cycle();
    const forged = { 'x-signature': 'forged' };
    expect(await tell(world, [{ kind: 'opted-out', who: { phone: PHONE } }], forged)).toBe(403);
    await world.advance(DAY_MS);
    expect(await world.fate('one')).toBe('sent');
  });

  test('a delivery is shown, also when it is reported before the response to the call, and despite a late failure', async () => {
    const world = reportingWorld();
    book(world, 'one', 48);
    await world.cycle();
    world.gateway.onSend = async () => void (await tell(world, [{ kind: 'delivered', reference: 'ref-1' }]));
    await world.advance(DAY_MS);
    await tell(world, [{ kind: 'failed', reference: 'ref-1', code: 'late' }]);
    const installation = openInstallation({ tenants: [world.tenant] });
    const { reminders } = await finishedReminders(installation, ID, 1);
    expect(reminders[0]).toMatchObject({ state: 'sent', report: { state: 'delivered', code: null } });
    expect(renderReminderExplanation(await explainReminders(installation, ID, 'one', NEVER))).toContain(
      'reported 2026-06-16 10:00+02:00: delivered',
    );
  });

  test('a failure is shown with its code', async () => {
    const world = reportingWorld();
    book(world, 'one', 48);
    await world.cycle();
    await world.advance(DAY_MS);
    await tell(world, [{ kind: 'failed', reference: 'ref-1', code: 'landline' }]);
    const installation = openInstallation({ tenants: [world.tenant] });
    expect(renderReminderExplanation(await explainReminders(installation, ID, 'one', NEVER))).toContain(
      'not delivered (landline)',
    );
  });
});

describe('a reply of a patient', () => {
  const TEXT = 'Non posso venire domani, ho la febbre';
  const reply = (message: string, text = TEXT): ChannelEvent => ({
    kind: 'replied',
    who: { phone: PHONE },
    message,
    text,
  });

  test('reaches the desk once: status, alert and list, and stops no reminder', async () => {
    const world = reportingWorld();
    const connection = redis.connect();
    book(world, 'one', 48);
    await world.cycle();
    expect(await tell(world, [reply('SM1')])).toBe(204);
    await tell(world, [reply('SM1')]);
    const installation = openInstallation({ tenants: [world.tenant] });
    const { replies } = await listReplies(installation, ID);
    expect(replies).toMatchObject([{ phone: PHONE, text: TEXT }]);
    const { problems } = await status(installation);
    const problem = problems.find(({ code }) => code === 'patients-replied');
    expect(problem).toMatchObject({
      tenant: ID,
      health: 'action-required',
      next: `clinic-mirror reminders replies ${ID}`,
    });
    expect(JSON.stringify(problem)).not.toMatch(/febbre|333/);
    const stored = JSON.stringify(
      await Promise.all((await connection.keys('*replies*')).map((key) => connection.hgetall(key))),
    );
    expect(stored).toContain('s1.');
    expect(stored).not.toMatch(/febbre|333123/);
    const [, next = ''] = /^clinic-mirror (.+)/.exec(render(problem?.texts.next ?? '')) ?? [];
    const shown = await runProgram(next.split(' '), { installation });
    expect(shown.out).toContain(TEXT);
    const [, answered = ''] = /clinic-mirror (reminders answered \S+ \S+)/.exec(shown.out) ?? [];
    expect(await runProgram(answered.split(' '), { installation })).toMatchObject({ thrown: null, code: 0 });
    expect((await status(installation)).problems.map(({ code }) => code)).not.toContain('patients-replied');
    await world.advance(DAY_MS);
    expect(await world.fate('one')).toBe('sent');
  });

  test.each<[what: string, event: ChannelEvent, alerts: number]>([
    ['reaches a webhook alert, without its text, number and name', reply('SM1'), 1],
    ['that means stop reaches no alert', { kind: 'opted-out', who: { phone: PHONE } }, 0],
  ])('%s', async (_what, event, count) => {
    const world = reportingWorld();
    const receiver = await startReceiver(() => ({ status: 202 }));
    onTestFinished(() => receiver.close());
    book(world, 'one', 48);
    await world.cycle();
    expect(await tell(world, [event])).toBe(204);
    const secrets = secretSchemas({ env: { SIGNING: `whsec_${Buffer.alloc(32, 5).toString('base64')}` }, dir: '/' });
    const settings = alertsSection(secrets).parse({
      webhook: { url: `${receiver.url}/alerts`, secrets: [{ env: 'SIGNING' }], allowPrivateAddresses: true },
    });
    const connection = redis.connect();
    const clock = () => world.now;
    const installation = openInstallation({ tenants: [world.tenant] });
    const watch = createAlertWatch();
    for (let look = 0; look < 2; look += 1) {
      const parts = {
        problems: async () => (await status(installation)).problems.filter(({ code }) => code === 'patients-replied'),
        channels: alertChannels(settings, createHttpClient({ userAgent: 'clinic-mirror', clock: Date.now })),
        store: createAlertStore({ redis: connection, identityKey: Buffer.alloc(32, 7), clock }),
        leases: createLeases(connection, 'clinic-mirror', 30_000),
        ...{ outageAfterMs: DAY_MS, clock, log: silentLogger },
      };
      await watch.check(parts, NEVER);
      world.now += 5 * MINUTE_MS;
    }
    const [alert] = receiver.requests;
    expect(receiver.requests).toHaveLength(count);
    if (alert === undefined) return;
    const { data } = JSON.parse(alert.body) as { data: { begun: { problems: unknown[] } } };
    expect(data.begun.problems).toMatchObject([{ tenant: ID, code: 'patients-replied', next: expect.any(String) }]);
    expect(alert.body).not.toMatch(/febbre|Non posso|333|Anna|Verdi|example\.org/);
  });

  test('that another program wrote into Redis is not shown', async () => {
    const world = reportingWorld();
    const forged = JSON.stringify({ id: 'x', phone: PHONE, text: TEXT, at: world.now });
    await redis.connect().hset(reminderKeys.reminderReplies(ID), JSON.stringify(['phone:x', 'x']), forged);
    expect(await listReplies(openInstallation({ tenants: [world.tenant] }), ID)).toMatchObject({ replies: [] });
  });

  test('is deleted after three days', async () => {
    const world = reportingWorld();
    await tell(world, [reply('SM1')]);
    const list = () => world.tenant.reminders?.replies.list(world.now + 3 * DAY_MS - 1);
    expect(await list()).toHaveLength(1);
    world.now += 1;
    expect(await list()).toEqual([]);
    expect(await redis.connect().keys('*replies*')).toEqual([]);
  });
});

describe('the callback URL', () => {
  async function open(world: ReminderWorld) {
    const installation = openInstallation({ tenants: [world.tenant] });
    const verbs = {
      describeLogin: async () => null,
      beginLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      completeLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      takeNotification: async () => null,
      showFeed: async () => ({ status: 404 as const }),
      takeReminderCallback: (report: Parameters<typeof takeReminderCallback>[1]) =>
        takeReminderCallback(installation, report),
      showAnswer: async () => ({ says: 'unknown', about: null, form: null }) as const,
      takeAnswer: async () => ({ says: 'unknown', about: null, form: null }) as const,
    };
    return createPublicServer(verbs, { publicUrl: () => 'https://mirror.test', log: silentLogger });
  }

  test.each([
    ['POST', `/reminders/${ID}/text`, true, 204],
    ['POST', `/reminders/${ID}/text`, false, 403],
    ['GET', `/reminders/${ID}/text?reminder=1`, false, 405],
    ['POST', `/reminders/${ID}/other`, true, 404],
    ['POST', '/reminders/nobody/text', true, 404],
    ['POST', '/reminders/constructor/__proto__', true, 404],
  ] as const)('%s %s, signed: %s, is answered with %i', async (method, url, isSigned, status) => {
    const app = await open(reportingWorld());
    // Longer than the limit of other routes, and of a type that no parser accepts.
    const payload = JSON.stringify(
      Array.from({ length: 50 }, () => ({ kind: 'delivered', reference: 'ref-of-a-message' })),
    );
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-signature': isSigned ? sign(payload) : '',
    };
    const answer = await app.inject(method === 'GET' ? { method, url } : { method, url, payload, headers });
    await app.close();
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([status, 'no-store']);
  });

  test('a body without end is refused', async () => {
    const app = await open(reportingWorld());
    const answer = await app.inject({ method: 'POST', url: `/reminders/${ID}/text`, payload: 'x'.repeat(100_000) });
    await app.close();
    expect(answer.statusCode).toBe(404);
  });
});
