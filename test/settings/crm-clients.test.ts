import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { hubspot } from '../../src/connectors/hubspot/index.ts';
import type { ConnectorDescription } from '../../src/settings/configuration.ts';
import { ENV, faultLines, load, writeConnections } from './configuration-directory.ts';

const KINDS = ['hubspot', 'salesforce', 'salesforce-app', 'oauth', 'bearer', 'api-key', 'basic'];

/** A connector that accepts every CRM connection, as the settings see it. */
const CONNECTORS: ReadonlyMap<string, ConnectorDescription> = new Map<string, ConnectorDescription>([
  [
    'crm',
    {
      connectionKinds: KINDS,
      settingsSchema: z.strictObject({}),
      streams: ['appointments'],
      holds: 'events',
      supports: {},
    },
  ],
]);

const PEM = '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nAA==';
const SECRET = '{ env: CLIENT_SECRET }';
const OWN_SECRET = '{ env: TENANT_UNO__SECRET }';

/** A directory with one connection and the client registrations of the settings. */
function directory(connection: string, clients = ''): string {
  const more = 'targets:\n  rossi: { connector: crm, connection: work, agendas: all, settings: {} }\n';
  return writeConnections({ clients, connections: `  work: ${connection}`, more });
}

const read = (dir: string, env: Record<string, string> = {}) =>
  load(dir, { connectors: CONNECTORS, env: { ...ENV, ...env } });
const faults = (dir: string, env: Record<string, string> = {}) =>
  faultLines(dir, { connectors: CONNECTORS, env: { ...ENV, ...env } }).join('\n');

const HUBSPOT = `hubspotClients:\n  main: { clientId: h, clientSecret: ${SECRET} }\n`;
const salesforce = (more: string) => `salesforceClients:\n  main: { clientId: s${more} }\n`;
const oauth = (more = '') =>
  'oauthClients:\n  main:\n    authorizationEndpoint: https://crm.test/authorize\n' +
  `    tokenEndpoint: https://crm.test/token/\n    clientId: o\n${more}`;
const OWN_LOGIN = ', loginUrl: "https://clinic.my.salesforce.com/"';

describe('connections to CRMs', () => {
  test.each([
    ['{ kind: hubspot, client: main }', HUBSPOT],
    ['{ kind: salesforce, client: main }', salesforce('')],
    ['{ kind: salesforce-app, client: main }', salesforce(`${OWN_LOGIN}, clientSecret: ${SECRET}`)],
    ['{ kind: salesforce-app, client: main, subject: bot@clinic.test }', salesforce(', certificate: { env: PEM }')],
    ['{ kind: oauth, client: main }', oauth()],
    [`{ kind: bearer, token: ${OWN_SECRET} }`, ''],
    [`{ kind: api-key, header: X-Api-Key, key: ${OWN_SECRET} }`, ''],
    [`{ kind: basic, username: u, password: ${OWN_SECRET} }`, ''],
  ])('are complete with %s', (connection, clients) => {
    const { tenants } = read(directory(connection, clients), { PEM });
    expect(KINDS).toContain(tenants.get('uno')?.connections.get('work')?.kind);
  });

  test.each([
    ['{ kind: hubspot, client: main, account: { subject: "4711" } }', HUBSPOT],
    ['{ kind: salesforce, client: main, account: { address: crm@clinic.test } }', salesforce('')],
    ['{ kind: oauth, client: main, account: { subject: u-1, address: crm@clinic.test } }', oauth()],
  ])('may name whose they must be: %s', (connection, clients) => {
    const { tenants } = read(directory(connection, clients));
    expect(tenants.get('uno')?.connections.get('work')).toHaveProperty('account');
  });

  test("have the vendors' URLs by default", () => {
    const { settings } = read(directory('{ kind: hubspot, client: main }', `${HUBSPOT}${salesforce('')}`));
    expect(settings.hubspotClients.get('main')).toMatchObject({
      authorizeUrl: 'https://app.hubspot.com/oauth/authorize',
      tokenUrl: 'https://api.hubapi.com/oauth/2026-09/token',
    });
    expect(settings.salesforceClients.get('main')).toMatchObject({ loginUrl: 'https://login.salesforce.com' });
  });

  test('of HubSpot are made under the date of its other calls', () => {
    const { settings } = read(directory('{ kind: hubspot, client: main }', HUBSPOT));
    const { version } = hubspot.settingsSchema.parse({});
    expect(settings.hubspotClients.get('main')?.tokenUrl).toContain(`/${version}/`);
  });

  test('of HubSpot stay below what it allows one account by default: 110 calls in any ten seconds', () => {
    const { settings } = read(directory('{ kind: hubspot, client: main }', HUBSPOT));
    const { requestsPerMinute, burst } = settings.hubspotClients.get('main')?.budget ?? {
      requestsPerMinute: 0,
      burst: 0,
    };
    expect(burst + requestsPerMinute / 6).toBeLessThanOrEqual(110);
  });

  test('to any server keep its URLs unchanged, and its parameters', () => {
    const more = '    scopes: [crm.read, crm.write]\n    loginParameters: { audience: crm }\n';
    const { settings } = read(directory('{ kind: oauth, client: main }', oauth(more)));
    expect(settings.oauthClients.get('main')).toMatchObject({
      tokenEndpoint: 'https://crm.test/token/',
      scopes: ['crm.read', 'crm.write'],
      loginParameters: { audience: 'crm' },
    });
  });

  test('by a key take its header in lower case', () => {
    const { tenants } = read(directory(`{ kind: api-key, header: X-Api-KEY, key: ${OWN_SECRET} }`));
    expect(tenants.get('uno')?.connections.get('work')).toMatchObject({ header: 'x-api-key' });
  });
});

