import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import {
  CONNECTORS,
  ENV,
  faultLines,
  load,
  loadError,
  SETTINGS,
  TENANT,
  writeConfiguration,
} from './configuration-directory.ts';

const COMMITTED = join(import.meta.dirname, '../../config');

describe('a valid configuration', () => {
  test('comes complete: defaults are filled in, and a target gets the guard of the settings where it has none', () => {
    const settings = `${SETTINGS}guard: { vanished: { share: 0.5 }, holdExpiresAfterHours: 24 }\n`;
    const tenant = `${TENANT}    guard: { vanished: { count: 3 } }\n`;
    const { tenants, unusable } = load(
      writeConfiguration({ 'clinic-mirror.yaml': settings, 'tenants/uno.yaml': tenant }),
    );
    expect(unusable).toEqual([]);
    expect(tenants.get('uno')?.targets.get('rossi')).toEqual({
      id: 'rossi',
      connector: 'calendar',
      connection: 'work',
      agendas: 'all',
      treatments: 'all',
      blockedTime: 'show',
      window: { pastDays: 7, futureDays: 180 },
      title: 'appointment',
      fields: [],
      free: ['cancelled', 'no_show'],
      tentative: [],
      visibility: 'private',
      labels: [],
      links: [],
      statuses: ['booked', 'confirmed', 'arrived', 'in_progress', 'completed', 'no_show', 'unknown'],
      firstRun: 'apply',
      guard: {
        vanished: { share: 0.5, count: 3 },
        cancelled: { share: 0.6, count: 50 },
        holdExpiresAfterHours: 24,
      },
      audit: { drift: 'repair', rewritesPerDay: 10 },
      paused: false,
      settings: { calendar: 'a', color: 'blue' },
    });
  });

  test('can not be changed by who reads it', () => {
    const { settings, tenants } = load(writeConfiguration());
    const target = tenants.get('uno')?.targets.get('rossi');
    expect(Object.isFrozen(settings.guard.vanished)).toBe(true);
    expect(Object.isFrozen(settings.clinicClients.get('main')?.budget)).toBe(true);
    expect(Object.isFrozen(target?.statuses)).toBe(true);
    expect(Object.isFrozen(target?.settings)).toBe(true);
  });

  test('has no client under a name that every object knows', () => {
    expect(load(writeConfiguration()).settings.clinicClients.get('constructor')).toBeUndefined();
  });

  test('writes a base address without a slash at its end, and a zone as IANA spells it', () => {
    const tenant = TENANT.replace('Europe/Rome', 'europe/rome');
    const { settings, tenants } = load(writeConfiguration({ 'tenants/uno.yaml': tenant }));
    expect(settings.clinicClients.get('main')?.baseUrl).toBe('https://api.clinic.test');
    expect(tenants.get('uno')?.zone).toBe('Europe/Rome');
  });

  test('lets logins come back to this machine unless a public address is given', () => {
    const local = load(writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}http: { port: 9000 }\n` }));
    expect(local.settings.http.publicUrl).toBe('http://localhost:9000');
    const settings = `${SETTINGS}http: { port: 8080, publicUrl: "https://mirror.test/dir/" }\n`;
    const published = load(writeConfiguration({ 'clinic-mirror.yaml': settings }));
    expect(published.settings.http.publicUrl).toBe('https://mirror.test/dir');
    expect(load(writeConfiguration()).settings.http).toMatchObject({ port: null, publicUrl: null });
  });

  test('takes networks and single addresses of trusted proxies, and has none without', () => {
    const settings = `${SETTINGS}http: { trustedProxies: ["10.0.7.0/24", "fd00::/64", "192.168.1.5"] }\n`;
    const { http } = load(writeConfiguration({ 'clinic-mirror.yaml': settings })).settings;
    expect(http.trustedProxies).toEqual(['10.0.7.0/24', 'fd00::/64', '192.168.1.5']);
    expect(load(writeConfiguration()).settings.http.trustedProxies).toEqual([]);
  });

  test.each([
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/33',
    'fd00::/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'proxy',
    'fe80::1%eth0',
    '10.0.0',
  ])('refuses %s as a network of trusted proxies', (network) => {
    const settings = `${SETTINGS}http: { trustedProxies: ["${network}"] }\n`;
    expect(() => load(writeConfiguration({ 'clinic-mirror.yaml': settings }))).toThrow(/trustedProxies/);
  });

  test('may have no tenants; samples and hidden files are not read', () => {
    const dir = writeConfiguration({ 'tenants/due.yaml.sample': 'not: read', 'tenants/.tre.yaml': 'not: read' });
    expect([...load(dir).tenants.keys()]).toEqual(['uno']);
    rmSync(join(dir, 'tenants'), { recursive: true });
    expect(load(dir).tenants.size).toBe(0);
  });

  test.each([
    ['http://127.0.0.1:8080', true],
    ['http://localhost', true],
    ['http://[::1]:9', true],
    ['http://clinic-sandbox:8080', true],
    ['http://api.clinic.test', false],
    ['http://10.0.0.1', false],
    ['http://127.0.0.1.evil.test', false],
    ['ftp://api.clinic.test', false],
    ['https://api.clinic.test?key=1', false],
    ['api.clinic.test', false],
  ])('sends tokens over https, or within the machine or container network: %s', (address, isAllowed) => {
    const settings = SETTINGS.replace('https://api.clinic.test/', address);
    const dir = writeConfiguration({ 'clinic-mirror.yaml': settings });
    if (isAllowed) expect(load(dir).settings.clinicClients.get('main')?.baseUrl).toBe(address);
    else
      expect(faultLines(dir)).toEqual([
        expect.stringMatching(/baseUrl: is not valid: .* → give an https:\/\/ address/),
      ]);
  });

  test('is what is committed, sample tenant included, once a clinic client is there', () => {
    const dir = writeConfiguration();
    cpSync(COMMITTED, dir, { recursive: true, filter: (name) => !name.endsWith('/schema') });
    const client = '  main: { profile: documented, baseUrl: https://a.test, authUrl: https://b.test, clientId: c }';
    const settings = readFileSync(join(COMMITTED, 'clinic-mirror.yaml'), 'utf8')
      .replace('clinicClients: {}', `clinicClients:\n${client}`)
      .replace('googleClients: {}', 'googleClients:\n  main: { clientId: g, clientSecret: { env: CLIENT_SECRET } }');
    writeFileSync(join(dir, 'clinic-mirror.yaml'), settings);
    cpSync(join(dir, 'tenants/example.yaml.sample'), join(dir, 'tenants/example.yaml'));
    rmSync(join(dir, 'tenants/uno.yaml'));
    const env = {
      ...ENV,
      REDIS_URL: 'redis://127.0.0.1:6390',
      CLINIC_MIRROR_IDENTITY_KEY: ENV.IDENTITY_KEY,
      CLINIC_MIRROR_SEALING_KEY: ENV.SEALING_KEY,
      TENANT_EXAMPLE__DAV_PASSWORD: 'pw',
    };
    expect([...load(dir, { env, connectors }).tenants.keys()]).toEqual(['example']);
  });
});

describe('secrets', () => {
  const CANARY = 'canary-value-91b7';

  test.each([
    ['a literal', 'clientSecret: { env: CLIENT_SECRET }', `clientSecret: ${CANARY}`],
    ['a literal number', 'clientSecret: { env: CLIENT_SECRET }', 'clientSecret: 918273645'],
    ['a literal as the variable name', '{ env: CLIENT_SECRET }', `{ env: "${CANARY}" }`],
    ['a literal among braces', '{ env: CLIENT_SECRET }', `{ ${CANARY} }`],
    ['a literal key', '{ env: IDENTITY_KEY }', CANARY],
    ['a Redis address of the wrong kind', 'redis://127.0.0.1:6390', `http://user:${CANARY}@redis`],
    ['a base address with credentials', 'https://api.clinic.test/', `https://user:${CANARY}@api.test`],
    ['broken quotes', '{ env: CLIENT_SECRET }', `"${CANARY}`],
    ['a literal behind a tag', '{ env: CLIENT_SECRET }', `!${CANARY}`],
    ['a literal that is taken for an alias', '{ env: CLIENT_SECRET }', `*${CANARY}`],
    ['a literal with a colon', '{ env: CLIENT_SECRET }', `a: ${CANARY}: b`],
  ])('do not show in a fault: %s', (_case, from, to) => {
    const error = loadError(writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace(from, to) }));
    expect(error.faults.length).toBeGreaterThan(0);
    expect(JSON.stringify(error.faults) + error.message + inspect(error)).not.toMatch(/canary-value|918273645/);
  });

  test('written into the file are refused, with the way to refer to them', () => {
    const dir = writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace('{ env: IDENTITY_KEY }', CANARY) });
    expect(faultLines(dir)).toEqual([
      expect.stringMatching(
        /^clinic-mirror\.yaml:4 secrets\.identityKey: is not valid: \(not shown\) → write \{ env: NAME/,
      ),
    ]);
  });

  test('that are not there are all reported', () => {
    const settings = SETTINGS.replace('"redis://127.0.0.1:6390"', '{ env: REDIS_URL }').replace(
      '{ env: SEALING_KEY }',
      '{ file: keys/none }',
    );
    const lines = faultLines(writeConfiguration({ 'clinic-mirror.yaml': settings }), {
      env: { ...ENV, CLIENT_SECRET: ' ' },
    });
    expect(lines.map((line) => line.split(' → ')[0])).toEqual([
      'clinic-mirror.yaml:2 redis.url: the environment variable REDIS_URL is not set',
      "clinic-mirror.yaml:5 secrets.sealingKeys.0.key: the secret's file can't be read (ENOENT)",
      'clinic-mirror.yaml:12 clinicClients.main.clientSecret: the environment variable CLIENT_SECRET is empty',
      'clinic-mirror.yaml:14 googleClients.main.clientSecret: the environment variable CLIENT_SECRET is empty',
    ]);
  });

  test('come from files relative to the configuration directory, without the line end', () => {
    const settings = SETTINGS.replace('clientSecret: { env: CLIENT_SECRET }', 'clientSecret: { file: keys/client }');
    const dir = writeConfiguration({ 'clinic-mirror.yaml': settings, 'keys/client': 'from a file\n' });
    expect(load(dir).settings.clinicClients.get('main')?.clientSecret?.reveal()).toBe('from a file');
  });

  test('that should be keys must have 32 bytes, in base64 or hexadecimal', () => {
    const { secrets } = load(writeConfiguration()).settings;
    expect(Buffer.from(secrets.identityKey.reveal())).toEqual(Buffer.alloc(32, 7));
    expect(Buffer.from(secrets.sealingKeys[0]?.key.reveal() ?? [])).toEqual(Buffer.alloc(32, 9));
    const lines = faultLines(writeConfiguration(), { env: { ...ENV, IDENTITY_KEY: 'c2hvcnQ=' } });
    expect(lines).toEqual([expect.stringMatching(/identityKey: the secret is not a key of 32 bytes/)]);
  });

  test('do not print with the configuration', () => {
    const configuration = load(writeConfiguration());
    const client = configuration.settings.clinicClients.get('main');
    const printed = [JSON.stringify(client), inspect(configuration, { depth: 9 }), `${client?.clientSecret}`].join(
      '\n',
    );
    expect(printed).toContain('[secret]');
    expect(printed).not.toContain(ENV.CLIENT_SECRET);
    expect(printed).not.toContain(ENV.IDENTITY_KEY);
  });

  test('of a service account must be a key file', () => {
    const account =
      '{ kind: google-service-account, keyFile: { env: TENANT_UNO__ACCOUNT }, subject: practice@clinic.test }';
    const dir = writeConfiguration({ 'tenants/uno.yaml': TENANT.replace('{ kind: google, client: main }', account) });
    const key = JSON.stringify({ client_email: 'a@b.test', private_key: 'pem' });
    expect(load(dir, { env: { ...ENV, TENANT_UNO__ACCOUNT: key } }).tenants.size).toBe(1);
    expect(faultLines(dir, { env: { ...ENV, TENANT_UNO__ACCOUNT: 'no json' } })).toEqual([
      'tenants/uno.yaml:7 connections.work.keyFile: is not valid: (not shown) → ' +
        'refer to the JSON key file that Google gave for the service account',
    ]);
  });
});

