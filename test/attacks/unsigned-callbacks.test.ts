import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { takeReminderCallback } from '../../src/features/reminders/callbacks.ts';
import { readCallback, signatureOf } from '../../src/features/reminders/channels/sms/index.ts';
import { createNotificationReceiver } from '../../src/operator/control/notifications.ts';
import { Secret } from '../../src/settings/secret-reference.ts';
import { subscriptionSecretHash } from '../../src/tenant/subscription-store.ts';
import { openChannel, openEmailBed, reminderOf, unsubscribeProof } from '../features/reminders/channels/bed.ts';

/*
 * Anyone can post to the URLs of gateways, mail programs and vendors. An unsigned request costs one check, never work that grows faster
 * than the request: one thread serves all tenants.
 */

const ADDRESS = 'https://clinic.example/reminders/studio-rossi/sms';
const ACCOUNT = `AC${'0'.repeat(32)}`;

/** A token that records its use: no hash is computed before. */
function watchedToken() {
  const token = new Secret('the-token');
  let asked = 0;
  const reveal = token.reveal.bind(token);
  token.reveal = () => {
    asked += 1;
    return reveal();
  };
  return { token, asked: () => asked };
}

function post(body: string, signature: string | undefined) {
  const { token, asked } = watchedToken();
  const headers = signature === undefined ? {} : { 'x-twilio-signature': signature };
  const answer = readCallback(
    { method: 'POST', query: '', headers, body },
    { authToken: token, accountSid: ACCOUNT },
    ADDRESS,
  );
  return { answer, asked: asked() };
}

const form = (count: number) => {
  const more = Array.from({ length: count - 3 }, (_, index): [string, string] => [`p${index}`, 'x']);
  return new URLSearchParams([['AccountSid', ACCOUNT], ['MessageSid', 'SM1'], ['MessageStatus', 'delivered'], ...more]);
};
const FORBIDDEN = { status: 403, events: [] };

describe('the URL for a text message gateway', () => {
  test.each([
    ['without a signature', undefined],
    ['with what is none', 'x'.repeat(28)],
    ['with a longer one', `${'A'.repeat(27)}==`],
    ['with a whole text for one', 'A'.repeat(60_000)],
  ])('rejects a report %s before parsing', (_, signature) => {
    expect(post(form(20).toString(), signature)).toEqual({ answer: FORBIDDEN, asked: 0 });
  });

  test.each([
    ['of one name', 'a=&'.repeat(21_000)],
    ['of as many names', Array.from({ length: 9_000 }, (_, index) => `a${index}=`).join('&')],
    ['that are empty', '&'.repeat(64_000)],
  ])('rejects a body of thousands of parameters %s before parsing', (_, body) => {
    expect(post(body, `${'A'.repeat(27)}=`)).toEqual({ answer: FORBIDDEN, asked: 0 });
  });

  test('accepts a signed report with up to a hundred parameters', () => {
    const signed = (count: number) => post(form(count).toString(), signatureOf('the-token', ADDRESS, form(count)));
    expect(signed(100).answer).toEqual({ status: 204, events: [{ kind: 'delivered', reference: 'SM1' }] });
    expect(signed(101).answer).toEqual(FORBIDDEN);
  });
});

test('opens no tenant without reminders for a guessed name', async () => {
  const opened: string[] = [];
  const tenants = { get: (id: string) => void opened.push(id) };
  const outlines = new Map(
    [true, false].map((hasReminders) => [
      hasReminders ? 'uno' : 'due',
      { name: '', zone: 'UTC', formerly: null, hasReminders, triggersEveryMinutes: null },
    ]),
  );
  const ask = (tenant: string) =>
    takeReminderCallback(
      { outlines, tenants: tenants as never, clock: () => 0 },
      {
        ...{ tenant, channel: 'sms', method: 'POST', query: '', headers: {}, body: 'a=1' },
      },
    );
  expect([await ask('uno'), await ask('due'), await ask('drei')]).toEqual([404, 404, 404]);
  expect(opened).toEqual(['uno']);
});

describe('the URL for a vendor’s notifications', () => {
  const ID = '0123456789abcdef0123456789abcdef';
  let read: number;
  let looked: string[];
  let events: { secret: string; event: 'changed' }[];
  const receiver = createNotificationReceiver({
    readers: new Map([
      [
        'model',
        () => {
          read += 1;
          return { kind: 'events', events };
        },
      ],
    ]),
    directory: {
      find: async (id) =>
        id === ID
          ? {
              ...{ tenant: 'uno', connector: 'model', targets: ['doctor'], isOpening: false, asked: null },
              secretHash: subscriptionSecretHash('the-secret'),
            }
          : null,
      ask: async () => {},
      put: async () => {},
      remove: async () => {},
    },
    checkTarget: async (_, target) => void looked.push(target),
    renewSubscriptions: async () => {},
    count: () => {},
    clock: () => 0,
  });
  const posted = (subscriptionId: string) =>
    receiver({
      connector: 'model',
      subscriptionId,
      query: new URLSearchParams(),
      headers: {},
      body: 'x'.repeat(256_000),
    });
  beforeEach(() => {
    read = 0;
    looked = [];
    events = [{ secret: 'the-secret', event: 'changed' }];
  });

  test('parses no notification without a subscription', async () => {
    for (const id of ['f'.repeat(32), 'x', '../budget', '']) expect(await posted(id)).toBeNull();
    expect(read).toBe(0);
    await posted(ID);
    expect([read, looked]).toEqual([1, ['doctor']]);
  });

  test('stops reading a request that guesses thousands of secrets', async () => {
    const guessed = Array.from({ length: 7_000 }, (_, index) => ({
      secret: `guess-${index}`,
      event: 'changed' as const,
    }));
    events = [...guessed, { secret: 'the-secret', event: 'changed' }];
    await posted(ID);
    expect(looked).toEqual([]);
  });
});

describe('the unsubscribe URL of a mail', () => {
  let bed: Awaited<ReturnType<typeof openEmailBed>>;
  beforeEach(async () => {
    bed = await openEmailBed();
  });
  afterEach(() => bed.close());
  const CLICK = 'List-Unsubscribe=One-Click';
  const click = (query: string) =>
    openChannel(bed, { callbackUrl: 'https://clinic.example/x' }).takeCallback?.({
      method: 'POST',
      query,
      headers: {},
      body: CLICK,
    });

  test('opens with the secret in the mail, and not with the reminder’s id, which logs and headers contain', () => {
    const { id } = reminderOf();
    const { id: other } = reminderOf();
    const proof = unsubscribeProof(id);
    expect(click(`?reminder=${id}&proof=${proof}`)).toMatchObject({ status: 204, events: [{ kind: 'opted-out' }] });
    for (const query of [
      `?reminder=${id}`,
      `?reminder=${id}&proof=`,
      `?reminder=${id}&proof=${id}`,
      `?reminder=${id}&proof=${unsubscribeProof(other)}`,
      `?reminder=${other}&proof=${proof}`,
      `?reminder=${id}&proof=${proof}A`,
      `?reminder=${id}&proof=${'A'.repeat(22)}`,
    ]) {
      expect(click(query)).toEqual(FORBIDDEN);
    }
  });
});
