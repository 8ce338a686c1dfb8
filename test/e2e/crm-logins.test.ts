import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { startSalesforceSandbox } from '../../sandbox/salesforce/index.ts';
import type { Credential } from '../../src/core/model/credentials.ts';
import { refreshTokens } from '../../src/tenant/refresh-tokens.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { runHere } from './support/run-command.ts';
import { type SmallWorld, startSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const TENANT = 'clinic-1';
const USER = 'integration@clinic.example';
const NEVER = new AbortController().signal;

test('connections of CRMs are created, shown, refreshed and revoked by the command line', async () => {
  const { world, hubspot, salesforce } = await openWorld();
  const [atHubSpot, atSalesforce] = await Promise.all([
    logIn(world, 'hubspot', (url) => hubspot.authorizeInBrowser(url, { account: 'admin@clinic.example' })),
    logIn(world, 'salesforce', (url) => salesforce.authorizeInBrowser(url, { account: USER })),
  ]);
  expect([atHubSpot.code, atSalesforce.code], atHubSpot.err + atSalesforce.err).toEqual([0, 0]);

  await waitFor(async () => (await lookedAfter(world, 'hubspot'))?.refreshedAt, {
    what: 'a refresh of the HubSpot token before its expiry',
  });
  hubspot.uninstall();
  await waitFor(async () => (await lookedAfter(world, 'hubspot'))?.state === 'needs-login', {
    what: 'the revoked HubSpot connection, found by the refresh job',
  });
  const { out } = await world.cli('status');
  expect(out).toMatch(/connection hubspot \(hubspot\): needs-login.*login-ended/);
  expect(out).toMatch(/connection salesforce \(salesforce\): connected/);
  expect(out).toMatch(/connection private \(bearer\): static/);

  expect(salesforce.liveGrants(USER)).toBe(1);
  expect(await world.cli('logout', TENANT, 'salesforce')).toMatchObject({
    code: 0,
    out: expect.stringContaining('The provider revoked the connection.'),
  });
  expect(salesforce.liveGrants(USER)).toBe(0);
});

async function openWorld() {
  const [hubspot, salesforce] = await Promise.all([
    startHubSpotSandbox({ accessTokenLifetimeMs: 1_000 }),
    startSalesforceSandbox(),
  ]);
  onTestFinished(() => hubspot.close());
  onTestFinished(() => salesforce.close());
  const secret = { env: 'CRM_SECRET' };
  const world = await startSmallWorld({
    redisUrl: redis.url,
    settings: {
      hubspotClients: {
        main: {
          clientId: hubspot.application.clientId,
          clientSecret: secret,
          authorizeUrl: hubspot.authorizeUrl,
          tokenUrl: hubspot.tokenUrl,
        },
      },
      salesforceClients: {
        main: { loginUrl: salesforce.loginUrl, clientId: salesforce.application.clientId, clientSecret: secret },
      },
    },
  });
  onTestFinished(() => world.close());
  // Both sandboxes' applications have the same.
  world.env.CRM_SECRET = hubspot.application.clientSecret;
  world.env.TENANT_CLINIC_1__CRM_TOKEN = hubspot.issuePrivateToken();
  const file = join(world.configDir, 'tenants', `${TENANT}.yaml`);
  const tenant = parse(readFileSync(file, 'utf8'));
  Object.assign(tenant.connections, {
    hubspot: { kind: 'hubspot', client: 'main' },
    salesforce: { kind: 'salesforce', client: 'main' },
    private: { kind: 'bearer', token: { env: 'TENANT_CLINIC_1__CRM_TOKEN' } },
  });
  writeFileSync(file, stringify(tenant));
  return { world, hubspot, salesforce };
}

const connectionsOf = (world: SmallWorld) => world.opened().composed.get(TENANT)?.connections ?? new Map();

/** Runs the repeated refresh job. @returns the credential afterwards */
async function lookedAfter(world: SmallWorld, connection: string): Promise<Credential | null> {
  const kept = [...connectionsOf(world).values()].flatMap(({ id, tokens }) =>
    tokens === null
      ? []
      : [{ connection: id, refreshIfDue: (signal: AbortSignal) => tokens.authorizer.refreshIfDue(signal) }],
  );
  const { tenant } = world.opened().composed.get(TENANT) ?? {};
  if (tenant !== undefined) await refreshTokens(kept, tenant, NEVER);
  return (await world.opened().composed.get(TENANT)?.credentials.read(connection)) ?? null;
}

/** Runs the command, with a user who follows its instructions. */
async function logIn(world: SmallWorld, connection: string, authorize: (url: string) => Promise<string>) {
  let visit: Promise<unknown> | null = null;
  const ended = await runHere(world, ['login', TENANT, connection], (shown) => {
    const [url] = /http:\/\/127\.0\.0\.1:\d+\/\S+(?=\s)/.exec(shown) ?? [];
    if (url !== undefined) visit ??= authorize(url).then(async (back) => (await fetch(back)).text());
  });
  await visit;
  return ended;
}
