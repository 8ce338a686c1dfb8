// Tier: full. Each of its tests starts a process or two.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { FORCED, type RunningCli, run, start, terminate, untilRunning } from './support/cli-process.ts';
import { useRedis } from './support/redis.ts';
import { waitFor } from './support/wait-for.ts';

/** By default a container engine kills a process after this time. */
const ENGINE_PATIENCE_MS = 10_000;
const HURRIED = fileURLToPath(new URL('./support/hurried-end.ts', import.meta.url));
const LOADED = fileURLToPath(new URL('./support/loaded-packages.ts', import.meta.url));
const SPECIFICATION = new URL('./fixtures/openapi-pages.yaml', import.meta.url);

const redis = useRedis();

test('the daemon exits after a stop signal while it waits for an unreachable Redis', async () => {
  const connected = Promise.withResolvers<void>();
  // Takes the connection and never answers.
  const silent = createServer(() => connected.resolve()).listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const address = silent.address();
  const cli = run(`redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, 0);
  await connected.promise;
  expect(await terminate(cli)).toBe(130);
  expect(cli.output()).not.toContain(FORCED);
});

test('the daemon exits in time after Redis has disappeared, and reports if it did not wait', async () => {
  const cli = run(redis.url, 0, ['--import', HURRIED]);
  await untilRunning(cli);
  await redis.crash();
  const code = await terminate(cli);
  // Whether connections that are lost can be closed in time depends on where they stood just then.
  expect(code).toBe(cli.output().includes(FORCED) ? 1 : 0);
  const waitsMs = [...cli.output().matchAll(/waited (\d+) ms/g)].map(([, ms]) => Number(ms));
  expect(Math.max(0, ...waitsMs)).toBeLessThan(ENGINE_PATIENCE_MS);
});

test('a command ends when its work is done, whatever a library has left open, with all that it wrote', async () => {
  const leaves = `data:text/javascript,${encodeURIComponent('setInterval(() => {}, 1_000)')}`;
  const plain = start(['sync', 'bianchi'], redis.url);
  const left = start(['sync', 'bianchi'], redis.url, { nodeArgs: ['--import', leaves] });
  expect(await plain.ended).toBe(1);
  expect(await left.ended).toBe(1);
  expect(left.output()).toBe(plain.output());
});

test('sync exits with 2 if the settings or its tenant’s file have faults, and with 1 if the tenant does not exist', async () => {
  const tenants = { rossi: 'zone: Europe/Roma' };
  const [settings, broken, unknown] = [
    start(['sync', 'rossi'], 'no-address', { tenants }),
    start(['sync', 'rossi'], redis.url, { tenants }),
    start(['sync', 'bianchi'], redis.url, { tenants }),
  ];
  expect(await settings.ended).toBe(2);
  expect(settings.output()).toContain('redis.url');
  expect(await broken.ended).toBe(2);
  expect(broken.output()).toContain('(tenant-set-aside)');
  expect(await unknown.ended).toBe(1);
  expect(unknown.output()).toContain('(no-such-tenant)');
});

/** A clinic with a calendar of every vendor, without any connection. */
const CLIENT = { clientId: 'a', clientSecret: { env: 'KEY' } };
const WITH_VENDORS = {
  clients: {
    clinicClients: { main: { profile: 'plain', baseUrl: 'https://a.test', authUrl: 'https://b.test', ...CLIENT } },
    googleClients: { main: CLIENT },
    microsoftClients: { main: CLIENT },
  },
  tenants: {
    uno: JSON.stringify({
      ...{ name: 'Uno', language: 'it', zone: 'Europe/Rome', clinic: { client: 'main', tenantId: '1' } },
      connections: {
        google: { kind: 'google', client: 'main' },
        microsoft: { kind: 'microsoft', client: 'main' },
        dav: { kind: 'caldav', username: 'a', password: { env: 'TENANT_UNO__PASSWORD' } },
      },
      targets: {
        one: targetOf('google-calendar', 'google', { calendar: { create: 'A' } }),
        two: targetOf('outlook-calendar', 'microsoft', { mailbox: 'a@b.test', calendar: { create: 'A' } }),
        three: targetOf('caldav', 'dav', { server: 'https://c.test', calendar: { home: 'discover', create: 'A' } }),
      },
    }),
  },
};
const VENDORS = [
  ...['google-calendar', 'outlook-calendar', 'caldav', 'hubspot', 'salesforce', 'rest-crm'],
  ...['googleapis', '@microsoft/microsoft-graph-client', 'ical.js', 'tldts'],
  ...['nodemailer', 'libphonenumber-js', 'jsonata', 'pino-pretty'],
];

/** A status command loads no module for logs, progress bars, local days and signatures. */
const NOT_OF_A_STATUS = ['pino', 'cli-progress', 'temporal-polyfill', 'standardwebhooks'];

function targetOf(connector: string, connection: string, settings: object): object {
  return { connector, connection, agendas: ['1'], settings };
}

function loadedBy({ output }: RunningCli): string[] {
  return (/^loaded: (.*)$/m.exec(output())?.[1] ?? '').split(' ');
}

test('a daemon loads no vendor module before a connection exists', async () => {
  const cli = start(['run'], redis.url, { ...WITH_VENDORS, nodeArgs: ['--import', LOADED] });
  await untilRunning(cli);
  cli.child.kill('SIGTERM');
  expect(await cli.ended).toBe(0);
  const loaded = loadedBy(cli);
  expect(loaded).toContain('bullmq');
  expect(VENDORS.filter((name) => loaded.includes(name))).toEqual([]);
  // A daemon without configured traces loads no module for them; prom-client uses only types and a few constants.
  expect(loaded.filter((name) => /^(@opentelemetry\/(?!api$)|src\/core\/telemetry\/)/.test(name))).toEqual([]);
});

test('a server for assistants answers over standard input and output, prints no other text there, and exits at the end of input', async () => {
  const cli = start(['mcp'], redis.url, WITH_VENDORS);
  const asked = [
    {
      ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'problems', arguments: {} } },
  ];
  cli.child.stdin?.write(asked.map((message) => `${JSON.stringify(message)}\n`).join(''));
  await waitFor(async () => /"id":2/.test(cli.output()), { what: 'the answer' });
  cli.child.stdin?.end();
  expect(await cli.ended).toBe(0);
  const lines = cli.output().trim().split('\n');
  const answers = lines.map((line) => JSON.parse(line) as { id: number; result: object });
  expect(answers.map(({ id }) => id)).toEqual([1, 2]);
  expect(answers[1]?.result).toMatchObject({ structuredContent: { problems: expect.any(Array) } });
});

test('what sets up a clinic is loaded by its command, and never by the daemon', async () => {
  const nodeArgs = ['--import', LOADED];
  const daemon = start(['run'], redis.url, { ...WITH_VENDORS, nodeArgs });
  const check = start(['check-spec', fileURLToPath(SPECIFICATION)], redis.url, { nodeArgs });
  await untilRunning(daemon);
  await terminate(daemon);
  await check.ended;
  const ofSetup = (cli: RunningCli) => loadedBy(cli).filter((name) => name.startsWith('src/setup/'));
  expect(ofSetup(check)).toEqual(
    expect.arrayContaining(['src/setup/check-spec/check-spec.ts', 'src/setup/profile-finder/profile-check.ts']),
  );
  expect(loadedBy(daemon)).toContain('src/jobs/queues.ts');
  expect(ofSetup(daemon)).toEqual([]);
});

test('a status loads no module of vendors, of the queues, or of the HTTP port', async () => {
  const cli = start(['status', 'uno'], redis.url, { ...WITH_VENDORS, nodeArgs: ['--import', LOADED] });
  // No daemon has run yet.
  expect(await cli.ended).toBe(1);
  expect(cli.output()).toContain('no cycle yet');
  const loaded = loadedBy(cli);
  expect(loaded).toContain('ioredis');
  expect(
    [...VENDORS, ...NOT_OF_A_STATUS, 'bullmq', 'fastify', 'prom-client', '@modelcontextprotocol/sdk'].filter((name) =>
      loaded.includes(name),
    ),
  ).toEqual([]);
});

test('help loads no module of the configuration and of the state', async () => {
  const cli = start(['--help'], 'no-address', { nodeArgs: ['--import', LOADED] });
  expect(await cli.ended).toBe(0);
  const loaded = loadedBy(cli);
  expect(loaded).toContain('commander');
  expect([...NOT_OF_A_STATUS, 'yaml', 'ioredis'].filter((name) => loaded.includes(name))).toEqual([]);
});