describe('a fault of a CRM connection names its field and the remedy', () => {
  test.each([
    ['{ kind: hubspot, client: main, account: {} }', HUBSPOT, /work\.account: .* set at least one of: subject/],
    // Account fields that these vendors do not verify.
    ['{ kind: hubspot, client: main, account: { address: a@b.test } }', HUBSPOT, /work\.account.*address/],
    ['{ kind: salesforce, client: main, account: { domain: b.test } }', salesforce(''), /work\.account.*domain/],
    [
      '{ kind: hubspot, client: mian }',
      HUBSPOT,
      /work\.client: HubSpot client "mian" does not exist → did you mean main\? .*add the name to hubspotClients/,
    ],
    [
      '{ kind: salesforce, client: main }',
      HUBSPOT,
      /work\.client: Salesforce client "main" does not exist → none is defined; add the name to salesforceClients/,
    ],
    [
      '{ kind: oauth, client: crm }',
      oauth(),
      /work\.client: OAuth client "crm" does not exist → available: main; add the name to oauthClients/,
    ],
    [
      '{ kind: salesforce-app, client: main, subject: bot@clinic.test }',
      salesforce(`, clientSecret: ${SECRET}`),
      /client: the Salesforce client main has no certificate and cannot connect as a named user → add certificate to the client in .*, or remove subject/,
    ],
    [
      '{ kind: salesforce-app, client: main }',
      salesforce(', certificate: { env: PEM }'),
      /client: the Salesforce client main has no secret and cannot connect without a user → add clientSecret to the client in .*, or set a subject/,
    ],
    [
      '{ kind: salesforce-app, client: main }',
      salesforce(`, clientSecret: ${SECRET}`),
      /client: the loginUrl of the Salesforce client main accepts no secret without a user → set loginUrl .*URL of the org/,
    ],
    [
      '{ kind: salesforce-app, client: main }',
      salesforce(`, clientSecret: ${SECRET}, loginUrl: "https://test.salesforce.com/"`),
      /accepts no secret without a user/,
    ],
    ['{ kind: hubspot, client: main, subject: x }', HUBSPOT, /work\.subject: unknown key/],
    ['{ kind: hubspto, client: main }', HUBSPOT, /work\.kind: is not valid: "hubspto" → allowed: .*hubspot/],
    [
      `{ kind: api-key, header: "X Key", key: ${OWN_SECRET} }`,
      '',
      /work\.header: is not valid: "X Key" → enter the name of a header/,
    ],
    [`{ kind: api-key, header: Content-Type, key: ${OWN_SECRET} }`, '', /work\.header: .* → choose another header/],
    [
      '{ kind: basic, username: "a:b", password: { env: TENANT_UNO__SECRET } }',
      '',
      /work\.username: .* → .* without a colon/,
    ],
  ])('%s', (connection, clients, expected) => {
    expect(faults(directory(connection, clients), { PEM })).toMatch(expected);
  });

  test.each([
    ['http://crm.example.org/token', 'plain http'],
    ['https://user:pass@crm.test/token', 'a user'],
    ['https://crm.test/token#x', 'a fragment'],
    ['crm.test/token', 'no scheme'],
  ])('an endpoint such as %s has %s', (address) => {
    const clients = oauth().replace('https://crm.test/token/', `"${address}"`);
    const lines = faults(directory('{ kind: oauth, client: main }', clients));
    expect(lines).toMatch(/oauthClients\.main\.tokenEndpoint: .* → enter an https:\/\/ URL without user and fragment/);
    expect(lines).not.toContain('user:pass');
  });

  test.each(['redirect_uri', 'client_secret', 'response_type', 'state'])(
    'a connection cannot configure the reserved parameter %s',
    (name) => {
      const lines = faults(directory('{ kind: oauth, client: main }', oauth(`    loginParameters: { ${name}: x }\n`)));
      expect(lines).toMatch(/oauthClients\.main\.loginParameters\S*: .*remove this parameter/);
    },
  );

  test('scopes are entries, not words of one', () => {
    const clients = oauth('    scopes: ["crm.read crm.write"]\n');
    expect(faults(directory('{ kind: oauth, client: main }', clients))).toMatch(
      /scopes\.0: .* → write each scope as a separate element/,
    );
  });

  test.each([
    [
      '{ kind: bearer, token: { env: TENANT_UNO__CANARY } }',
      'Bearer canary-1',
      /work\.token: .* → refer to the token only/,
    ],
    ['{ kind: bearer, token: { env: TENANT_UNO__CANARY } }', 'canary\n1', /work\.token: .* → refer to the token only/],
    [
      '{ kind: api-key, header: x, key: { env: TENANT_UNO__CANARY } }',
      'canary\n1',
      /work\.key: .* → refer to one line/,
    ],
    ['{ kind: api-key, header: x, key: { env: TENANT_UNO__CANARY } }', 'canarÿ', /work\.key: .* → refer to one line/],
    ['{ kind: bearer, token: canary-1 }', '', /work\.token: is not valid: \(not shown\) → write \{ env: NAME/],
  ])('a secret is not shown: %s', (connection, canary, expected) => {
    const lines = faults(directory(connection), canary === '' ? {} : { TENANT_UNO__CANARY: canary });
    expect(lines).toMatch(expected);
    expect(lines).not.toMatch(/canary-1|canar\W/);
  });
});
