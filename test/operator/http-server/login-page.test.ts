import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/log/create-logger.ts';
import type { LoginLinkDescription } from '../../../src/operator/control/logins.ts';
import { loginLinkPage, loginPage } from '../../../src/operator/http-server/login-page.ts';
import { createPublicServer } from '../../../src/operator/http-server/public-server.ts';
import type { BegunLogin, PublicVerbs } from '../../../src/operator/http-server/verbs.ts';

const BEGUN: BegunLogin = {
  url: new URL('https://login.test/authorize?state=canary-state&x="><b>'),
  browserKey: 'canary-key',
  language: 'it',
};

const ABOUT: LoginLinkDescription = {
  ...{ clinic: 'Studio <Aurora>', language: 'it', tenant: 'aurora', connection: 'doctor-2', vendor: 'google' },
  ...{ targets: [{ connector: 'google-calendar', holds: 'events' }], expected: '@aurora.example', endsAt: 0 },
  scopes: ['https://www.googleapis.com/auth/calendar.app.created'],
};

async function open(publicUrl: string, verbs: Partial<PublicVerbs> = {}) {
  const lines: string[] = [];
  const begun: string[] = [];
  const ended: { url: string; browserKey: string }[] = [];
  const all: PublicVerbs = {
    takeNotification: async () => null,
    takeReminderCallback: async () => 204,
    showFeed: async () => ({ status: 404 as const }),
    showAnswer: async () => ({ says: 'unknown', about: null, form: null }),
    takeAnswer: async () => ({ says: 'unknown', about: null, form: null }),
    describeLogin: async () => ABOUT,
    async beginLogin(ticket) {
      begun.push(ticket);
      return BEGUN;
    },
    async completeLogin(callback) {
      ended.push(callback);
      return { outcome: 'connected', language: 'en' };
    },
    ...verbs,
  };
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
  const app = await createPublicServer(all, { publicUrl: () => publicUrl, log });
  onTestFinished(() => app.close());
  const press = () => app.inject({ method: 'POST', url: '/oauth/login/canary-ticket' });
  return { app, lines, begun, ended, press };
}

describe('a login link', () => {
  test('shows a button and is not consumed, however often it is opened', async () => {
    const { app, begun, lines } = await open('https://mirror.test');
    for (const language of ['it-IT,it;q=0.9', 'en', '']) {
      const { statusCode, body, headers } = await app.inject({
        url: '/oauth/login/canary-ticket',
        headers: { 'accept-language': language },
      });
      expect([statusCode, body]).toEqual([200, loginLinkPage(ABOUT, language)]);
      // If the product lacks the browser's language, the language of the clinic applies.
      expect(body).toContain(language === 'en' ? '<html lang="en">' : '<html lang="it">');
      expect(headers['content-security-policy']).toContain("form-action 'self'");
      expect(headers['set-cookie']).toBeUndefined();
      expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
    }
    expect(begun).toEqual([]);
    expect(lines.join('')).not.toContain('canary');
  });

  test('shows the requester, the permitted and excluded actions, and the expected account; a clinic’s name is text', () => {
    const page = loginLinkPage(ABOUT, 'en');
    expect(page).toContain('<h1>Connect your account to Studio &lt;Aurora&gt;</h1>');
    expect(page).toContain('<dd>…@aurora.example</dd>');
    expect(page).toContain('<button>Continue with Google</button>');
    expect(page).toContain('the permission does not reach them');
  });

  test.each([
    [
      'a wide permission',
      { scopes: ['https://www.googleapis.com/auth/calendar.events'] },
      'the permission includes them',
    ],
    ['another vendor', { vendor: 'microsoft', scopes: ['Calendars.ReadWrite'] }, 'the permission includes them'],
    ['a CRM', { vendor: 'hubspot', targets: [{ connector: 'hubspot', holds: 'objects' }] }, 'Keep contacts'],
    ['the clinic', { vendor: 'clinic', targets: [] }, 'with your permissions'],
  ] as const)('never promises more than is true of %s', (_, changes, told) => {
    const page = loginLinkPage({ ...ABOUT, ...changes }, 'en');
    expect(page).toContain(told);
    expect(page).not.toContain('the permission does not reach them');
  });

  test('that is invalid shows an error, in the browser’s language', async () => {
    const { app } = await open('https://mirror.test', { describeLogin: async () => null });
    const { statusCode, body } = await app.inject({ url: '/oauth/login/x', headers: { 'accept-language': 'it' } });
    expect([statusCode, body]).toEqual([400, loginPage({ outcome: 'expired', language: 'it' })]);
  });

  test('begins the sign-in in the browser that presses the button, and binds it by a cookie', async () => {
    const { press, begun, lines } = await open('https://mirror.test/clinic');
    const { statusCode, body, headers } = await press();
    expect([statusCode, begun]).toEqual([200, ['canary-ticket']]);
    expect(body).toContain('content="0;url=https://login.test/authorize?state=canary-state&amp;x=%22%3E%3Cb%3E"');
    expect(String(headers['set-cookie'])).toMatch(
      /^__Host-login-[\w-]{22}=canary-key; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(lines.join('')).not.toContain('canary');
  });

  test('works by plain http on this host, where a cookie can not be Secure', async () => {
    const { press } = await open('http://localhost:8080');
    expect(String((await press()).headers['set-cookie'])).toMatch(
      /^login-[\w-]{22}=canary-key; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
  });

  test('that is used shows an error, and sets no cookie', async () => {
    const { press } = await open('https://mirror.test', {
      beginLogin: async () => ({ outcome: 'expired', language: 'en' }),
    });
    const { statusCode, headers } = await press();
    expect([statusCode, headers['set-cookie']]).toEqual([400, undefined]);
  });
});

test.each(['denied', 'interrupted', 'provider-failed', 'not-set-up'] as const)(
  'a sign-in that the provider aborted (%s) has a page with the next step, and status 400',
  async (outcome) => {
    for (const language of ['en', 'it'] as const) {
      const { app } = await open('https://mirror.test', { completeLogin: async () => ({ outcome, language }) });
      const { statusCode, body } = await app.inject('/oauth/callback?error=x&state=s');
      expect([statusCode, body]).toEqual([400, loginPage({ outcome, language })]);
      expect(body).not.toBe(loginPage({ outcome: 'failed', language }));
    }
  },
);
