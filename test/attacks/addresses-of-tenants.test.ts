import { execFile } from 'node:child_process';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { DavSession } from '../../src/connectors/caldav/webdav.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { pinnedLookup } from '../../src/core/http/pinned.ts';
import { handOver } from '../../src/core/mail/smtp.ts';
import type { MirrorError } from '../../src/core/model/errors.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { FilePart } from '../../src/settings/describe-issue.ts';
import { checkAddresses } from '../../src/settings/outbound-checks.ts';
import { outboundSection, PURPOSES, reachOf } from '../../src/settings/outbound-schema.ts';
import { readYaml } from '../../src/settings/yaml-file.ts';
import { ENV, faultLines, load, SETTINGS, TENANT, writeConfiguration } from '../settings/configuration-directory.ts';

/*
 * Attack: a user who may edit one tenant's file, or a managed tenant, enters an address inside the operator's network: a number, a name
 * that resolves into the network, or a name whose DNS answer changes.
 */

const NONE = outboundSection.parse(undefined);
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const INSIDE = [
  ...['https://127.0.0.1', 'https://0x7f.1', 'https://2130706433', 'https://017700000001', 'https://127.1.'],
  ...['https://[::1]', 'https://[::ffff:127.0.0.1]', 'https://[::ffff:a9fe:a9fe]', 'https://[64:ff9b::a9fe:a9fe]'],
  ...['https://localhost', 'https://localhost.', 'https://a.localhost', 'https://10.1.2.3', 'https://[fd12::1]'],
  ...['https://169.254.169.254', 'https://100.100.100.200', 'https://168.63.129.16', 'https://[fe80::1]'],
  ...['https://[fd00:ec2::254]', 'https://0.0.0.0', 'http://0x7f.1', 'http://redis:6379'],
];
/** Never, whatever the operator allows. */
const NEVER = ['https://169.254.169.254', 'https://[::ffff:a9fe:a9fe]', 'https://[fe80::1]', 'https://[fd00:ec2::254]'];
const EVERYWHERE_ALLOWED = Object.fromEntries(
  PURPOSES.map((purpose) => [purpose, ['1.0.0.0/8', '100.0.0.0/6', '168.0.0.0/7', 'fd00::/8']]),
);
const EVERYWHERE = `outbound: ${JSON.stringify(EVERYWHERE_ALLOWED)}\n`;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const CALDAV = TENANT.replace(
  '{ kind: google, client: main }',
  '{ kind: caldav, username: a, password: { env: OWN__SECRET } }',
);
const at = (address: string): Record<string, string> => ({
  calendars: CALDAV.replace('connector: calendar', 'connector: caldav').replace(
    'settings: { calendar: a }',
    `settings: { calendar: { url: "${address}/cal/" } }`,
  ),
  webhooks: `${CALDAV.replace('connector: calendar', 'connector: caldav').replace(
    'settings: { calendar: a }',
    'settings: { calendar: { url: "https://dav.example/cal/" } }',
  )}triggers: { endpoints: { portal: { url: "${address}/in", events: [report.available], secrets: [{ env: OWN__SECRET }] } } }\n`,
});

function accepted(address: string, purpose: string, settings = SETTINGS): boolean {
  const files = { 'tenants/uno.yaml': at(address)[purpose] ?? '', 'clinic-mirror.yaml': settings };
  const dir = writeConfiguration(files);
  const options = { env: { ...ENV, TENANT_UNO__SECRET: SECRET }, connectors, reminderChannels };
  try {
    load(dir, options);
    return true;
  } catch {
    return false;
  }
}

