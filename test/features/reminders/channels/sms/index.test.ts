import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SignedRequest } from '../../../../../sandbox/sms/index.ts';
import { signatureOf } from '../../../../../src/features/reminders/channels/sms/index.ts';
import { attempt, errorOf, openChannel, openSmsBed, PATIENT, reminderOf } from '../bed.ts';

const CALLBACK = 'https://clinic.example/reminders/callbacks/studio-rossi/sms';
let bed: Awaited<ReturnType<typeof openSmsBed>>;
beforeEach(async () => {
  bed = await openSmsBed();
});
afterEach(() => bed.close());

describe('a message', () => {
  test('goes to the number, from the sender, with a limit to its wait, and says where to report', async () => {
    const channel = openChannel(bed, { callbackUrl: CALLBACK });
    const delivery = await attempt(channel, reminderOf({ link: { url: 'https://c.example/1', cancels: true } }));
    const [message] = bed.gateway.messages(PATIENT.phone);
    expect(message).toMatchObject({
      from: bed.gateway.from,
      messagingServiceSid: null,
      validitySeconds: 3_600,
      statusCallback: CALLBACK,
    });
    expect(message?.body).toMatch(/\nConferma o disdici: https:\/\/c\.example\/1$/);
    expect(delivery).toEqual({ result: 'sent', reference: message?.sid });
  });

  test('is sent through a messaging service instead of a sender', async () => {
    const { from: _, ...settings } = bed.settings as { from: string };
    const service = bed.gateway.messagingServiceSid;
    await attempt(openChannel(bed, { settings: { ...settings, messagingServiceSid: service } }), reminderOf());
    expect(bed.gateway.messages()).toMatchObject([{ from: null, messagingServiceSid: service, statusCallback: null }]);
  });

  test('of more parts than allowed is refused, not cut', async () => {
    const channel = openChannel(bed, { settings: { ...bed.settings, maximumSegments: 1 } });
    expect(await attempt(channel, reminderOf({ text: 'a'.repeat(160) }))).toMatchObject({ result: 'sent' });
    for (const text of ['a'.repeat(161), `${'a'.repeat(70)}ç`]) {
      expect(await attempt(channel, reminderOf({ text }))).toMatchObject({ result: 'refused', code: 'text-too-long' });
      expect(channel.fits?.(reminderOf({ text }).content)).toBe(false);
    }
    expect(channel.fits?.(reminderOf({ text: 'a'.repeat(160) }).content)).toBe(true);
    expect(bed.gateway.messages()).toHaveLength(1);
  });

  test.each([
    ['Studio dell’Angelo – Odontoiatria', "Studio dell'Angelo - Odontoiatria"],
    ['“Sala\u00a0A” « piano 2 » … ore\u202f10:30 — n° 5', '"Sala A" " piano 2 " ... ore 10:30 - no 5'],
    ['citta\u0300 perche\u0301', 'città perché'],
    ['è ù Ñ € Ü ß', 'è ù Ñ € Ü ß'],
  ])('of typographic characters is one segment: %j', async (written, sent) => {
    const channel = openChannel(bed, { settings: { ...bed.settings, maximumSegments: 1 } });
    const filler = ' e'.repeat(40);
    expect(await attempt(channel, reminderOf({ text: written + filler }))).toMatchObject({ result: 'sent' });
    expect(bed.gateway.messages().at(-1)?.body).toBe(sent + filler);
  });

  test('with letters that the alphabet lacks stays as it is', async () => {
    await attempt(openChannel(bed), reminderOf({ text: 'Łukasz Gonçalves – Žižek' }));
    expect(bed.gateway.messages().at(-1)?.body).toBe('Łukasz Gonçalves – Žižek');
  });
});

