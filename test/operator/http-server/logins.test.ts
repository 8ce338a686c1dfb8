import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/log/create-logger.ts';
import type { LoginLinkDescription } from '../../../src/operator/control/logins.ts';
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

describe('the callback of a sign-in', () => {
  test('passes on the cookie of this sign-in, and deletes it', async () => {
    const { app, press, ended } = await open('https://mirror.test');
    const kept = String((await press()).headers['set-cookie']).split(';')[0];
    const { headers } = await app.inject({
      url: '/oauth/callback?code=c&state=canary-state',
      headers: { cookie: `other=1; ${kept}; login-x=2` },
    });
    expect(ended.map(({ browserKey }) => browserKey)).toEqual(['canary-key']);
    expect(String(headers['set-cookie'])).toMatch(/^__Host-login-[\w-]{22}=; Path=\/; Max-Age=0;/);
  });

  test('passes on no cookie of another sign-in, and nothing for a browser without a cookie', async () => {
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