describe.each(['calendars', 'webhooks'])('a tenant’s URL for %s', (purpose) => {
  test('is refused at load if it points into the operator’s network, in every spelling', () => {
    expect(INSIDE.filter((address) => accepted(address, purpose))).toEqual([]);
    expect(accepted('https://dav.example.org', purpose)).toBe(true);
  });

  test('is accepted in a network that the operator allows; link-local and metadata addresses never are', () => {
    expect(accepted('https://10.1.2.3', purpose, `${SETTINGS}outbound: { ${purpose}: [10.1.0.0/16] }\n`)).toBe(true);
    expect(accepted('https://10.2.2.3', purpose, `${SETTINGS}outbound: { ${purpose}: [10.1.0.0/16] }\n`)).toBe(false);
    const other = purpose === 'calendars' ? 'webhooks' : 'calendars';
    expect(accepted('https://10.1.2.3', purpose, `${SETTINGS}outbound: { ${other}: [10.1.0.0/16] }\n`)).toBe(false);
    expect(accepted('https://101.1.2.3', purpose, SETTINGS + EVERYWHERE)).toBe(true);
    expect(NEVER.filter((address) => accepted(address, purpose, SETTINGS + EVERYWHERE))).toEqual([]);
  });
});

/** Parts of a tenant's file for the purposes that require more fields than a URL. */
const PARTS: Readonly<Record<string, (address: string) => object>> = {
  crms: (address) => ({ targets: { contacts: { crm: {}, settings: { baseUrl: `${address}/api` } } } }),
  sms: (address) => ({ reminders: { channels: { text: { kind: 'sms', settings: { server: address } } } } }),
  mail: (address) => {
    const host = new URL(`${address}/`).href.replace(/^https:\/\/|\/$/g, '');
    return { reminders: { channels: { post: { kind: 'email', settings: { host } } } } };
  },
};

describe.each(Object.entries(PARTS))('a tenant’s URL for %s', (purpose, part) => {
  const isRefused = (address: string, written: object = {}) => {
    const read = readYaml('tenants/uno.yaml', Buffer.from(stringify(part(address))));
    if ('faults' in read) throw new Error('the file is no YAML');
    return [...checkAddresses(new FilePart(read.file), { outbound: outboundSection.parse(written) })].length > 0;
  };
  // A mail server is configured by its host name only; the resolved address is checked at each connection.
  const spoken = purpose === 'mail' ? INSIDE.filter((address) => address.startsWith('https:')) : INSIDE;

  test('is refused at load if it points into the operator’s network, in every spelling', () => {
    expect(spoken.filter((address) => !isRefused(address))).toEqual([]);
    expect(isRefused('https://server.example.org')).toBe(false);
  });

  test('is accepted in a network that the operator allows; link-local and metadata addresses never are', () => {
    expect(isRefused('https://10.1.2.3', { [purpose]: ['10.1.0.0/16'] })).toBe(false);
    expect(isRefused('https://10.2.2.3', { [purpose]: ['10.1.0.0/16'] })).toBe(true);
    expect(isRefused('https://10.1.2.3', { webhooks: ['10.1.0.0/16'] })).toBe(true);
    expect(isRefused('https://101.1.2.3', EVERYWHERE_ALLOWED)).toBe(false);
    expect(NEVER.filter((address) => !isRefused(address, EVERYWHERE_ALLOWED))).toEqual([]);
  });
});

test('a file that still allows private addresses for itself gets a fault that names the new setting', () => {
  const file =
    at('https://hooks.example').webhooks?.replace('portal: {', 'portal: { allowPrivateAddresses: true,') ?? '';
  const dir = writeConfiguration({ 'tenants/uno.yaml': file });
  const options = { env: { ...ENV, TENANT_UNO__SECRET: SECRET }, connectors, reminderChannels };
  expect(faultLines(dir, options)).toEqual([
    expect.stringMatching(
      /^tenants\/uno\.yaml:14 triggers\.endpoints\.portal\.allowPrivateAddresses: .*outbound\.webhooks in clinic-mirror\.yaml/,
    ),
  ]);
});

