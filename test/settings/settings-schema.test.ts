import { describe, expect, test } from 'vitest';
import { CONNECTORS, ENV, faultLines, load, SETTINGS, TENANT, writeConfiguration } from './configuration-directory.ts';

describe('a valid configuration', () => {
  test('has no client under a name that every object knows', () => {
    expect(load(writeConfiguration()).settings.clinicClients.get('constructor')).toBeUndefined();
  });

  test('normalises a base URL without a trailing slash, and a zone as IANA spells it', () => {
    const tenant = TENANT.replace('Europe/Rome', 'europe/rome');
    const { settings, tenants } = load(writeConfiguration({ 'tenants/uno.yaml': tenant }));
    expect(settings.clinicClients.get('main')?.baseUrl).toBe('https://api.clinic.test');
    expect(tenants.get('uno')?.zone).toBe('Europe/Rome');
  });

  test('returns sign-ins to this host unless a public URL is set', () => {
    const local = load(writeConfiguration({ 'clinic-mirror.yaml': `${SETTINGS}http: { port: 9000 }\n` }));
    expect(local.settings.http.publicUrl).toBe('http://localhost:9000');
    const settings = `${SETTINGS}http: { port: 8080, publicUrl: "https://mirror.test/dir/" }\n`;
    const published = load(writeConfiguration({ 'clinic-mirror.yaml': settings }));
    expect(published.settings.http.publicUrl).toBe('https://mirror.test/dir');
    expect(load(writeConfiguration()).settings.http).toMatchObject({ port: null, publicUrl: null });
  });

  test('accepts networks and single IP addresses of trusted proxies, and has none by default', () => {
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
  ])('sends tokens over https, or within the host or container network: %s', (address, isAllowed) => {
    const settings = SETTINGS.replace('https://api.clinic.test/', address);
    const dir = writeConfiguration({ 'clinic-mirror.yaml': settings });
    if (isAllowed) expect(load(dir).settings.clinicClients.get('main')?.baseUrl).toBe(address);
    else
      expect(faultLines(dir)).toEqual([expect.stringMatching(/baseUrl: is not valid: .* → enter an https:\/\/ URL/)]);
  });
});

describe('connections to Microsoft', () => {
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
      /work\.client: the Microsoft client clinics has no secret and no certificate, which connections as an application require → add clientSecret or certificate/,
    );
  });

  test('need key and certificate in one file, which is not shown', () => {
    const env = { ...ENV, CERTIFICATE: '-----BEGIN PRIVATE KEY-----canary' };
    const lines = faultLines(withClient(certificate, 'microsoft-app'), { env }).join('\n');
    expect(lines).toMatch(/clinics\.certificate: .* → refer to one PEM file with the private key and its certificate/);
    expect(lines).not.toContain('canary');
  });
});