describe('a refusal by the gateway', () => {
  const refusing = (status: number, code: number) => {
    bed.gateway.faults.add({ fault: { kind: 'status', status, body: { code, message: 'x', status } } });
    return attempt(openChannel(bed), reminderOf());
  };

  test.each([
    [400, 21_610, 'sms-opted-out', true],
    [400, 21_211, 'number-unreachable', false],
    [400, 21_614, 'number-unreachable', false],
    [400, 21_408, 'region-not-enabled', false],
    [403, 21_610, 'sms-opted-out', true],
    [400, 21_617, 'sms-refused', false],
  ])('with %i and %i is over', async (status, number, code, optedOut) => {
    expect(await refusing(status, number)).toEqual({ result: 'refused', code, optedOut, channelGone: false });
  });

  test.each([
    [429, 20_429],
    [503, 20_429],
    [400, 30_001],
    [400, 21_611],
  ])('with %i and %i comes later', async (status, number) => {
    expect(await refusing(status, number)).toEqual({ result: 'later', code: 'throttled', retryAfterMs: null });
  });

  test.each([
    [500, 20_500],
    [502, 0],
    [301, 0],
  ])('with %i and %i may have been sent', async (status, number) => {
    expect(await refusing(status, number)).toEqual({ result: 'unknown', code: 'sms-answer-unclear' });
  });

  test.each([
    [401, 20_003, 'sms-login-refused'],
    [403, 20_005, 'sms-login-refused'],
    [404, 20_404, 'sms-sender-refused'],
    [400, 21_606, 'sms-sender-refused'],
  ])('with %i and %i requires action', async (status, number, code) => {
    expect(await errorOf(refusing(status, number))).toMatchObject({ actor: 'settings', code });
  });

  test('as a page of a proxy is not believed', async () => {
    bed.gateway.faults.add({ fault: { kind: 'status', status: 404, body: '<html>no such page</html>' } });
    expect(await attempt(openChannel(bed), reminderOf())).toEqual({ result: 'unknown', code: 'sms-answer-unclear' });
  });

  test('in an answer of success is refused all the same', async () => {
    const body = JSON.stringify({ sid: `SM${'0'.repeat(32)}`, status: 'failed', error_code: 21_610 });
    bed.gateway.faults.add({ fault: { kind: 'garbage', body } });
    expect(await attempt(openChannel(bed), reminderOf())).toMatchObject({ result: 'refused', optedOut: true });
  });

  test.each(['', '[]', '{"sid":7}', '{"sid":"SM', 'null'])('leaves the outcome unknown after %j', async (body) => {
    bed.gateway.faults.add({ fault: { kind: 'garbage', body } });
    expect(await attempt(openChannel(bed), reminderOf())).toMatchObject({ result: 'unknown' });
  });
});

/** Takes a request as the receiver would get it. */
function take(
  request: SignedRequest,
  changes: Partial<{ method: string; query: string; env: Record<string, string> }> = {},
) {
  const channel = openChannel(bed, { callbackUrl: CALLBACK, ...(changes.env ? { env: changes.env } : {}) });
  const { method = 'POST', query = '' } = changes;
  return channel.takeCallback?.({ method, query, headers: request.headers, body: request.body });
}

describe('a status report', () => {
  async function reported(status: 'sent' | 'delivered' | 'undelivered' | 'failed', errorCode?: number) {
    await attempt(openChannel(bed, { callbackUrl: CALLBACK }), reminderOf());
    const { sid } = bed.gateway.messages()[0]!;
    return { sid, request: bed.gateway.report(sid, status, errorCode)! };
  }

  test('reports that a message was delivered', async () => {
    const { sid, request } = await reported('delivered');
    expect(take(request)).toEqual({ status: 204, events: [{ kind: 'delivered', reference: sid }] });
  });

  test.each([
    ['undelivered', 30_003, 'number-unreachable'],
    ['failed', 30_007, 'sms-failed'],
    ['failed', undefined, 'sms-failed'],
  ] as const)('reports that a message was %s for %s', async (status, number, code) => {
    const { sid, request } = await reported(status, number);
    expect(take(request)).toEqual({ status: 204, events: [{ kind: 'failed', reference: sid, code }] });
  });

  test('reports an opt-out that the gateway noticed late', async () => {
    const { request } = await reported('failed', 21_610);
    expect(take(request)?.events).toMatchObject([
      { kind: 'failed', code: 'sms-opted-out' },
      { kind: 'opted-out', who: { phone: PATIENT.phone } },
    ]);
  });

  test('for a message in transit reports nothing', async () => {
    const { request } = await reported('sent');
    expect(take(request)).toEqual({ status: 204, events: [] });
  });

  test('is not believed when it is signed by another key, changed, or meant for another URL', async () => {
    const { request } = await reported('delivered');
    const forbidden = { status: 403, events: [] };
    expect(take(request, { env: { SMS_TOKEN: 'another' } })).toEqual(forbidden);
    expect(take(request, { query: '?tenant=other' })).toEqual(forbidden);
    expect(take({ ...request, headers: {} })).toEqual(forbidden);
    expect(take({ ...request, body: `${request.body}&MessageStatus=failed` })).toEqual(forbidden);
    expect(take(request, { method: 'GET' })).toEqual({ status: 405, events: [] });
    fc.assert(
      fc.property(fc.nat(request.body.length - 1), fc.constantFrom('0', 'x', '&', '='), (at, character) => {
        fc.pre(request.body[at] !== character);
        const body = request.body.slice(0, at) + character + request.body.slice(at + 1);
        return take({ ...request, body })?.status === 403;
      }),
    );
  });

  test('that another account of the same token signed is not believed', () => {
    const form = new URLSearchParams({
      AccountSid: `AC${'0'.repeat(32)}`,
      MessageStatus: 'delivered',
      MessageSid: 'SM1',
    });
    const signature = signatureOf(bed.gateway.authToken, CALLBACK, form);
    const request = { url: CALLBACK, headers: { 'x-twilio-signature': signature }, body: form.toString() };
    expect(take(request)).toEqual({ status: 403, events: [] });
  });
});

