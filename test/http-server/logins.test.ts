import { describe, expect, onTestFinished, test } from 'vitest';
import { loginLinkPage } from '../../src/http-server/login-page.ts';
import { createPublicServer } from '../../src/http-server/public-server.ts';
import type { BegunLogin, PublicVerbs } from '../../src/http-server/verbs.ts';
import { createLogger } from '../../src/log/create-logger.ts';

const BEGUN: BegunLogin = {
  url: new URL('https://login.test/authorize?state=canary-state&x="><b>'),
  browserKey: 'canary-key',
  language: 'it',
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

describe('the link of a login', () => {
  test('shows a button and uses nothing up, however often it is looked at', async () => {
    const { app, begun, lines } = await open('https://mirror.test');
    for (const language of ['it-IT,it;q=0.9', 'en', '']) {
      const { statusCode, body, headers } = await app.inject({
        url: '/oauth/login/canary-ticket',
        headers: { 'accept-language': language },
      });
      expect([statusCode, body]).toEqual([200, loginLinkPage(language)]);
      expect(body).toContain(language.startsWith('it') ? '<html lang="it">' : '<html lang="en">');
      expect(headers['content-security-policy']).toContain("form-action 'self'");
      expect(headers['set-cookie']).toBeUndefined();
      expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'cache-control': 'no-store' });
    }
    expect(begun).toEqual([]);
    expect(lines.join('')).not.toContain('canary');
  });

  test('begins a login in the browser that presses the button, and binds it by a cookie', async () => {
    const { press, begun, lines } = await open('https://mirror.test/clinic');
    const { statusCode, body, headers } = await press();
    expect([statusCode, begun]).toEqual([200, ['canary-ticket']]);
    expect(body).toContain('content="0;url=https://login.test/authorize?state=canary-state&amp;x=%22%3E%3Cb%3E"');
    expect(String(headers['set-cookie'])).toMatch(
      /^__Host-login-[\w-]{22}=canary-key; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(lines.join('')).not.toContain('canary');
  });

  test('works by plain http on this machine, where a cookie can not be Secure', async () => {
    const { press } = await open('http://localhost:8080');
    expect(String((await press()).headers['set-cookie'])).toMatch(
      /^login-[\w-]{22}=canary-key; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    );
  });

  test('that is used up says so, and gives no cookie', async () => {
    const { press } = await open('https://mirror.test', {
      beginLogin: async () => ({ outcome: 'expired', language: 'en' }),
    });
    const { statusCode, headers } = await press();
    expect([statusCode, headers['set-cookie']]).toEqual([400, undefined]);
  });
});

describe('the way back', () => {
  test('hands on what the browser keeps for this login, and takes it away', async () => {
    const { app, press, ended } = await open('https://mirror.test');
    const kept = String((await press()).headers['set-cookie']).split(';')[0];
    const { headers } = await app.inject({
      url: '/oauth/callback?code=c&state=canary-state',
      headers: { cookie: `other=1; ${kept}; login-x=2` },
    });
    expect(ended.map(({ browserKey }) => browserKey)).toEqual(['canary-key']);
    expect(String(headers['set-cookie'])).toMatch(/^__Host-login-[\w-]{22}=; Path=\/; Max-Age=0;/);
  });

  test('hands on nothing of another login, and of a browser without a cookie', async () => {
    const { app, press, ended } = await open('https://mirror.test');
    const kept = String((await press()).headers['set-cookie']).split(';')[0] ?? '';
    await app.inject({ url: '/oauth/callback?code=c&state=another', headers: { cookie: kept } });
    await app.inject({ url: '/oauth/callback?code=c&state=canary-state' });
    // A cookie that plain http or another host could have set.
    await app.inject({
      url: '/oauth/callback?code=c&state=canary-state',
      headers: { cookie: kept.replace('__Host-', '') },
    });
    expect(ended.map(({ browserKey }) => browserKey)).toEqual(['', '', '']);
  });
});
