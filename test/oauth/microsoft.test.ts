import { describe, expect, onTestFinished, test } from 'vitest';
import { type GraphSandboxOptions, startGraphSandbox } from '../../sandbox/graph/index.ts';
import { createHttpDoor } from '../../src/http/door.ts';
import type { LoginTarget } from '../../src/oauth/login.ts';
import { loginOnLoopback } from '../../src/oauth/loopback-login.ts';
import { microsoftProvider } from '../../src/oauth/providers.ts';
import { missingScopes } from '../../src/oauth/scopes.ts';
import { createAuthorizationServer } from '../../src/oauth/server.ts';
import type { PendingLogin } from '../../src/oauth/store.ts';
import { createLoginStore } from '../../src/state/logins.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER, openWorker, RING } from './connection.ts';

const redis = useRedis();

const AUTHORITY = 'https://login.microsoftonline.com';

function providerOf(changes: { authority?: string; directory?: string } = {}) {
  return microsoftProvider({
    authority: AUTHORITY,
    directory: 'organizations',
    clientId: 'app-1',
    clientSecret: null,
    ...changes,
  });
}

describe("Microsoft's provider", () => {
  test('has the endpoints of its directory, and needs no discovery', async () => {
    const provider = providerOf({ directory: 'clinic.example' });
    const http = createHttpDoor({ userAgent: 'test', clock: Date.now });
    const server = createAuthorizationServer({ provider, http, clock: Date.now });
    const url = await server.authorizationUrl({ scope: 'offline_access', state: 's' });
    expect(`${url.origin}${url.pathname}`).toBe(`${AUTHORITY}/clinic.example/oauth2/v2.0/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ client_id: 'app-1', prompt: 'select_account' });
    expect(provider).toMatchObject({
      issuer: `${AUTHORITY}/clinic.example/v2.0`,
      endpoints: { token: `${AUTHORITY}/clinic.example/oauth2/v2.0/token`, revocation: null },
      deviceEndpoint: `${AUTHORITY}/clinic.example/oauth2/v2.0/devicecode`,
    });
  });

  test('is refused when secrets would go over plain http', () => {
    expect(() => providerOf({ authority: 'http://login.example' })).toThrow(
      expect.objectContaining({ code: 'insecure-address' }),
    );
  });
});

describe('permissions of Graph', () => {
  const needed = ['https://graph.microsoft.com/Calendars.ReadWrite', 'offline_access'];

  test.each([
    ['with their address', ['https://graph.microsoft.com/Calendars.ReadWrite']],
    ['without it', ['openid', 'profile', 'Calendars.ReadWrite']],
    ['in lower case', ['https://graph.microsoft.com/calendars.readwrite']],
  ])('are held when they are granted %s', (_how, granted) => {
    expect(missingScopes(needed, granted)).toEqual([]);
  });

  test('are missing when others are granted', () => {
    expect(missingScopes(needed, ['Calendars.Read', 'Calendars.ReadWrite.Shared'])).toEqual([needed[0]]);
    expect(missingScopes(['Svc.Agenda'], ['svc.agenda']), 'elsewhere letters count').toEqual(['Svc.Agenda']);
  });
});

describe('against the login of the Graph sandbox', () => {
  const account = 'doctor@clinic.example';
  const scopes = ['https://graph.microsoft.com/Calendars.ReadWrite', 'offline_access'];

  async function openGraph(options: GraphSandboxOptions = {}) {
    const sandbox = await startGraphSandbox(options);
    onTestFinished(() => sandbox.close());
    sandbox.addMailbox(account);
    const { clientId, clientSecret } = sandbox.application;
    const provider = microsoftProvider({
      authority: sandbox.url,
      directory: sandbox.tenantId,
      clientId,
      clientSecret: clientSecret ?? null,
    });
    const worker = openWorker({ redis: redis.connect(), issuer: provider.issuer, provider, scopes });
    const target: LoginTarget = { place: worker.place, server: worker.server, scopes, clock: Date.now };
    const visit = async (url: URL) => void (await fetch(await sandbox.authorizeInBrowser(url.href, { account })));
    const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
    const login = () => loginOnLoopback(target, logins, (url) => void visit(url), NEVER);
    const reads = async (authorization: string) =>
      (await fetch(`${sandbox.graphUrl}/v1.0/me/calendar`, { headers: { authorization } })).status;
    return { sandbox, worker, login, reads };
  }

  test.each<[string, GraphSandboxOptions]>([
    ['a registration with a secret', {}],
    ['a registration without one', { applications: [{ clientId: 'public-client' }] }],
  ])('a person logs in by %s, and the token is renewed with the newest refresh token', async (_what, options) => {
    const { worker, login, reads } = await openGraph(options);
    expect(await login()).toMatchObject({ missingScopes: [] });
    expect(await reads(await worker.authorizer.header(NEVER))).toBe(200);
    const before = await worker.credentials.read('clinic');
    await worker.refresher.refresh(before?.version ?? 0);
    const after = await worker.credentials.read('clinic');
    expect(after?.tokens?.refreshToken).toBeTruthy();
    expect(after?.tokens?.refreshToken).not.toBe(before?.tokens?.refreshToken);
    expect(await reads(await worker.authorizer.header(NEVER))).toBe(200);
  });

  test('a login that the organisation ended asks for a person', async () => {
    const { sandbox, worker, login } = await openGraph();
    await login();
    sandbox.requireInteraction(account);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'authorization', retry: 'never' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login' });
  });
});
