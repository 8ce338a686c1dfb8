import { describe, expect, onTestFinished, test } from 'vitest';
import { startGraphSandbox } from '../../sandbox/graph/index.ts';
import { connectors } from '../../src/connectors/registry.ts';
import { ENV, load, SETTINGS, writeConfiguration } from '../settings/configuration-directory.ts';
import { useRedis } from '../support/redis.ts';
import { openTenantConnections } from './tenant-connections.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;
const MAILBOX = 'doctor@clinic.example';

const TENANT = `
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

/** The connections of a tenant with both logins at Microsoft, as the daemon opens them from its files. */
async function openTenant() {
  const sandbox = await startGraphSandbox();
  onTestFinished(() => sandbox.close());
  sandbox.addMailbox(MAILBOX);
  const { clientId, clientSecret } = sandbox.application;
  const client = `{ authority: ${sandbox.url}, clientId: ${clientId}, clientSecret: { env: GRAPH_SECRET } }`;
  const dir = writeConfiguration({
    'clinic-mirror.yaml': `${SETTINGS}microsoftClients:\n  clinics: ${client}\n`,
    'tenants/uno.yaml': TENANT.replaceAll('DIRECTORY', sandbox.tenantId),
  });
  const configuration = load(dir, { connectors, env: { ...ENV, GRAPH_SECRET: clientSecret ?? '' } });
  const spent: number[] = [];
  const budget = () => ({
    take: async (_signal: AbortSignal, units = 1) => void spent.push(units),
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

describe('logins at Microsoft', () => {
  test('of a person wait for that person, and ask for who they are, for what the targets need and for a lasting login', async () => {
    const { connections, sandbox } = await openTenant();
    const person = connections.get('person');
    expect(person).toMatchObject({
      kind: 'microsoft',
      scopes: ['openid', 'profile', 'https://graph.microsoft.com/Calendars.ReadWrite', 'offline_access'],
    });
    expect(person?.tokens?.login.server.provider.issuer).toBe(sandbox.issuer);
    await expect(person?.authorizer('own').header(NEVER)).rejects.toMatchObject({ actor: 'authorization' });
  });

  test('of the application work at once, and draw from its budget', async () => {
    const { connections, tenant, spent } = await openTenant();
    const application = connections.get('application');
    expect(application).toMatchObject({ kind: 'microsoft-app', scopes: [], tokens: null });
    const [one, other] = [application!.authorizer('one'), application!.authorizer('other')];
    expect(one, 'targets in one mailbox take turns by their login').toBe(other);
    expect(await one.header(NEVER)).toMatch(/^Bearer /);
    expect(spent).toEqual([1]);
    expect(tenant.targets.get('other')?.settings).toMatchObject({ mailbox: MAILBOX, deleteMode: 'soft' });
  });
});
