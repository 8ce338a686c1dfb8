import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startGraphSandbox } from '../../sandbox/graph/index.ts';
import { startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { type FaultProxy, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { listenNode } from '../../sandbox/kit/listen.ts';
import { startMailSandbox } from '../../sandbox/mail/index.ts';
import { startSmsSandbox } from '../../sandbox/sms/index.ts';
import { hubspot } from '../../src/connectors/hubspot/index.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { postSigned } from '../../src/core/http/signed-webhook.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { asMirrorError, type MirrorError } from '../../src/core/model/errors.ts';
import type { CrmItem } from '../../src/core/model/items.ts';
import type { Operation } from '../../src/core/model/operations.ts';
import { clinicScopes } from '../../src/daemon/connections.ts';
import { channelModule } from '../../src/daemon/reminders.ts';
import type { Digest } from '../../src/features/alerts/digest.ts';
import { alertChannels } from '../../src/features/alerts/send.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { OPERATORS_REACH } from '../../src/settings/outbound-schema.ts';
import { changeJson, jsonAnswer } from '../contract/crm-wire.ts';
import { reminderOf } from '../features/reminders/channels/bed.ts';
import { NEVER } from '../oauth/connection.ts';
import {
  ENV,
  load,
  SETTINGS,
  TENANT,
  writeConfiguration,
  writeConnections,
} from '../settings/configuration-directory.ts';
import { containerOf } from '../support/container-of.ts';
import { paced } from '../support/pace.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { useRedis } from '../support/redis.ts';
import { openTenantConnections } from './tenant-connections.ts';

const redis = useRedis();

const MAILBOX = 'doctor@clinic.example';

const MAILBOXES = `
name: Studio Uno
language: it
zone: Europe/Rome
clinic: { client: main, tenantId: "7" }
connections:
  person: { kind: microsoft, client: clinics, directory: DIRECTORY }
  application: { kind: microsoft-app, client: clinics, directory: DIRECTORY }
targets:
  own:
    connector: outlook-calendar
    connection: person
    agendas: ["1"]
    settings: { mailbox: me, calendar: { create: Appuntamenti } }
  other:
    connector: outlook-calendar
    connection: application
    agendas: ["2"]
    settings: { mailbox: ${MAILBOX}, calendar: { id: primary } }
`;

/** Opens a tenant's connections with both kinds of Microsoft authorization, from its files as the daemon does. */
async function openTenant() {
  const sandbox = await startGraphSandbox();
  onTestFinished(() => sandbox.close());
  sandbox.addMailbox(MAILBOX);
  const { clientId, clientSecret } = sandbox.application;
  const client = `{ authority: ${sandbox.url}, clientId: ${clientId}, clientSecret: { env: GRAPH_SECRET } }`;
  const dir = writeConfiguration({
    'clinic-mirror.yaml': `${SETTINGS}microsoftClients:\n  clinics: ${client}\n`,
    'tenants/uno.yaml': MAILBOXES.replaceAll('DIRECTORY', sandbox.tenantId),
  });
  const configuration = load(dir, { connectors, env: { ...ENV, GRAPH_SECRET: clientSecret ?? '' } });
  const spent: number[] = [];
  const budget = () => ({
    take: async (_signal: AbortSignal, units = 1) => void spent.push(units),
    expect: () => {},
    refused: async () => {},
    accepted: async () => {},
    pause: async () => null,
  });
  const targetScopes = (id: string) =>
    [...configuration.tenants.get('uno')!.targets.values()]
      .filter((target) => target.connection === id)
      .flatMap((target) => connectors.get(target.connector)?.neededScopes(target.settings, 'appointments') ?? []);
  const { tenant, connections } = openTenantConnections(configuration, redis.connect(), { budget, targetScopes });
  return { sandbox, tenant, connections, spent };
}

describe('connections to Microsoft', () => {
  test('of a user wait for sign-in, and request identity, the targets’ scopes and offline access', async () => {
    const { connections, sandbox } = await openTenant();
    const person = connections.get('person');
    expect(person).toMatchObject({
      kind: 'microsoft',
      scopes: ['openid', 'profile', 'https://graph.microsoft.com/Calendars.ReadWrite', 'offline_access'],
    });
    expect(person?.tokens?.login.server.provider.issuer).toBe(sandbox.issuer);
    await expect(person?.authorizer('own').header(NEVER)).rejects.toMatchObject({ actor: 'authorization' });
  });

  test('of the application work at once, and use its budget', async () => {
    const { connections, tenant, spent } = await openTenant();
    const application = connections.get('application');
    expect(application).toMatchObject({ kind: 'microsoft-app', scopes: [], tokens: null });
    const [one, other] = [application!.authorizer('one'), application!.authorizer('other')];
    expect(one, 'targets in one mailbox share an authorizer').toBe(other);
    expect(await one.header(NEVER)).toMatch(/^Bearer /);
    expect(spent).toEqual([1]);
    expect(tenant.targets.get('other')?.settings).toMatchObject({ mailbox: MAILBOX, deleteMode: 'soft' });
  });
});

const SECRET = 'a-secret-of-this-test';

/** Opens a tenant's connections to one server, at every URL, that refuses each secret. */
async function openRefused() {
  const server = await listenNode(
    createServer((request, response) => {
      const endpoints = { authorization_endpoint: `${server.url}/a`, token_endpoint: `${server.url}/t` };
      const isMetadata = request.url?.includes('well-known');
      const body = isMetadata ? { issuer: server.url, ...endpoints } : { error: 'invalid_client' };
      response.writeHead(isMetadata ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }),
  );
  onTestFinished(() => server.close());
  const { url } = server;
  const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const account = JSON.stringify({ client_email: 'a@b.example', private_key: key, token_uri: `${url}/t` });
  const secret = (name: string) => `clientId: c, clientSecret: { file: keys/${name} }`;
  const clients = ['clinic', 'google', 'microsoft', 'hubspot', 'salesforce', 'oauth'];
  const dir = writeConnections({
    settings: SETTINGS.replace('https://login.clinic.test', url)
      .replace('clientSecret: { env: CLIENT_SECRET }', 'clientSecret: { file: keys/clinic }')
      .replace(
        '  main: { clientId: g, clientSecret: { env: CLIENT_SECRET } }',
        `  main: { ${secret('google')}, issuer: "${url}" }`,
      ),
    clients: `
microsoftClients: { main: { ${secret('microsoft')}, authority: "${url}" } }
hubspotClients: { main: { ${secret('hubspot')}, authorizeUrl: "${url}/a", tokenUrl: "${url}/t" } }
salesforceClients: { main: { ${secret('salesforce')}, loginUrl: "${url}" } }
oauthClients: { main: { ${secret('oauth')}, authorizationEndpoint: "${url}/a", tokenEndpoint: "${url}/t" } }
`,
    connections: `
  google: { kind: google, client: main }
  service: { kind: google-service-account, keyFile: { file: secrets/uno/service }, subject: a@b.example }
  microsoft: { kind: microsoft, client: main }
  microsoft-app: { kind: microsoft-app, client: main, directory: d }
  hubspot: { kind: hubspot, client: main }
  salesforce: { kind: salesforce, client: main }
  salesforce-app: { kind: salesforce-app, client: main }
  oauth: { kind: oauth, client: main }
  caldav: { kind: caldav, username: u, password: { file: secrets/uno/caldav } }
  basic: { kind: basic, username: u, password: { env: TENANT_UNO__BASIC } }
  key: { kind: api-key, header: X-Api-Key, key: { file: secrets/uno/key } }
  token: { kind: bearer, token: { env: TENANT_UNO__TOKEN } }
`,
    files: {
      ...Object.fromEntries(clients.map((name) => [`keys/${name}`, SECRET])),
      'secrets/uno/service': account,
      'secrets/uno/caldav': SECRET,
      'secrets/uno/key': SECRET,
    },
  });
  const env = { ...ENV, TENANT_UNO__BASIC: SECRET, TENANT_UNO__TOKEN: SECRET };
  return openTenantConnections(load(dir, { connectors, env }), redis.connect()).connections;
}

/** Returns the place of the refused secret in an error; otherwise the error's code and remedy. */
async function placeToldBy(refused: Promise<unknown>, secret: string): Promise<string> {
  const error = asMirrorError(await refused.catch((thrown: unknown) => thrown));
  expect(`${error.stack} ${JSON.stringify(error)} ${error.remedy}`).not.toContain(secret);
  return error.remedy?.split('the secret comes from ')[1] ?? `${error.code}: ${error.remedy}`;
}

/** Each connection, and where its secret is read from. */
const PLACES = {
  clinic: 'the file keys/clinic',
  google: 'the file keys/google',
  service: 'the file secrets/uno/service',
  microsoft: 'the file keys/microsoft',
  'microsoft-app': 'the file keys/microsoft',
  hubspot: 'the file keys/hubspot',
  salesforce: 'the file keys/salesforce',
  'salesforce-app': 'the file keys/salesforce',
  oauth: 'the file keys/oauth',
  caldav: 'the file secrets/uno/caldav',
  basic: 'the environment variable TENANT_UNO__BASIC',
  key: 'the file secrets/uno/key',
  token: 'the environment variable TENANT_UNO__TOKEN',
};

test('a refused secret of any connection is reported with its file or variable, and never shown', async () => {
  const connections = await openRefused();
  const told: Record<string, string> = {};
  for (const [id, connection] of connections) {
    const { tokens } = connection;
    const refused = tokens === null ? connection.authorizer('t').renew(NEVER) : tokens.login.server.refresh('r', NEVER);
    told[id] = await placeToldBy(refused, SECRET);
  }
  expect(told).toEqual(PLACES);
});

const SIGNING = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const NO_PROBLEMS: Digest = { begun: [], again: [], over: [], others: 0 };

/** Whatever else than a connection proves itself by a secret: by its name, an attempt that is refused. */
async function openOtherSecrets(): Promise<Record<string, () => Promise<unknown>>> {
  const receiver = await startReceiver(() => ({ status: 401 }));
  const gateway = await startSmsSandbox();
  const mail = await startMailSandbox({ login: { user: 'u', password: 'another' } });
  for (const server of [receiver, gateway, mail]) onTestFinished(() => server.close());
  const mailServer = (password: string, certificate: string) =>
    `{ host: ${mail.host}, port: ${mail.port}, from: a@b.example, login: { user: u, password: ${password} }, ` +
    `certificateAuthority: { file: ${certificate} }`;
  const dir = writeConnections({
    connections: '  {}',
    clients: `
outbound: { webhooks: [127.0.0.0/8], sms: [127.0.0.0/8], mail: [127.0.0.0/8] }
alerts:
  email: ${mailServer('{ env: ALERT_MAIL }', 'keys/certificate')}, to: [c@d.example] }
  webhook: { url: "${receiver.url}", secrets: [{ file: keys/new }, { file: keys/old }], allowPrivateAddresses: true }
`,
    more: `
triggers:
  endpoints:
    erp: { url: "${receiver.url}", secrets: [{ env: TENANT_UNO__ERP }], events: [report.available] }
reminders:
  rules: { day: { before: P1D, channels: [sms] } }
  channels:
    sms: { kind: sms, settings: { accountSid: ${gateway.accountSid}, authToken: { file: secrets/uno/sms },
      from: "${gateway.from}", server: "${gateway.url}" } }
    mail: { kind: email, settings: ${mailServer('{ file: secrets/uno/mail }', 'secrets/uno/certificate')} } }
    untrusted: { kind: email, settings: ${mailServer('{ file: secrets/uno/mail }', 'secrets/uno/wrong')} } }
    post: { kind: webhook, settings: { url: "${receiver.url}", secrets: [{ file: secrets/uno/post }], fields: [] } }
`,
    files: {
      'keys/certificate': mail.certificate,
      ...{ 'keys/new': SIGNING, 'keys/old': SIGNING, 'secrets/uno/post': SIGNING },
      ...{ 'secrets/uno/sms': SIGNING, 'secrets/uno/mail': SIGNING },
      'secrets/uno/certificate': mail.certificate,
      'secrets/uno/wrong': 'no certificate',
    },
  });
  const env = { ...ENV, ALERT_MAIL: SIGNING, TENANT_UNO__ERP: SIGNING };
  const { settings, tenants } = load(dir, { connectors, reminderChannels, env });
  const { reminders, triggers } = tenants.get('uno')!;
  const http = createHttpClient({ userAgent: 'test', clock: Date.now });
  const alerts = alertChannels(settings.alerts, http);
  const message = { label: 'test', id: 'm', now: Date.now(), body: '{}' };
  const toChannel = ([id, { kind, settings: own }]: [string, { kind: string; settings?: unknown }]) => {
    const channel = channelModule(kind).open({
      ...{ settings: own, tenant: 'uno', callbackUrl: null, unsubscribeProof: () => '', reach: OPERATORS_REACH },
      ...{ http, log: silentLogger, clock: Date.now, heard: () => {} },
    });
    return [`reminders by ${id}`, () => channel.send(reminderOf(), NEVER)] as const;
  };
  return {
    ...Object.fromEntries([...reminders!.channels].map(toChannel)),
    'triggers to erp': () => postSigned(http, triggers!.endpoints.get('erp')!, message, NEVER),
    'alerts by email': () => alerts.get('email')!(NO_PROBLEMS, Date.now(), NEVER),
    'alerts by webhook': () => alerts.get('webhook')!(NO_PROBLEMS, Date.now(), NEVER),
  };
}

/** The same of what is no connection. */
const OTHER_PLACES = {
  'reminders by sms': 'the file secrets/uno/sms',
  'reminders by mail': 'the file secrets/uno/mail',
  'reminders by untrusted': 'the file secrets/uno/wrong',
  'reminders by post': 'the file secrets/uno/post',
  'triggers to erp': 'the environment variable TENANT_UNO__ERP',
  'alerts by email': 'the environment variable ALERT_MAIL',
  'alerts by webhook': 'the file keys/new or the file keys/old',
};

test('a refused secret of a reminder channel, a trigger or an alert is reported with its source, and never shown', async () => {
  const told: Record<string, string> = {};
  for (const [name, attempt] of Object.entries(await openOtherSecrets())) {
    told[name] = await placeToldBy(attempt(), SIGNING);
  }
  expect(told).toEqual(OTHER_PLACES);
});

test('the connection to the clinic requests the configured scopes, each once', () => {
  const text = TENANT.replace('tenantId: "7"', 'tenantId: "7", scopes: [invoices, agenda, fhir]');
  const tenant = load(writeConfiguration({ 'tenants/uno.yaml': text })).tenants.get('uno');
  if (tenant === undefined) throw new Error('no tenant');
  expect(clinicScopes(tenant, 'x.')).toEqual(expect.arrayContaining(['openid', 'x.invoices', 'x.agenda', 'x.fhir']));
  expect(clinicScopes(tenant, 'x.').filter((scope) => scope === 'x.agenda')).toHaveLength(1);
});

const HOOK_SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const HOOK = 'kind: webhook, settings: { url: "https://hook.test/in", secrets: [{ env: TENANT_UNO__HOOK }]';

test.each([
  ['no reminders', null, false],
  ['a webhook that gets ids', `{ ${HOOK} } }`, false],
  ['a webhook that gets the text', `{ ${HOOK}, fields: [text] } }`, true],
  ['a webhook that requires a consent', `{ consent: privacy, ${HOOK} } }`, true],
  ['mails', '{ kind: email, settings: { host: mail.test, from: us@clinic.test } }', true],
])('%s: whether the connection to the clinic needs its patients', (_, channel, needsPatients) => {
  const reminders = `reminders: { channels: { one: ${channel} }, rules: { r: { before: P1D, channels: [one] } } }\n`;
  const dir = writeConfiguration({ 'tenants/uno.yaml': channel === null ? TENANT : TENANT + reminders });
  const tenant = load(dir, { reminderChannels, env: { ...ENV, TENANT_UNO__HOOK: HOOK_SECRET } }).tenants.get('uno');
  if (tenant === undefined) throw new Error('no tenant');
  expect(clinicScopes(tenant, 'x.').includes('x.patients')).toBe(needsPatients);
});

const KEY_OF_RECORD = 'a'.repeat(32);
const PATIENT: Operation<CrmItem> = {
  ...{ kind: 'create', recordId: 'p1', key: KEY_OF_RECORD, sealedRecordId: 'sealed', revision: 1 },
  item: { properties: { lastname: 'Lind', email: 'ada@example.org' }, contactKey: null, startAt: 0 },
};
const LISTS = { method: /^GET$/, url: /\/crm\/objects\/[\w-]+\/contacts\?/ };

/** Returns the authorizer of the connection `crm`, which is a Service Key; the client of the settings serves other connections. */
function authorizerOf(serviceKey: string, hub: { authorizeUrl: string; tokenUrl: string }) {
  const dir = writeConnections({
    clients: `hubspotClients:
  main: { clientId: c, clientSecret: { env: CRM_SECRET }, authorizeUrl: "${hub.authorizeUrl}", tokenUrl: "${hub.tokenUrl}" }
`,
    connections: '  crm: { kind: bearer, token: { env: TENANT_UNO__TOKEN } }',
  });
  const configuration = load(dir, { env: { ...ENV, CRM_SECRET: 's', TENANT_UNO__TOKEN: serviceKey } });
  const { connections } = openTenantConnections(configuration, redis.connect());
  return connections.get('crm')!.authorizer('contacts');
}

/** Opens contacts with a Service Key, in an account behind a proxy, and an unrelated server. */
async function openContacts() {
  const sandbox = await startHubSpotSandbox();
  onTestFinished(() => sandbox.close());
  const proxy = await startFaultProxy(sandbox.apiUrl);
  onTestFinished(() => proxy.close());
  const stranger = await startReceiver();
  onTestFinished(() => stranger.close());
  const serviceKey = sandbox.issuePrivateToken();
  const said = vi.fn();
  const log = { ...silentLogger, debug: said, info: said, warn: said, error: said, child: () => log };
  const connector = hubspot.open({
    ownerTag: 'servicekeymark00',
    crm: {
      stream: 'patients',
      properties: [
        { name: 'lastname', kind: 'text' },
        { name: 'email', kind: 'text' },
      ],
    },
    authorizer: authorizerOf(serviceKey, { authorizeUrl: sandbox.authorizeUrl, tokenUrl: `${stranger.url}/token` }),
    http: createHttpClient({ userAgent: 'test', clock: Date.now, timeoutMs: paced(5_000) }),
    shared: new SharedState(),
    log,
    clock: Date.now,
    settings: hubspot.settingsSchema.parse({ apiUrl: proxy.url }),
  });
  const prepare = () => containerOf(connector, null, AbortSignal.timeout(paced(60_000)));
  const write = (container: string) => connector.apply(container, [PATIENT], AbortSignal.timeout(paced(60_000)));
  const read = async (container: string) =>
    (await Array.fromAsync(connector.read(container, null, AbortSignal.timeout(paced(60_000))))).flat();
  return { sandbox, proxy, stranger, serviceKey, said, prepare, write, read };
}

/** Returns the names of headers that contain the key, and expects that no URL or body does. */
function headersWith(serviceKey: string, { requests }: Pick<FaultProxy | Receiver, 'requests'>): string[] {
  return requests.flatMap(({ headers, body, ...address }) => {
    expect(JSON.stringify([address, body])).not.toContain(serviceKey);
    return Object.keys(headers).filter((name) => headers[name]?.includes(serviceKey));
  });
}

test('a Service Key writes and reads contacts, and is in exactly one header of each call', async () => {
  const { sandbox, proxy, stranger, serviceKey, said, prepare, write, read } = await openContacts();
  const container = await prepare();
  expect(await write(container)).toMatchObject([{ result: 'written', effect: 'created' }]);
  expect((await read(container)).map(({ key }) => key)).toEqual([KEY_OF_RECORD]);
  expect(sandbox.records('contacts')).toHaveLength(1);
  expect(proxy.requests.length).toBeGreaterThan(3);
  expect(headersWith(serviceKey, proxy)).toEqual(proxy.requests.map(() => 'authorization'));
  expect(stranger.requests).toEqual([]);
  expect(JSON.stringify(said.mock.calls)).not.toContain(serviceKey);
});

test.each([301, 302, 307, 308])(
  'a Service Key is not sent to another host after a redirect by HubSpot (%d)',
  async (status) => {
    const { proxy, stranger, prepare, write } = await openContacts();
    const container = await prepare();
    const moved = { ...jsonAnswer(status, {}), headers: { location: `${stranger.url}/crm` } };
    proxy.add({ method: /^POST$/, times: Number.POSITIVE_INFINITY, fault: { kind: 'answer', answer: moved } });
    await expect(write(container)).rejects.toMatchObject({ name: 'MirrorError' });
    expect(stranger.requests).toEqual([]);
  },
);

test('a Service Key is not sent to the URL of a next page', async () => {
  const { proxy, stranger, prepare, write, read } = await openContacts();
  const container = await prepare();
  await write(container);
  const next = { after: '1', link: `${stranger.url}/page` };
  proxy.add({
    ...LISTS,
    fault: {
      kind: 'rewrite',
      answer: (answer) => changeJson(answer, (body) => ({ ...body, paging: { next } })),
    },
  });
  await read(container);
  expect(proxy.requests.at(-1)?.url).toContain('after=1');
  expect(stranger.requests).toEqual([]);
});

test('a deleted Service Key is not renewed, and is reported without its value', async () => {
  const { sandbox, proxy, stranger, serviceKey, said, prepare, write } = await openContacts();
  const container = await prepare();
  sandbox.revokePrivateToken(serviceKey);
  proxy.forget();
  const error: MirrorError = await write(container).then(
    () => expect.fail('it was written'),
    (reason) => reason,
  );
  expect(error).toMatchObject({ actor: 'authorization', code: 'key-refused', retry: 'never' });
  expect(`${error.stack} ${JSON.stringify([error, said.mock.calls])}`).not.toContain(serviceKey);
  expect(proxy.requests).toHaveLength(1);
  expect(stranger.requests).toEqual([]);
});