describe('a reply', () => {
  test.each(['STOP', 'stop.', ' Unsubscribe ', 'BASTA', 'please stop', 'per favore non scrivetemi più'])(
    'of %j is an opt-out',
    (words) => {
      expect(take(bed.gateway.reply(PATIENT.phone, words, CALLBACK))).toEqual({
        status: 204,
        events: [{ kind: 'opted-out', who: { phone: PATIENT.phone } }],
      });
    },
  );

  test('of START takes it back', () => {
    expect(take(bed.gateway.reply(PATIENT.phone, 'Start', CALLBACK))?.events).toEqual([
      { kind: 'opted-in', who: { phone: PATIENT.phone }, message: expect.stringMatching(/^SM/) },
    ]);
  });

  test.each(['Annulla', 'Non posso venire domani', "I can't stop by tomorrow", '🛑'])(
    'of %j is for the clinic',
    (text) => {
      expect(take(bed.gateway.reply(PATIENT.phone, text, CALLBACK))?.events).toEqual([
        { kind: 'replied', who: { phone: PATIENT.phone }, message: expect.stringMatching(/^SM/), text },
      ]);
    },
  );

  test('without text changes nothing', () => {
    expect(take(bed.gateway.reply(PATIENT.phone, '', CALLBACK))).toEqual({ status: 204, events: [] });
  });

  test('of STOP is known to the gateway too: the next message is refused as opted out', async () => {
    bed.gateway.reply(PATIENT.phone, 'STOP', CALLBACK);
    expect(await attempt(openChannel(bed), reminderOf())).toMatchObject({ result: 'refused', optedOut: true });
    expect(bed.gateway.counts.value(`sms:${PATIENT.phone}`)).toBe(0);
  });
});

/** https://www.twilio.com/docs/usage/security and the vendor's own libraries. */
test.each([
  ['+14158675309', 'RSOYDt4T1cUTdK1PDd93/VVr8B8='],
  ['+12349013030', '0/KCTR6DLpKmkAf8muzZqo1nDgQ='],
])('signatures are those of the vendor: %s', (number, signature) => {
  const form = new URLSearchParams({
    To: '+18005551212',
    From: number,
    Digits: '1234',
    Caller: number,
    CallSid: 'CA1234567890ABCDE',
  });
  expect(signatureOf('12345', 'https://mycompany.com/myapp.php?foo=1&bar=2', form)).toBe(signature);
});

describe('settings are refused', () => {
  test.each([
    ['with two senders', { messagingServiceSid: `MG${'0'.repeat(32)}` }],
    ['without a sender', { from: undefined }],
    ['with a sender that is neither number nor name', { from: 'Studio Medico Rossi' }],
    ['with credentials that would be sent in clear', { server: 'http://api.example' }],
    ['with an account that is none', { accountSid: 'AC1' }],
    ['with a wait longer than the gateway keeps', { validitySeconds: 36_001 }],
  ])('%s', (_, changes) => {
    expect(() => openChannel(bed, { settings: { ...bed.settings, ...changes } })).toThrow();
  });
});
