import fastify from 'fastify';
import { z } from 'zod';
import { fromCursor } from '../../../src/connectors/cursor.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { email } from '../../../src/features/reminders/channels/email/index.ts';
import { readCallback, signatureOf } from '../../../src/features/reminders/channels/sms/index.ts';
import { cursorOf, readCursor } from '../../../src/operator/control/paging.ts';
import { languageOf } from '../../../src/operator/http-server/browser-request.ts';
import { callerOf } from '../../../src/operator/http-server/caller.ts';
import { LOGIN_CALLBACK_PATH } from '../../../src/operator/http-server/login-page.ts';
import { addLogins } from '../../../src/operator/http-server/logins.ts';
import { Secret } from '../../../src/settings/secret-reference.ts';
import type { Parser } from '../parser.ts';
import { JSON_PAIRS, JSON_WORDS } from './answers.ts';

const ADDRESS = 'https://clinic.example/reminders/a/sms';
const ACCOUNT = `AC${'0'.repeat(32)}`;
/** Header content that Node accepts (llhttp; 16 KiB for all headers together). */
const headerOf = (input: Buffer) =>
  input
    .subarray(0, 16_384)
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, ' ');

const sms: Parser = {
  name: 'sms-callbacks',
  seeds: [
    `AccountSid=${ACCOUNT}&MessageSid=SM1&MessageStatus=delivered`,
    `AccountSid=${ACCOUNT}&MessageSid=SM1&MessageStatus=failed&ErrorCode=21610&To=%2B393331234567`,
    `AccountSid=${ACCOUNT}&From=%2B393331234567&Body=Stop&OptOutType=STOP`,
  ],
  words: ['&', '=', '%', '%zz', '+', 'Body=', 'From=%2B39', 'ErrorCode=', '%F0%9F%98%80'],
  pairs: [],
  read(input) {
    const body = input.subarray(0, 65_536).toString();
    const authToken = new Secret('the-token');
    const signature = signatureOf('the-token', ADDRESS, new URLSearchParams(body));
    for (const given of [signature, headerOf(input)]) {
      const headers = { 'x-twilio-signature': given };
      readCallback({ method: 'POST', query: '', headers, body }, { authToken, accountSid: ACCOUNT }, ADDRESS);
    }
  },
};

const mail: Parser = {
  name: 'mail-callbacks',
  seeds: [
    'List-Unsubscribe=One-Click',
    '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--',
  ],
  words: ['List-Unsubscribe', '=', 'One-Click', '"', '\r\n', '&'],
  pairs: [],
  read(input) {
    const context = { callbackUrl: ADDRESS, unsubscribeProof: () => 'proof', clock: () => 0, settings: {} };
    const channel = email.open(context as never);
    const body = input.subarray(0, 65_536).toString();
    const query = `?reminder=${'a'.repeat(32)}&proof=proof`;
    for (const asked of [query, `?${headerOf(input)}`]) {
      channel.takeCallback?.({ method: 'POST', query: asked, headers: {}, body });
    }
  },
};

/** The sign-in pages, which read cookies and URLs. */
async function openLogins() {
  const app = fastify({ logger: false, bodyLimit: 1_024 });
  const ended = { outcome: 'expired', language: 'en' } as const;
  const verbs = { describeLogin: async () => null, beginLogin: async () => ended, completeLogin: async () => ended };
  await app.register((scope, _options, done) => {
    addLogins(scope, verbs, { publicUrl: () => 'https://a.example', log: silentLogger });
    done();
  });
  return app;
}
let logins: ReturnType<typeof openLogins> | null = null;

const browsers: Parser = {
  name: 'cookies',
  seeds: [
    '__Host-login-47DEQpj8HBSa-_TImW-5JC=key; other="a b"',
    'state=a&code=b',
    'it-IT,en;q=0.8',
    '203.0.113.7, [2001:db8::1]:80',
  ],
  words: ['; ', '=', '"', '__Host-login-', '%', '%00', ',', '::', '[', '::ffff:1.2.3.4', 'state='],
  pairs: [
    ['"', '"'],
    ['[', ']'],
  ],
  async read(input) {
    const value = headerOf(input);
    languageOf(value, 'en');
    callerOf({ socket: { remoteAddress: '127.0.0.1' }, headers: { 'x-forwarded-for': value } } as never, () => true);
    logins ??= openLogins();
    const app = await logins;
    const url = `${LOGIN_CALLBACK_PATH}?${encodeURI(value.slice(0, 4_096).toWellFormed()).replaceAll('#', '')}`;
    const answer = await app.inject({ url, headers: { cookie: value, 'accept-language': value } });
    if (answer.statusCode >= 500) throw new Error(`a page answered ${answer.statusCode}`);
  },
};

/** Cursors from callers of the API and from vendors, unchanged and forged. */
const cursors: Parser = {
  name: 'cursors',
  seeds: ['"tenant-1"', '["a",12]', JSON.stringify({ container: 'x', position: { token: 'a' } }), cursorOf('tenant-1')],
  words: [...JSON_WORDS, '"container"', '"position"', '='],
  pairs: JSON_PAIRS,
  read(input) {
    const made = input.subarray(0, 65_536).toString('base64url');
    for (const cursor of [made, headerOf(input)]) {
      fromCursor('calendar', cursor, z.object({ token: z.string() }));
      readCursor(cursor, (place) => (typeof place === 'string' ? place : null));
    }
  },
};

export const CALLERS: readonly Parser[] = [sms, mail, browsers, cursors];
