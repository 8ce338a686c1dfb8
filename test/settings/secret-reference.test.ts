import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { tenantSecretFile } from '../../src/settings/tenant-secrets.ts';
import {
  CHANNELS,
  CONNECTORS,
  ENV,
  faultLines,
  load,
  loadError,
  SETTINGS,
  TENANT,
  writeConfiguration,
} from './configuration-directory.ts';

const OF_TENANT = tenantSecretFile('uno', 'dav');

function open() {
  const dir = writeConfiguration({
    'client.secret': 'shh',
    [OF_TENANT]: 'shh',
    'clinic-mirror.yaml': SETTINGS.replace(
      'clientSecret: { env: CLIENT_SECRET }',
      'clientSecret: { file: client.secret }',
    ),
    'tenants/uno.yaml': TENANT.replace(
      'targets:',
      '  dav: { kind: caldav, username: u, password: { file: OWN/dav } }\ntargets:',
    ),
  });
  const files = new ConfigurationFiles({
    ...{ dir, env: ENV, connectors: CONNECTORS, reminderChannels: CHANNELS, mode: 'strict' },
  });
  const withMode = (mode: number) => {
    for (const name of ['client.secret', OF_TENANT]) chmodSync(join(dir, name), mode);
    return [files.openSecrets(null), files.openSecrets('uno')];
  };
  return { dir, withMode };
}

test('a secret file readable by everyone is reported by its setting and its name there', () => {
  const { withMode } = open();
  expect(withMode(0o644)).toEqual([
    [{ at: 'clinicClients.main.clientSecret', file: 'client.secret' }],
    [{ at: 'connections.dav.password', file: OF_TENANT }],
  ]);
  expect(withMode(0o604).flat()).toHaveLength(2);
});

test('a secret file readable only by owner and group is not reported, nor is one that no setting uses', () => {
  const { dir, withMode } = open();
  for (const mode of [0o600, 0o640, 0o400]) expect(withMode(mode)).toEqual([[], []]);
  writeFileSync(join(dir, 'unnamed'), 'shh', { mode: 0o644 });
  expect(withMode(0o600)).toEqual([[], []]);
});

test.each([
  ['certificates', pem('CERTIFICATE') + pem('CERTIFICATE'), 0],
  ['a certificate with its key', pem('CERTIFICATE') + pem('PRIVATE KEY'), 1],
  ['a key', pem('EC PRIVATE KEY'), 1],
  ['a password', 'shh', 1],
])('a file with %s, readable by everyone, is a secret unless its content is public', (_, content, reported) => {
  const { dir, withMode } = open();
  writeFileSync(join(dir, 'client.secret'), content);
  expect(withMode(0o644)[0]).toHaveLength(reported);
});

function pem(label: string): string {
  return `-----BEGIN ${label}-----\nMIIB\n-----END ${label}-----\n`;
}

describe('secrets', () => {
  const CANARY = 'canary-value-91b7';

  test.each([
    ['a literal', 'clientSecret: { env: CLIENT_SECRET }', `clientSecret: ${CANARY}`],
    ['a literal number', 'clientSecret: { env: CLIENT_SECRET }', 'clientSecret: 918273645'],
    ['a literal as the variable name', '{ env: CLIENT_SECRET }', `{ env: "${CANARY}" }`],
    ['a literal among braces', '{ env: CLIENT_SECRET }', `{ ${CANARY} }`],
    ['a literal key', '{ env: IDENTITY_KEY }', CANARY],
    ['a Redis URL with the wrong scheme', 'redis://127.0.0.1:6390', `http://user:${CANARY}@redis`],
    ['a base URL with credentials', 'https://api.clinic.test/', `https://user:${CANARY}@api.test`],
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
      'clinic-mirror.yaml:5 secrets.sealingKeys.0.key: the file of the secret cannot be read (ENOENT)',
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
        'refer to the JSON key file that Google issued for the service account',
    ]);
  });
});
