import type { IncomingHttpHeaders } from 'node:http';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { outboundSection, reachOf } from '../../../../../src/settings/outbound-schema.ts';
import { attempt, errorOf, openChannel, openWebhookBed, reminderOf, signingSecret } from '../bed.ts';
import type { TakenMessage } from '../receiver.ts';

const [OLD, NEW] = [signingSecret('o'), signingSecret('n')];
let bed: Awaited<ReturnType<typeof openWebhookBed>>;
beforeEach(async () => {
  bed = await openWebhookBed();
});
afterEach(() => bed.close());

const verifiers = {
  standardwebhooks: (secret: string, { body, headers }: TakenMessage) =>
    void new StandardWebhook(secret).verify(body, plain(headers)),
  svix: (secret: string, { body, headers }: TakenMessage) => void new SvixWebhook(secret).verify(body, plain(headers)),
};

function plain(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** Settings that sign with these secrets, newest first. */
function signingWith(...secrets: string[]) {
  const env = Object.fromEntries(secrets.map((secret, index) => [`SECRET_${index}`, secret]));
  return { env, settings: { ...bed.settings, secrets: Object.keys(env).map((name) => ({ env: name })) } };
}

describe.each(Object.entries(verifiers))('a receiver that verifies with %s', (_, verify) => {
  test('accepts the sent payload, and none that was changed in transit or signed by another key', async () => {
    await attempt(openChannel(bed, signingWith(NEW)), reminderOf({ text: 'Perché no? 👍 "…"' }));
    const message = bed.receiver.taken[0]!;
    expect(() => verify(NEW, message)).not.toThrow();
    expect(() => verify(OLD, message)).toThrow();
    expect(() => verify(NEW, { ...message, body: message.body.replace('apt-1', 'apt-2') })).toThrow();
    expect(() => verify(NEW, { ...message, headers: { ...message.headers, 'webhook-id': 'x' } })).toThrow();
  });

  test('loses no message while the secret is changed, whichever side changes first', async () => {
    for (const secrets of [[OLD], [NEW, OLD], [NEW]]) {
      const channel = openChannel(bed, signingWith(...secrets));
      await attempt(channel, reminderOf());
      await attempt(channel, reminderOf());
    }
    // The receiver changes at its own time: in the middle of the two that carry both signatures.
    const knows = [OLD, OLD, OLD, NEW, NEW, NEW];
    expect(bed.receiver.taken).toHaveLength(6);
    for (const [index, message] of bed.receiver.taken.entries()) {
      expect(() => verify(knows[index] ?? '', message)).not.toThrow();
    }
    const signatures = bed.receiver.taken.map(({ headers }) => String(headers['webhook-signature']).split(' ').length);
    expect(signatures).toEqual([1, 1, 2, 2, 1, 1]);
  });
});

test('each try carries the same id and its own time', async () => {
  let now = Date.parse('2026-11-30T17:00:00Z');
  const channel = openChannel(bed, { clock: () => now });
  const reminder = reminderOf();
  bed.spoil.lostAnswer?.();
  expect(await attempt(channel, reminder)).toMatchObject({ result: 'unknown' });
  now += 300_000;
  expect(await attempt(channel, reminder)).toMatchObject({ result: 'sent' });
  const headers = bed.receiver.taken.map((taken) => taken.headers);
  expect(headers.map((each) => each['webhook-id'])).toEqual([reminder.id, reminder.id]);
  expect(headers.map((each) => each['webhook-timestamp'])).toEqual(['1796058000', '1796058300']);
});

describe('the payload', () => {
  const payloads = () => bed.receiver.taken.map(({ body }) => JSON.parse(body) as { data: object });

  test('holds only ids unless the settings add more', async () => {
    const { fields: _, ...settings } = bed.settings as { fields: unknown };
    await attempt(openChannel(bed, { settings, clock: () => 0 }), reminderOf());
    expect(payloads()).toEqual([
      {
        type: 'appointment.reminder.due',
        timestamp: '1970-01-01T00:00:00.000Z',
        data: {
          reminderId: expect.stringMatching(/^[0-9a-v]{32}$/),
          tenant: 'studio-rossi',
          rule: 'day-before',
          appointmentId: 'apt-1',
          agendaId: 'agenda-2',
          patientId: 'pat-77',
        },
      },
    ]);
  });

  test('holds the fields that the settings name, and null for missing values', async () => {
    const settings = { ...bed.settings, fields: ['startAt', 'zone', 'phone', 'email', 'link'] };
    await attempt(openChannel(bed, { settings }), reminderOf({}, { email: null }));
    expect(payloads()[0]?.data).toMatchObject({
      startAt: '2026-12-01T09:30:00.000Z',
      zone: 'Europe/Rome',
      phone: '+393331234567',
      email: null,
      link: null,
    });
    expect(payloads()[0]?.data).not.toHaveProperty('text');
  });

  test('that is too large is not sent', async () => {
    const delivery = await attempt(openChannel(bed), reminderOf({ text: 'à'.repeat(10_000) }));
    expect(delivery).toMatchObject({ result: 'refused', code: 'payload-too-large' });
    expect(bed.receiver.taken).toEqual([]);
  });
});

describe('an answer', () => {
  const answered = (status: number, headers: Record<string, string> = {}) => {
    bed.receiver.kit.faults.add({ fault: { kind: 'status', status, headers } });
    return attempt(openChannel(bed), reminderOf());
  };

  test.each([200, 201, 202, 204, 299])('%i is a success', async (status) => {
    expect(await answered(status)).toEqual({ result: 'sent', reference: null });
  });

  test('410 ends the channel', async () => {
    expect(await answered(410)).toMatchObject({ result: 'refused', code: 'webhook-gone', channelGone: true });
  });

  test.each([301, 302, 303, 307, 308])('%i is a failure and is not followed', async (status) => {
    const elsewhere = await openWebhookBed();
    try {
      expect(await answered(status, { location: elsewhere.receiver.url })).toMatchObject({
        result: 'later',
        code: 'webhook-redirected',
      });
      expect(elsewhere.receiver.taken).toEqual([]);
    } finally {
      await elsewhere.close();
    }
  });

  test.each([
    [429, '30', 'throttled', 30_000],
    [429, null, 'throttled', null],
    [502, '5', 'webhook-unavailable', 5_000],
    [503, null, 'webhook-unavailable', null],
    [504, 'soon', 'webhook-unavailable', null],
    [400, null, 'webhook-refused', null],
    [404, null, 'webhook-refused', null],
  ])('%i with a delay of %s seconds is retried', async (status, seconds, code, retryAfterMs) => {
    const headers = seconds === null ? {} : { 'retry-after': seconds };
    expect(await answered(status, headers)).toEqual({ result: 'later', code, retryAfterMs });
  });

  test.each([401, 403])('%i requires action', async (status) => {
    expect(await errorOf(answered(status))).toMatchObject({ actor: 'settings', code: 'webhook-unauthorized' });
  });
});

describe('a receiver on the internet', () => {
  const reach = reachOf(outboundSection.parse(undefined), 'webhooks');
  const settings = () => ({ ...bed.settings, url: 'https://hooks.example/in' });

  test.each([
    ['an own network', '192.168.1.20'],
    ['this machine', '127.0.0.1'],
    ['the metadata of a cloud', '169.254.169.254'],
  ])('whose name resolves to %s gets nothing, and action is required', async (_, address) => {
    const httpClient = { resolve: async () => [{ address, family: 4 }] };
    const error = await errorOf(attempt(openChannel(bed, { settings: settings(), httpClient, reach }), reminderOf()));
    expect(error).toMatchObject({ actor: 'settings', code: 'address-not-allowed' });
  });

  test('whose name does not resolve at the moment is retried', async () => {
    const unknown = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' });
    const httpClient = { resolve: () => Promise.reject(unknown) };
    expect(await attempt(openChannel(bed, { settings: settings(), httpClient, reach }), reminderOf())).toMatchObject({
      result: 'later',
      code: 'connection-failed',
    });
  });
});

describe('settings are refused', () => {
  const open = (changes: object, env = {}) => openChannel(bed, { settings: { ...bed.settings, ...changes }, env });

  test('without a secret', () => expect(() => open({ secrets: [] })).toThrow());
  test.each([
    ['without its prefix', Buffer.alloc(32, 1).toString('base64')],
    ['of 23 bytes', `whsec_${Buffer.alloc(23, 1).toString('base64')}`],
    ['of 65 bytes', `whsec_${Buffer.alloc(65, 1).toString('base64')}`],
    ['that is no base64', 'whsec_this is not base64 at all, is it?'],
  ])('for a secret %s, without showing it', (_, secret) => {
    const opening = () => open({ secrets: [{ env: 'WEBHOOK_SECRET' }] }, { WEBHOOK_SECRET: secret });
    expect(opening).toThrow('whsec_');
    expect(opening).not.toThrow(secret);
  });
  test('for a field that is not known', () => expect(() => open({ fields: ['diagnosis'] })).toThrow());
});
