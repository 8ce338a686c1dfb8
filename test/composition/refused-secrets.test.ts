import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { listenNode } from '../../sandbox/kit/listen.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { asMirrorError } from '../../src/model/errors.ts';
import { NEVER } from '../oauth/connection.ts';
import { ENV, load, SETTINGS, writeConfiguration } from '../settings/configuration-directory.ts';
import { useRedis } from '../support/redis.ts';
import { openTenantConnections } from './tenant-connections.ts';

const redis = useRedis();
const SECRET = 'a-secret-of-this-test';

/** The connections of a tenant whose every secret is refused by the one server that all addresses lead to. */
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
  const dir = writeConfiguration({
    'clinic-mirror.yaml': SETTINGS.replace('https://login.clinic.test', url)
      .replace('clientSecret: { env: CLIENT_SECRET }', 'clientSecret: { file: keys/clinic }')
      .replace(
        '  main: { clientId: g, clientSecret: { env: CLIENT_SECRET } }',
        `  main: { ${secret('google')}, issuer: "${url}" }`,
      )
      .concat(`
microsoftClients: { main: { ${secret('microsoft')}, authority: "${url}" } }
hubspotClients: { main: { ${secret('hubspot')}, authorizeUrl: "${url}/a", tokenUrl: "${url}/t" } }
salesforceClients: { main: { ${secret('salesforce')}, loginUrl: "${url}" } }
oauthClients: { main: { ${secret('oauth')}, authorizationEndpoint: "${url}/a", tokenEndpoint: "${url}/t" } }
`),
    'tenants/uno.yaml': `
name: Studio Uno
language: it
zone: Europe/Rome
clinic: { client: main, tenantId: "7" }
connections:
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
    ...Object.fromEntries(clients.map((name) => [`keys/${name}`, SECRET])),
    'secrets/uno/service': account,
    'secrets/uno/caldav': SECRET,
    'secrets/uno/key': SECRET,
  });
  const env = { ...ENV, TENANT_UNO__BASIC: SECRET, TENANT_UNO__TOKEN: SECRET };
  return openTenantConnections(load(dir, { connectors, env }), redis.connect()).connections;
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

test('a refused secret of any connection is told with the file or variable that it is read from, and never shown', async () => {
  const connections = await openRefused();
  const told: Record<string, string> = {};
  for (const [id, connection] of connections) {
    const { tokens } = connection;
    const refused = tokens === null ? connection.authorizer('t').renew(NEVER) : tokens.login.server.refresh('r', NEVER);
    const error = asMirrorError(await refused.catch((thrown: unknown) => thrown));
    expect(`${error.stack} ${JSON.stringify(error)} ${error.remedy}`, id).not.toContain(SECRET);
    told[id] = error.remedy?.split('the secret is read from ')[1] ?? `${error.code}: ${error.remedy}`;
  }
  expect(told).toEqual(PLACES);
});