describe('logins at Microsoft', () => {
  const connection = (kind: string) => `{ kind: ${kind}, client: clinics, directory: clinic.example }`;
  const withClient = (client: string, kind: string) =>
    writeConfiguration({
      'clinic-mirror.yaml': `${SETTINGS}microsoftClients:\n  clinics: { clientId: m${client} }\n`,
      'tenants/uno.yaml': TENANT.replace('{ kind: google, client: main }', connection(kind)),
    });
  const certificate = ', certificate: { env: CERTIFICATE }';
  const pem = '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nAA==';

  test.each([
    ['', 'microsoft'],
    [', clientSecret: { env: CLIENT_SECRET }', 'microsoft'],
    [', clientSecret: { env: CLIENT_SECRET }', 'microsoft-app'],
    [certificate, 'microsoft-app'],
  ])('with a client of %j and the kind %s are complete', (client, kind) => {
    const env = { ...ENV, CERTIFICATE: pem };
    const usable = new Map([...CONNECTORS].map(([name, one]) => [name, { ...one, connectionKinds: [kind] }]));
    const { settings, tenants } = load(withClient(client, kind), { env, connectors: usable });
    expect(settings.microsoftClients.get('clinics')).toMatchObject({ authority: 'https://login.microsoftonline.com' });
    expect(tenants.get('uno')?.connections.get('work')).toMatchObject({ kind, directory: 'clinic.example' });
  });

  test('of an application itself need a secret or a certificate', () => {
    expect(faultLines(withClient('', 'microsoft-app')).join('\n')).toMatch(
      /work\.client: the Microsoft client clinics can't log in as itself → give it a clientSecret or a certificate/,
    );
  });

  test('need key and certificate in one file, which is not shown', () => {
    const env = { ...ENV, CERTIFICATE: '-----BEGIN PRIVATE KEY-----canary' };
    const lines = faultLines(withClient(certificate, 'microsoft-app'), { env }).join('\n');
    expect(lines).toMatch(/clinics\.certificate: .* → refer to one PEM file with the private key and its certificate/);
    expect(lines).not.toContain('canary');
  });
});
