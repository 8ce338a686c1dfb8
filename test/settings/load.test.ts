import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { ConfigurationError, renderFaults } from '../../src/settings/faults.ts';
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

describe('a mistyped key', () => {
  test.each([
    ['agendas: all', 'agendaz: all'],
    ['targets:', 'target:'],
    ['connections:', 'conections:'],
    ['client: main, tenantId', 'clinet: main, tenantId'],
    ['calendar: a', 'calender: a'],
  ])('is the one fault of its file: %s as %s', (from, to) => {
    const dir = writeConfiguration({ 'tenants/uno.yaml': TENANT.replace(from, to) });
    const [meant = ''] = /\w+/.exec(from) ?? [];
    const lines = faultLines(dir);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`unknown key → did you mean ${meant}?`);
  });

  test('hides no other fault below it, which is told with the line where it stands', () => {
    const tenant = TENANT.replace('targets:', 'target:').replace('connection: work', 'connection: wokr');
    const lines = faultLines(writeConfiguration({ 'tenants/uno.yaml': tenant }));
    const lineOf = (text: string) => tenant.split('\n').findIndex((line) => line.includes(text)) + 1;
    expect(lines).toEqual([
      expect.stringMatching(`^tenants/uno\\.yaml:${lineOf('target:')} target: unknown key`),
      expect.stringMatching(`^tenants/uno\\.yaml:${lineOf('wokr')} targets.rossi.connection: there is no connection`),
    ]);
  });

  test('of a section of the settings is the one fault', () => {
    const dir = writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace('googleClients', 'googelClients') });
    expect(faultLines(dir)).toEqual([
      expect.stringContaining('googelClients: unknown key → did you mean googleClients?'),
    ]);
  });

  test('that looks like a secret is never shown under the name that was meant', () => {
    const dir = writeConfiguration({
      'tenants/uno.yaml': TENANT.replace('client: main }', 'client: main, accesskey: [shh] }'),
    });
    expect(faultLines(dir).join('\n')).not.toContain('shh');
  });
});