test('the setting refuses link-local and metadata networks as values', () => {
  for (const network of ['169.254.0.0/16', '169.254.169.254', 'fe80::/10', 'fd00:ec2::254', '100.100.100.200'])
    expect(
      faultLines(writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}outbound: { calendars: ["${network}"] }\n` })),
    ).toHaveLength(1);
});

/** A server inside, and how many connections it saw. */
async function inside() {
  let connections = 0;
  const server = createHttpServer((_, answer) => void answer.end('inside')).on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

const request = (url: string) => ({ label: 'test', method: 'GET', url, signal: AbortSignal.timeout(5_000) });
const failure = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: MirrorError) => error,
  );

describe.each(PURPOSES)('a name that resolves into the operator’s network, for %s', (purpose) => {
  test.each([
    ['this machine', '127.0.0.1', 'loopback'],
    ['an own network', '10.0.0.7', 'private'],
    ['metadata', '169.254.169.254', 'metadata|link-local'],
    ['mapped metadata', '::ffff:169.254.169.254', 'metadata|link-local'],
    ['metadata by NAT64', '64:ff9b::a9fe:a9fe', 'metadata|link-local'],
  ])('%s: no connection is opened, and the operator reads the required change', async (_, address, kind) => {
    const { port, connections } = await inside();
    const resolve = async () => [
      { address: '93.184.215.14', family: 4 },
      { address, family: address.includes(':') ? 6 : 4 },
    ];
    const http = createHttpClient({ userAgent: 'test', clock: Date.now, reach: reachOf(NONE, purpose), resolve });
    const error = await failure(http.send(request(`https://inside.example:${port}/`)));
    expect(error).toMatchObject({ actor: 'settings', code: 'address-not-allowed', retry: 'never', ambiguous: false });
    expect(error?.message).toMatch(new RegExp(`for ${purpose}: inside\\.example is .*(${kind})`));
    expect(error?.remedy).toMatch(
      kind.includes('|') ? /no setting/ : new RegExp(`outbound\\.${purpose} of clinic-mirror\\.yaml`),
    );
    expect(connections()).toBe(0);
  });
});

test('no tenant gets a connection that was kept open for the operator’s own URL', async () => {
  const { port, connections } = await inside();
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const options = { userAgent: 'test', clock: Date.now, resolve };
  const url = `http://inside.example:${port}/`;
  expect((await createHttpClient(options).send(request(url))).status).toBe(200);
  const tenants = createHttpClient({ ...options, reach: reachOf(NONE, 'calendars') });
  expect(await failure(tenants.send(request(url)))).toMatchObject({ code: 'address-not-allowed' });
  const allowed = createHttpClient({
    ...options,
    reach: reachOf({ ...NONE, calendars: ['127.0.0.0/8'] }, 'calendars'),
  });
  expect((await allowed.send(request(url))).status).toBe(200);
  expect(connections()).toBe(2);
});

test('a URL of the operator may be inside the network, but not a metadata service', async () => {
  const http = (address: string) =>
    createHttpClient({ userAgent: 'test', clock: Date.now, resolve: async () => [{ address, family: 4 }] });
  const { port } = await inside();
  expect((await http('127.0.0.1').send(request(`http://clinic.example:${port}/`))).status).toBe(200);
  for (const url of ['http://169.254.169.254/', 'http://100.100.100.200/', 'https://metadata.example/'])
    expect(await failure(http('169.254.169.254').send(request(url)))).toMatchObject({ code: 'address-not-allowed' });
});

test('a mail server inside the network gets no connection', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.end('220 inside\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const settings = {
    host: 'mail.example',
    port,
    security: 'starttls',
    from: 'a@b.example',
    timeoutSeconds: 5,
  } as const;
  const lookup = pinnedLookup({ host: settings.host, isPlain: false }, reachOf(NONE, 'mail'), async () => [
    { address: '127.0.0.1', family: 4 },
  ]);
  const sent = handOver(
    settings,
    { to: ['c@d.example'], message: Buffer.from('a') },
    lookup,
    AbortSignal.timeout(5_000),
  );
  expect(await failure(sent)).toMatchObject({ actor: 'settings', code: 'address-not-allowed' });
  expect(connections).toBe(0);
});

