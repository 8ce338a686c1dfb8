import { describe, expect, onTestFinished, test } from 'vitest';
import { type HubSpotSandbox, startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { startRestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import {
  type SalesforceSandbox,
  type SalesforceSandboxOptions,
  startSalesforceSandbox,
} from '../../sandbox/salesforce/index.ts';
import type { Authorizer } from '../../src/connectors/connector.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { OpenConnection } from '../../src/daemon/open-connection.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { createLoginLinks, createLoginStore } from '../../src/operator/control/login-stores.ts';
import {
  beginRemoteLogin,
  type LoginServices,
  loginWithBrowser,
  loginWithDevice,
  logOut,
} from '../../src/operator/control/logins.ts';
import { NEVER, RING } from '../oauth/connection.ts';
import { startTokenServer, tokensNamed } from '../oauth/token-server.ts';
import { ENV, load, writeConnections } from '../settings/configuration-directory.ts';
import { useRedis } from '../support/redis.ts';
import { openTenantConnections } from './tenant-connections.ts';

const redis = useRedis();
const USER = 'integration@clinic.example';
const DAY_MS = 86_400_000;

/** Opens a tenant's connections, from its files as the daemon does, and the desk that makes connections. */
function openTenant(files: { settings: string; connections: string; env?: Record<string, string> }) {
  const dir = writeConnections({ clients: files.settings, connections: files.connections });
  const configuration = load(dir, { env: { ...ENV, ...files.env } });
  const time = { now: Date.now() };
  const budgets = new Set<string>();
  const { connections } = openTenantConnections(configuration, redis.connect(), {
    budget: (client) => ({
      take: async () => void budgets.add(client),
      expect: () => {},
      refused: async () => {},
      accepted: async () => {},
      pause: async () => null,
    }),
    clock: () => time.now,
  });
  const told: string[] = [];
  const desk: LoginServices = {
    target: (_tenant, id) => connections.get(id)!.tokens!.login,
    isUsed: () => true,
    pending: createLoginStore<PendingLogin>(redis.connect(), RING),
    links: createLoginLinks(redis.connect(), RING, Date.now),
    about: () => ({ clinic: 'Studio Rossi', language: 'it', targets: [] }),
    clock: () => time.now,
    log: silentLogger,
    remote: {
      callbackUrl: 'https://mirror.example/oauth/callback',
      linkUrl: 'https://mirror.example/oauth/login',
    },
    loopbackPort: 0,
    beforeLogout: (_tenant, _id, work) => work(),
    onLogin: async (_tenant, id) => void told.push(id),
  };
  const login = (id: string, authorize: (url: string) => Promise<string>) =>
    loginWithBrowser(
      desk,
      { tenant: 'uno', connection: id },
      (url) => void authorize(url).then((back) => fetch(back)),
      NEVER,
    );
  return { connections, connection: (id: string) => connections.get(id)!, desk, login, told, time, budgets };
}

async function openHubSpot() {
  const sandbox = await startHubSpotSandbox();
  onTestFinished(() => sandbox.close());
  const { clientId, clientSecret } = sandbox.application;
  const tenant = openTenant({
    settings:
      `hubspotClients:\n  main: { clientId: ${clientId}, clientSecret: { env: CRM_SECRET }, ` +
      `authorizeUrl: "${sandbox.authorizeUrl}", tokenUrl: "${sandbox.tokenUrl}" }\n`,
    connections:
      '  crm: { kind: hubspot, client: main }\n  private: { kind: bearer, token: { env: TENANT_UNO__TOKEN } }',
    env: { CRM_SECRET: clientSecret, TENANT_UNO__TOKEN: sandbox.issuePrivateToken() },
  });
  return { sandbox, ...tenant };
}

async function openSalesforce(options: SalesforceSandboxOptions = {}, settings = '') {
  const application = { clientSecret: 'sandbox-secret', runAs: USER, approvedUsers: [USER] };
  const sandbox = await startSalesforceSandbox({ applications: [application], ...options });
  onTestFinished(() => sandbox.close());
  const { certificate, privateKey } = sandbox.createCertificate();
  sandbox.application.certificates.push(certificate);
  const tenant = openTenant({
    settings:
      `salesforceClients:\n  main: { loginUrl: "${sandbox.loginUrl}", clientId: sandbox-client, ` +
      `clientSecret: { env: CRM_SECRET }, certificate: { env: CRM_PEM } }\n${settings}`,
    connections: `  crm: { kind: salesforce, client: main }
  certified: { kind: salesforce-app, client: main, subject: ${USER} }
  secret: { kind: salesforce-app, client: main }`,
    env: { CRM_SECRET: 'sandbox-secret', CRM_PEM: `${privateKey}${certificate}` },
  });
  return { sandbox, ...tenant };
}

async function readsHubSpot(sandbox: HubSpotSandbox, authorizer: Authorizer): Promise<number> {
  const headers = { [authorizer.headerName ?? 'authorization']: await authorizer.header(NEVER) };
  return (await fetch(`${sandbox.apiUrl}/crm/v3/objects/contacts`, { headers })).status;
}

async function readsSalesforce(sandbox: SalesforceSandbox, authorizer: Authorizer): Promise<number> {
  const headers = { authorization: await authorizer.header(NEVER) };
  const url = `${authorizer.baseUrl?.()}/services/data/${sandbox.apiVersion}/sobjects/Contact/describe`;
  return (await fetch(url, { headers })).status;
}

const authorizerOf = (connection: OpenConnection): Authorizer => connection.authorizer('patients');

describe('connections to HubSpot', () => {
  test('of a user are made at the desk, work, use the budget of their client, and HubSpot revokes them', async () => {
    const { sandbox, connection, desk, login, told, budgets } = await openHubSpot();
    expect(connection('crm')).toMatchObject({ kind: 'hubspot', scopes: ['oauth'] });
    await login('crm', (url) => sandbox.authorizeInBrowser(url, { account: 'admin@clinic.example' }));
    expect(told).toEqual(['crm']);
    expect([...budgets]).toEqual([`hubspot-${sandbox.application.clientId}`]);
    expect(await authorizerOf(connection('crm')).header(NEVER)).toMatch(/^Bearer /);
    expect(await logOut(desk, 'uno', 'crm', NEVER)).toBe('revoked');
    await expect(authorizerOf(connection('crm')).header(NEVER)).rejects.toMatchObject({ code: 'not-connected' });
  });

  test('with the token of a private app need no sign-in', async () => {
    const { sandbox, connection } = await openHubSpot();
    expect(connection('private')).toMatchObject({ kind: 'bearer', scopes: [], tokens: null, budget: null });
    expect(await readsHubSpot(sandbox, authorizerOf(connection('private')))).toBe(200);
  });

  test('by link start at the browser port, and are refused without one', async () => {
    const { desk } = await openHubSpot();
    const { url } = await beginRemoteLogin(desk, { tenant: 'uno', connection: 'crm' }, 'anna', null);
    expect(url).toMatch(/^https:\/\/mirror\.example\/oauth\/login\/[\w-]{20,}$/);
    await expect(
      beginRemoteLogin({ ...desk, remote: null }, { tenant: 'uno', connection: 'crm' }, 'anna', null),
    ).rejects.toMatchObject({
      ...{ actor: 'settings', code: 'no-public-port' },
      remedy: expect.stringContaining('http.port'),
    });
  });

  test('by device code are not offered', async () => {
    const { desk } = await openHubSpot();
    await expect(loginWithDevice(desk, { tenant: 'uno', connection: 'crm' }, () => {}, NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'endpoint-unknown',
    });
  });
});

describe('connections to Salesforce', () => {
  test('of a user request the API and a refresh token, and know their instance URL', async () => {
    const { sandbox, connection, desk, login } = await openSalesforce();
    expect(connection('crm').scopes).toEqual(['api', 'refresh_token']);
    await login('crm', (url) => sandbox.authorizeInBrowser(url, { account: USER }));
    expect(await readsSalesforce(sandbox, authorizerOf(connection('crm')))).toBe(200);
    expect(await logOut(desk, 'uno', 'crm', NEVER)).toBe('revoked');
    expect(sandbox.liveGrants(USER)).toBe(0);
  });

  test.each(['certified', 'secret'])('of the application work at once: %s', async (id) => {
    const { sandbox, connection, budgets } = await openSalesforce();
    expect(connection(id)).toMatchObject({ kind: 'salesforce-app', scopes: [], tokens: null });
    expect(await readsSalesforce(sandbox, authorizerOf(connection(id)))).toBe(200);
    expect([...budgets]).toEqual(['salesforce-sandbox-client']);
    expect(connection(id).authorizer('one'), 'targets of one connection share an authorizer').toBe(
      connection(id).authorizer('two'),
    );
  });

  test('without use are refreshed well within 30 days, with any settings', async () => {
    const monthly = 'tokens: { keepAliveAfterHours: 720 }\n';
    const { sandbox, connection, login, time } = await openSalesforce({}, monthly);
    await login('crm', (url) => sandbox.authorizeInBrowser(url, { account: USER }));
    const upkeep = connection('crm').tokens?.authorizer;
    time.now += 13 * DAY_MS;
    expect(await upkeep?.refreshIfDue(NEVER)).toBe(false);
    time.now += DAY_MS;
    expect(await upkeep?.refreshIfDue(NEVER)).toBe(true);
  });
});

describe('connections to a configured server', () => {
  test('of a user request the scopes of the settings, by browser or by device code', async () => {
    const server = await startTokenServer();
    server.onToken = () => ({ body: { ...tokensNamed(1), expires_in: 600 } });
    server.onDevice = () => ({
      body: {
        device_code: 'd-1',
        user_code: 'ABCD',
        verification_uri: `${server.url}/device`,
        expires_in: 60,
        interval: 0.01,
      },
    });
    const { connection, desk, login } = openTenant({
      settings: `oauthClients:
  main:
    authorizationEndpoint: ${server.url}/authorize
    tokenEndpoint: ${server.url}/token
    deviceEndpoint: ${server.url}/device
    scopes: [crm.write, offline_access]
    clientId: c
`,
      connections: '  crm: { kind: oauth, client: main }',
    });
    const answered = async (url: string) => {
      const asked = new URL(url).searchParams;
      expect(asked.get('scope')).toBe('crm.write offline_access');
      return `${asked.get('redirect_uri')}?code=1&state=${asked.get('state')}`;
    };
    expect(await login('crm', answered)).toMatchObject({ missingScopes: [] });
    expect(await authorizerOf(connection('crm')).header(NEVER)).toBe('Bearer access-1');
    expect(authorizerOf(connection('crm')).baseUrl).toBeUndefined();
    expect(await loginWithDevice(desk, { tenant: 'uno', connection: 'crm' }, () => {}, NEVER)).toMatchObject({
      missingScopes: [],
    });
  });
});

describe('static connections', () => {
  test('reach a CRM that requires its key in a custom header', async () => {
    const sandbox = await startRestCrmSandbox({ dialect: 'espocrm' });
    onTestFinished(() => sandbox.close());
    const { connection } = openTenant({
      settings: '',
      connections: `  right: { kind: api-key, header: X-API-KEY, key: { env: TENANT_UNO__KEY } }
  wrong: { kind: bearer, token: { env: TENANT_UNO__KEY } }`,
      env: { TENANT_UNO__KEY: sandbox.token },
    });
    const reads = async (authorizer: Authorizer) => {
      const headers = { [authorizer.headerName ?? 'authorization']: await authorizer.header(NEVER) };
      return (await fetch(`${sandbox.apiUrl}/Contact`, { headers })).status;
    };
    expect(await reads(authorizerOf(connection('right')))).toBe(200);
    expect(await reads(authorizerOf(connection('wrong')))).toBe(401);
  });

  test('are a key in a custom header, or a name and a password', async () => {
    const { connection } = openTenant({
      settings: '',
      connections: `  key: { kind: api-key, header: X-Api-Key, key: { env: TENANT_UNO__KEY } }
  name: { kind: basic, username: u, password: { env: TENANT_UNO__KEY } }`,
      env: { TENANT_UNO__KEY: 'k-1' },
    });
    const key = authorizerOf(connection('key'));
    expect([key.headerName, await key.header(NEVER)]).toEqual(['x-api-key', 'k-1']);
    expect(await authorizerOf(connection('name')).header(NEVER)).toBe(`Basic ${btoa('u:k-1')}`);
    expect(connection('key')).toMatchObject({ kind: 'api-key', tokens: null });
  });
});