describe('faults', () => {
  test('of all files are told at once, each with file, line, path, value and remedy', () => {
    const dir = writeConfiguration({
      'clinic-mirror.yaml': `${SETTINGS}shedule: {}\nlog: { level: trace }\n`,
      'profiles/plain.yaml': 'scopePrefx: x\n',
      'tenants/due.yaml': TENANT.replace('Europe/Rome', 'Europe/Roma').replace('"7"', '8'),
    });
    const lines = faultLines(dir);
    expect(lines).toHaveLength(5);
    expect(lines[0]).toMatch(
      /^clinic-mirror\.yaml:15 shedule: unknown key → did you mean schedule\? allowed here: redis/,
    );
    expect(lines[1]).toBe('clinic-mirror.yaml:16 log.level: is not valid: "trace" → allowed: debug, info, warn, error');
    expect(lines[2]).toMatch(/^profiles\/plain\.yaml:1 scopePrefx: unknown key → did you mean scopePrefix\?/);
    expect(lines[3]).toBe('tenants/due.yaml:4 zone: is not valid: "Europe/Roma" → did you mean Europe/Rome?');
    expect(lines[4]).toBe(
      'tenants/due.yaml:5 clinic.tenantId: is not valid: 8 → put it in quotes, so that it is a text',
    );
  });

  test('of a missing key name the line of what should hold it', () => {
    const lines = faultLines(writeConfiguration({ 'tenants/uno.yaml': TENANT.replace('    agendas: all\n', '') }));
    expect(lines).toEqual([
      'tenants/uno.yaml:9 targets.rossi: agendas are not named → name the ids of the agendas that go into this calendar, or all',
    ]);
  });

  test.each([
    ['a: [', 1, 'a quote, bracket or brace is not closed'],
    ['name: x\n\tlanguage: it', 2, 'a tab is used as indentation'],
    [TENANT.replace('    agendas', '\tagendas'), 12, 'a tab is used as indentation'],
    [TENANT.replace('    agendas', '  \tagendas'), 12, 'a tab is used as indentation'],
    [TENANT.replace('targets:', 'a stray line\ntargets:'), 8, 'a character is missing'],
    [TENANT.replace('    agendas', '    stray\n    agendas'), 12, 'a key runs over several lines'],
    [TENANT.replace('targets:', 'targets'), 8, 'a key runs over several lines'],
    [`${TENANT}stray\n`, 14, 'a character is missing'],
    [TENANT.replace('agendas: all', 'agendas: [all'), 12, 'a quote, bracket or brace is not closed'],
    ['name: x\nname: y', 2, 'the key is given twice'],
    ['name: x\n---\nname: y', 2, 'the file holds several documents'],
    ['name: *nothing', 1, 'the alias has no anchor'],
    ['name: "unclosed\nlanguage: it', 1, 'a quote, bracket or brace is not closed'],
  ])('of malformed YAML are one, the first cause, with its line: %j', (content, line, cause) => {
    const { faults } = loadError(writeConfiguration({ 'tenants/uno.yaml': content }));
    expect(faults).toMatchObject([{ path: '', line, message: expect.stringContaining(`not valid YAML: ${cause}`) }]);
  });

  test('are an empty file, a missing one, one that would not be read, and a name that is no id', () => {
    const dir = writeConfiguration({
      'tenants/due.yaml': '# nothing\n',
      'tenants/tre.yml': '',
      'tenants/Four!.yaml': '',
    });
    expect(faultLines(dir).toSorted()).toEqual([
      expect.stringMatching(/^tenants\/Four!\.yaml:- : the file's name can't be an id →/),
      'tenants/due.yaml:- : the file is empty → fill it in, or remove it',
      'tenants/tre.yml:- : the file would not be read → rename it to end in .yaml',
    ]);
    expect(faultLines(join(dir, 'nowhere'))[0]).toMatch(
      /clinic-mirror\.yaml:- : there is no such file → make it with .clinic-mirror init., or name the folder that has it with --config/,
    );
  });

  test('are aliases that would fill the memory', () => {
    const levels = Array.from(
      { length: 12 },
      (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`,
    );
    const dir = writeConfiguration({ 'tenants/uno.yaml': ['l0: &l0 x', ...levels].join('\n') });
    expect(faultLines(dir)).toEqual(['tenants/uno.yaml:- : too many aliases → write the values out']);
  });

  test('are rendered in at most 100 columns, file by file', () => {
    const dir = writeConfiguration({
      'clinic-mirror.yaml': `${SETTINGS}shedule: {}\n`,
      'tenants/due.yaml': TENANT.replace('work:', `${'w'.repeat(300)}:`),
    });
    const error = loadError(dir);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toMatch(/^\d+ faults in the configuration\n\n\S+clinic-mirror\.yaml\n {2}line 15, shedule/);
    expect(Math.max(...error.message.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });
});

describe('whatever stands in a file', () => {
  /** Tenant files that are nearly right, so that the deeper checks are reached too. */
  const nearlyRight = fc.record(
    {
      name: fc.anything(),
      zone: fc.constantFrom('Europe/Rome', 'Rome', '', '+01:00'),
      clinic: fc.oneof(fc.anything(), fc.record({ client: fc.constantFrom('main', 'constructor', '__proto__') })),
      connections: fc.oneof(
        fc.jsonValue(),
        fc.dictionary(fc.string(), fc.record({ kind: fc.string(), client: fc.string() })),
      ),
      targets: fc.dictionary(
        fc.string(),
        fc.record({ connector: fc.constantFrom('dav', 'calendar'), settings: fc.jsonValue() }),
      ),
    },
    { requiredKeys: [] },
  );
  const content = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    nearlyRight.map((tenant) => JSON.stringify(tenant) ?? ''),
  );

  test('the faults are told in at most 100 printable columns, and the other tenant goes on', () => {
    const dir = writeConfiguration();
    fc.assert(
      fc.property(content, (text) => {
        writeFileSync(join(dir, 'tenants/due.yaml'), text);
        const { tenants, unusable } = load(dir, { mode: 'set-aside' });
        expect([...tenants.keys()]).toEqual(['uno']);
        const lines = renderFaults(unusable[0]?.faults ?? []).split('\n');
        expect(lines.length).toBeGreaterThan(4);
        expect(lines.filter((line) => line.length > 100 || /\p{Cc}/u.test(line))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

test('control characters of a file do not reach the terminal', () => {
  const tenant = TENANT.replaceAll('work', '"wo\\e[31m\\x9brk"').replace('agendas', '"agen\\adas"');
  const { message } = loadError(writeConfiguration({ 'tenants/uno.yaml': tenant }));
  expect(message).toContain('agen?das: unknown key');
  expect(message).toContain('wo?[31m');
  expect(message.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
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

describe('references', () => {
  test.each([
    [
      'connector: calendar',
      'connector: calender',
      /connector: there is no connector "calender" → did you mean calendar\?/,
    ],
    ['connection: work', 'connection: wrok', /connection: there is no connection "wrok" → did you mean work\?/],
    ['connection: work', 'connection: clinic', /connection: the login to the clinic can write to no target/],
    [
      'client: main, tenantId',
      'client: mian, tenantId',
      /clinic\.client: there is no clinic client "mian" → did you mean main/,
    ],
    [
      'google, client: main',
      'google, client: other',
      /work\.client: there is no Google client "other" → there are: main/,
    ],
    ['  work:', '  clinic:', /connections\.clinic: the key is not allowed → choose another name/],
    ['kind: google, client: main', 'kind: gogle', /connections\.work\.kind: is not valid: "gogle" → allowed: google, /],
    ['calendar: a', 'calender: a', /settings\.calender: unknown key → did you mean calendar\?/],
    ['    settings: { calendar: a }', '', /settings\.calendar: is missing → add it: a text/],
    ['agendas: all', 'agendas: ["1", "1"]', /agendas: is not valid: a list → name each one once/],
    ['agendas: all', 'agendas: [12]', /agendas\.0: is not valid: 12 → put it in quotes/],
    ['agendas: all', 'agendas: []', /agendas: is not valid: a list → at least 1 element$/],
    ['agendas: all', 'agendas: al', /agendas: is not valid: "al" → /],
    [
      'agendas: all',
      'agendas: all\n    title: full',
      /title: the title full tells of the patient, and no reason is given/,
    ],
    [
      'agendas: all',
      'agendas: all\n    titleFormat: "{treatment}: {title}"',
      /titleFormat: titles would tell the treatment, which is not among fields → add treatment to fields/,
    ],
    [
      'agendas: all',
      'agendas: all\n    titleFormat: "{patient}"',
      /titleFormat: is not valid: .* → write texts and \{title\}, \{location\}, \{agenda\}, \{treatment\}, \{status\}; what stands in/,
    ],
    [
      'agendas: all',
      'agendas: all\n    tentative: [booked, no_show]',
      /tentative: no_show is among free too, which is cancelled, no_show → name each status in one of the two/,
    ],
    [
      'agendas: all',
      'agendas: all\n    labels: [{ colour: red }, { category: Surgery }]',
      /labels\.0\.colour: calendar has no place for it → give a category/,
    ],
    [
      'agendas: all',
      'agendas: all\n    labels: [{ statuses: [booked] }]',
      /labels\.0: is not valid: .* → give a colour or a category/,
    ],
    [
      'agendas: all',
      'agendas: all\n    reminderMinutes: none',
      /reminderMinutes: calendar has no place for it → leave it out: entries are made without reminders/,
    ],
    [
      'agendas: all',
      'agendas: all\n    links: [page, teleVisit]',
      /links: the clinic profile tells no address for page → set appointments\.pageUrl there, or leave it out/,
    ],
    ['zone: Europe/Rome', 'zone: "+01:00"', /zone: is not valid: "\+01:00" → give an IANA time zone/],
    [
      '{ kind: google, client: main }',
      '{ kind: microsoft, client: other }',
      /work\.client: there is no Microsoft client "other" → there is no Microsoft client yet; add it to microsoftClients/,
    ],
    [
      '{ kind: google, client: main }',
      '{ kind: microsoft, client: other, directory: "a/b" }',
      /work\.directory: is not valid: "a\/b" → give the id or a domain of the directory/,
    ],
  ])('must hold: %j written as %j', (from, to, expected) => {
    const lines = faultLines(writeConfiguration({ 'tenants/uno.yaml': TENANT.replace(from, to) }));
    expect(
      lines.some((line) => expected.test(line)),
      lines.join('\n'),
    ).toBe(true);
  });

  test('to a connection must fit the connector', () => {
    const connection = '{ kind: caldav, username: u, password: { env: TENANT_UNO__SECRET } }';
    const tenant = TENANT.replace('{ kind: google, client: main }', connection);
    expect(faultLines(writeConfiguration({ 'tenants/uno.yaml': tenant }))).toEqual([
      "tenants/uno.yaml:11 targets.rossi.connection: the connection work is of the kind caldav, which this connector can't " +
        'use → name a connection of the kind google or google-service-account',
    ]);
  });

  test('to a profile must hold', () => {
    const dir = writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace('profile: plain', 'profile: plian') });
    expect(faultLines(dir)[0]).toMatch(
      /clinicClients\.main\.profile: there is no profile "plian" → did you mean plain\?/,
    );
  });

  test('twice to one calendar with a common agenda are refused; with different agendas they are allowed', () => {
    const twin = (agendas: string) =>
      `${TENANT}  verdi: { connector: calendar, connection: work, agendas: ${agendas}, settings: { calendar: a } }\n`;
    const common = faultLines(writeConfiguration({ 'tenants/uno.yaml': twin('["1"]') }));
    expect(common).toEqual([expect.stringMatching(/targets\.verdi: writes to the same calendar as the target rossi/)]);
    const apart = twin('["1"]').replace('agendas: all', 'agendas: ["2"]');
    expect(load(writeConfiguration({ 'tenants/uno.yaml': apart })).tenants.get('uno')?.targets.size).toBe(2);
  });

  describe('of two files that do not name their clinic', () => {
    const unnamed = TENANT.replace(', tenantId: "7"', '');
    const withAgendas = (agendas: string) => unnamed.replace('agendas: all', `agendas: ${agendas}`);
    const owned = unnamed.replace(
      'client: main }\ntargets',
      'client: main, account: { address: a@b.example } }\ntargets',
    );
    test.each([
      ['the same agenda into the same calendar', withAgendas('["1", "2"]'), withAgendas('["2", "3"]')],
      ['every agenda into a calendar of the same account', owned, owned],
    ])('those that write %s are refused in the later file, with the other named', (_what, one, other) => {
      expect(faultLines(writeConfiguration({ 'tenants/uno.yaml': one, 'tenants/zwei.yaml': other }))).toEqual([
        expect.stringMatching(
          /^tenants\/zwei\.yaml:9 targets\.rossi: the tenant uno writes the same agendas into the same calendar → keep one file .*clinic\.tenantId/,
        ),
      ]);
    });

    test.each([
      ['other agendas', withAgendas('["1"]'), withAgendas('["2"]')],
      ['another calendar', withAgendas('["1"]'), withAgendas('["1"]').replace('calendar: a', 'calendar: b')],
      ['whatever account logs in', unnamed, unnamed],
      ['a clinic of its own', withAgendas('["1"]'), TENANT.replace('agendas: all', 'agendas: ["1"]')],
    ])('those with %s are allowed', (_what, one, other) => {
      const { tenants } = load(writeConfiguration({ 'tenants/uno.yaml': one, 'tenants/zwei.yaml': other }));
      expect([...tenants.keys()]).toEqual(['uno', 'zwei']);
    });
  });

  test('of two tenant files to one clinic are refused in the later file', () => {
    expect(faultLines(writeConfiguration({ 'tenants/zwei.yaml': TENANT }))).toEqual([
      expect.stringMatching(/^tenants\/zwei\.yaml:5 clinic\.tenantId: the tenant uno is the same clinic →/),
    ]);
  });
});

describe('setting broken tenants aside', () => {
  test('keeps the others going', () => {
    const dir = writeConfiguration({ 'tenants/due.yaml': TENANT.replace('"7"', '8'), 'tenants/tre.yaml': 'a: [' });
    const { tenants, unusable } = load(dir, { mode: 'set-aside' });
    expect([...tenants.keys()]).toEqual(['uno']);
    expect(unusable.map(({ id, faults }) => [id, faults.length > 0])).toEqual([
      ['due', true],
      ['tre', true],
    ]);
  });

  test('includes the tenants whose clinic profile is broken', () => {
    const client = '  other: { profile: odd, baseUrl: https://a.test, authUrl: https://b.test, clientId: c }\n';
    const dir = writeConfiguration({
      'clinic-mirror.yaml': SETTINGS.replace('googleClients:', `${client}googleClients:`),
      'profiles/odd.yaml': 'unheard: of',
      'tenants/due.yaml': TENANT.replace('client: main, tenantId', 'client: other, tenantId'),
    });
    const { tenants, unusable, profiles } = load(dir, { mode: 'set-aside' });
    expect([...tenants.keys()]).toEqual(['uno']);
    expect([...profiles.keys()]).toEqual(['plain']);
    expect(unusable).toMatchObject([{ id: 'due', faults: [{ path: 'unheard' }] }]);
  });

  test('does not help when the settings are at fault; then the faults of the tenants are told too', () => {
    const dir = writeConfiguration({
      'clinic-mirror.yaml': SETTINGS.replace('IDENTITY_KEY', 'NOT_SET'),
      'tenants/due.yaml': 'a: [',
    });
    const files = loadError(dir, { mode: 'set-aside' }).faults.map(({ file }) => file.slice(dir.length + 1));
    expect(new Set(files)).toEqual(new Set(['clinic-mirror.yaml', 'tenants/due.yaml']));
  });
});
