import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { MirrorError } from '../../src/core/model/errors.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import type { LoginTarget } from '../../src/oauth/login.ts';
import { loginOnLoopback } from '../../src/oauth/loopback-login.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER, openWorker, RING, SCOPES } from './connection.ts';
import { startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();

async function open() {
  const server = await startTokenServer();
  const worker = openWorker({ redis: redis.connect(), issuer: server.url });
  const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
  const target: LoginTarget = { context: worker.place, server: worker.server, scopes: SCOPES, clock: Date.now };
  server.onToken = () => ({ body: { ...tokensNamed(0), expires_in: 3_600 } });
  return { logins, target };
}

describe('a sign-in on this host', () => {
  test('the loopback receiver takes the answer, shows a sentence without secrets, and is gone afterwards', async () => {
    const { target, logins } = await open();
    const pages: string[] = [];
    let redirectUri = '';
    const result = await loginOnLoopback(
      target,
      { pending: logins },
      (url) => {
        redirectUri = url.searchParams.get('redirect_uri') ?? '';
        const state = url.searchParams.get('state') ?? '';
        const visit = async () => {
          const { port, hostname } = new URL(redirectUri);
          expect(hostname).toBe('127.0.0.1');
          expect((await fetch(`http://127.0.0.1:${port}/favicon.ico`)).status).toBe(404);
          expect((await fetch(`${redirectUri}?code=code-canary&state=wrong`)).status).toBe(400);
          expect(await statusWithHost(`${redirectUri}?code=code-canary&state=${state}`, 'evil.example.org')).toBe(404);
          const answer = await fetch(`${redirectUri}?code=code-canary&state=${state}`);
          pages.push(`${answer.status} ${await answer.text()}`);
        };
        void visit();
      },
      NEVER,
    );
    expect(result).toMatchObject({ connection: 'clinic', missingScopes: [] });
    await expect.poll(() => pages).toEqual(['200 The sign-in is complete. You can close this window.\n']);
    await expect(fetch(redirectUri)).rejects.toThrow();
  });

  test('a refused sign-in is shown in the browser with the next step, and thrown to the caller', async () => {
    const { target, logins } = await open();
    let page = '';
    const login = loginOnLoopback(
      target,
      { pending: logins },
      (url) => {
        const callback = `${url.searchParams.get('redirect_uri')}?error=access_denied&state=${url.searchParams.get('state')}`;
        void fetch(callback).then(async (answer) => (page = `${answer.status} ${await answer.text()}`));
      },
      NEVER,
    );
    await expect(login).rejects.toMatchObject({ code: 'login-refused' });
    await expect
      .poll(() => page)
      .toBe(
        '400 Not connected: the user or the vendor denied the access. To do: connect again and allow the requested access.\n',
      );
  });

  test('returns to the registered port, and names the port when another process holds it', async () => {
    const { target, logins } = await open();
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const login = (show: (url: URL) => void, signal: AbortSignal) =>
      loginOnLoopback(target, { pending: logins, loopbackPort: port }, show, signal);
    await expect(login(() => {}, NEVER)).rejects.toMatchObject({
      ...{ actor: 'settings', code: 'login-port-unavailable' },
      message: expect.stringContaining(String(port)),
    });
    holder.close();
    await once(holder, 'close');
    const patience = new AbortController();
    let redirectUri = '';
    const show = (url: URL) => {
      redirectUri = url.searchParams.get('redirect_uri') ?? '';
      patience.abort();
    };
    await expect(login(show, patience.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(redirectUri).toBe(`http://127.0.0.1:${port}/callback`);
  });

  test('giving up ends the waiting', async () => {
    const { target, logins } = await open();
    const patience = new AbortController();
    const login = loginOnLoopback(target, { pending: logins }, () => patience.abort(), patience.signal);
    await expect(login).rejects.toMatchObject({ code: 'aborted' } satisfies Partial<MirrorError>);
  });
});

function statusWithHost(address: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(address, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject).end();
  });
}