/** The tenant's server is reached at 127.0.0.1, which the operator allows. It redirects to a server inside at 127.0.0.2. */
async function redirected(locationOf: (inside: number) => string) {
  let connections = 0;
  const inside = createHttpServer((_, answer) => void answer.end('inside')).on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.2', resolve));
  const location = locationOf((inside.address() as AddressInfo).port);
  let asked = 0;
  const server = createHttpServer((_, answer) => {
    asked += 1;
    answer.writeHead(302, { location }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    for (const one of [inside, server]) {
      one.closeAllConnections();
      one.close();
    }
  });
  const outbound = outboundSection.parse({ calendars: ['127.0.0.1/32'] });
  const http = createHttpClient({
    ...{ userAgent: 'test', clock: Date.now, reach: reachOf(outbound, 'calendars') },
    resolve: async (name) => [{ address: name === 'dav.example.org' ? '127.0.0.1' : '127.0.0.2', family: 4 }],
  });
  const home = new URL(`http://dav.example.org:${(server.address() as AddressInfo).port}/.well-known/caldav`);
  const authorizer = { header: async () => 'Basic YTpi', renew: async () => 'Basic YTpi', quotaUser: null };
  const session = new DavSession({ http, authorizer }, home);
  const error = await failure(session.send({ method: 'PROPFIND', url: home }, AbortSignal.timeout(5_000)));
  return { error, asked, connections };
}

test.each([
  [
    'a name of the same site that leads inside',
    (port: number) => `https://in.dav.example.org:${port}/`,
    'address-not-allowed',
  ],
  ['another host', (port: number) => `http://127.0.0.2:${port}/`, 'redirected-elsewhere'],
])('a redirect of calendar discovery to %s is not followed', async (_, location, code) => {
  const { error, asked, connections } = await redirected(location);
  expect(error).toMatchObject({ actor: 'settings', code });
  expect(asked).toBe(1);
  expect(connections).toBe(0);
});

/** Sends requests in a process with an outgoing proxy in Node's environment. @returns the outcome of each, and the proxy's log */
async function throughProxy(addresses: readonly string[]) {
  const asked: string[] = [];
  const proxy = createHttpServer().on('connect', (request, socket) => {
    asked.push(request.url ?? '');
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const source = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const program = `
    import { createHttpClient } from ${source('core/http/client.ts')};
    import { outboundSection, reachOf } from ${source('settings/outbound-schema.ts')};
    const reach = reachOf(outboundSection.parse(undefined), 'crms');
    const resolve = async (name) => {
      if (name === 'inside.example') return [{ address: '10.1.2.3', family: 4 }];
      throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' });
    };
    const http = createHttpClient({ userAgent: 'test', clock: Date.now, reach, resolve });
    const codes = [];
    for (const url of ${JSON.stringify(addresses)}) {
      const request = { label: 'test', method: 'GET', url, signal: AbortSignal.timeout(10_000) };
      codes.push(await http.send(request).then(() => 'answered', ({ code }) => code));
    }
    process.stdout.write(JSON.stringify(codes));`;
  const env = {
    ...process.env,
    ...{ NODE_USE_ENV_PROXY: '1', NO_PROXY: '', no_proxy: '' },
    // By name, as operators configure a proxy: the rule for tenants' addresses does not apply to the proxy.
    HTTPS_PROXY: `http://localhost:${(proxy.address() as AddressInfo).port}`,
  };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
  return { codes: JSON.parse(stdout) as string[], asked };
}

test('an outgoing proxy gets no request for an address known to be inside', async () => {
  const inside = ['https://inside.example/', 'https://10.1.2.3/', 'https://0x7f.1/', 'https://redis/'];
  const { codes, asked } = await throughProxy([...inside, 'https://known-to-the-proxy.example/']);
  expect(codes.slice(0, -1)).toEqual(inside.map(() => 'address-not-allowed'));
  expect(codes.at(-1)).toBe('connection-failed');
  expect(asked).toEqual(['known-to-the-proxy.example:443']);
});
