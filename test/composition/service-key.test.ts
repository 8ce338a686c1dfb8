import { expect, onTestFinished, test, vi } from 'vitest';
import { startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { type FaultProxy, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { hubspot } from '../../src/connectors/hubspot/index.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/http/client.ts';
import { silentLogger } from '../../src/log/logger.ts';
import type { MirrorError } from '../../src/model/errors.ts';
import type { CrmItem } from '../../src/model/items.ts';
import type { Operation } from '../../src/model/operations.ts';
import { changeJson, jsonAnswer } from '../contract/crm-wire.ts';
import { ENV, load, writeConnections } from '../settings/configuration-directory.ts';
import { paced } from '../support/pace.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { useRedis } from '../support/redis.ts';
import { openTenantConnections } from './tenant-connections.ts';

const redis = useRedis();
const KEY_OF_RECORD = 'a'.repeat(32);
const PATIENT: Operation<CrmItem> = {
  ...{ kind: 'create', recordId: 'p1', key: KEY_OF_RECORD, sealedRecordId: 'sealed', revision: 1 },
  item: { properties: { lastname: 'Lind', email: 'ada@example.org' }, contactKey: null, startAt: 0 },
};
const LISTS = { method: /^GET$/, url: /\/crm\/objects\/[\w-]+\/contacts\?/ };

/** The login of a tenant file whose connection `crm` is a Service Key; the application of the settings is for others. */
function authorizerOf(serviceKey: string, hub: { authorizeUrl: string; tokenUrl: string }) {
  const dir = writeConnections({
    clients: `hubspotClients:
  main: { clientId: c, clientSecret: { env: CRM_SECRET }, authorizeUrl: "${hub.authorizeUrl}", tokenUrl: "${hub.tokenUrl}" }
`,
    connections: '  crm: { kind: bearer, token: { env: TENANT_UNO__TOKEN } }',
  });
  const configuration = load(dir, { env: { ...ENV, CRM_SECRET: 's', TENANT_UNO__TOKEN: serviceKey } });
  const { connections } = openTenantConnections(configuration, redis.connect());
  return connections.get('crm')!.authorizer('contacts');
}

/** Contacts by a Service Key, in an account behind a proxy, and a server that is nobody's. */
async function openContacts() {
  const sandbox = await startHubSpotSandbox();
  onTestFinished(() => sandbox.close());
  const proxy = await startFaultProxy(sandbox.apiUrl);
  onTestFinished(() => proxy.close());
  const stranger = await startReceiver();
  onTestFinished(() => stranger.close());
  const serviceKey = sandbox.issuePrivateToken();
  const said = vi.fn();
  const log = { ...silentLogger, debug: said, info: said, warn: said, error: said, child: () => log };
  const connector = hubspot.open({
    ownerTag: 'servicekeymark00',
    crm: {
      stream: 'patients',
      properties: [
        { name: 'lastname', kind: 'text' },
        { name: 'email', kind: 'text' },
      ],
    },
    authorizer: authorizerOf(serviceKey, { authorizeUrl: sandbox.authorizeUrl, tokenUrl: `${stranger.url}/token` }),
    http: createHttpClient({ userAgent: 'test', clock: Date.now, timeoutMs: paced(5_000) }),
    shared: new SharedState(),
    log,
    clock: Date.now,
    settings: hubspot.settingsSchema.parse({ apiUrl: proxy.url }),
  });
  const prepare = () => connector.prepare(null, AbortSignal.timeout(paced(60_000)));
  const write = (container: string) => connector.apply(container, [PATIENT], AbortSignal.timeout(paced(60_000)));
  const read = async (container: string) =>
    (await Array.fromAsync(connector.read(container, null, AbortSignal.timeout(paced(60_000))))).flat();
  return { sandbox, proxy, stranger, serviceKey, said, prepare, write, read };
}

/** Headers, by name, in which the key stands; addresses and bodies never hold it. */
function headersWith(serviceKey: string, { requests }: Pick<FaultProxy | Receiver, 'requests'>): string[] {
  return requests.flatMap(({ headers, body, ...address }) => {
    expect(JSON.stringify([address, body])).not.toContain(serviceKey);
    return Object.keys(headers).filter((name) => headers[name]?.includes(serviceKey));
  });
}

test('a Service Key writes and reads contacts, and stands in the one header of each call', async () => {
  const { sandbox, proxy, stranger, serviceKey, said, prepare, write, read } = await openContacts();
  const container = await prepare();
  expect(await write(container)).toMatchObject([{ result: 'written', effect: 'created' }]);
  expect((await read(container)).map(({ key }) => key)).toEqual([KEY_OF_RECORD]);
  expect(sandbox.records('contacts')).toHaveLength(1);
  expect(proxy.requests.length).toBeGreaterThan(3);
  expect(headersWith(serviceKey, proxy)).toEqual(proxy.requests.map(() => 'authorization'));
  expect(stranger.requests).toEqual([]);
  expect(JSON.stringify(said.mock.calls)).not.toContain(serviceKey);
});

test.each([301, 302, 307, 308])('a Service Key does not follow HubSpot elsewhere (%d)', async (status) => {
  const { proxy, stranger, prepare, write } = await openContacts();
  const container = await prepare();
  const moved = { ...jsonAnswer(status, {}), headers: { location: `${stranger.url}/crm` } };
  proxy.add({ method: /^POST$/, times: Number.POSITIVE_INFINITY, fault: { kind: 'answer', answer: moved } });
  await expect(write(container)).rejects.toMatchObject({ name: 'MirrorError' });
  expect(stranger.requests).toEqual([]);
});

test('a Service Key does not follow the address of a next page', async () => {
  const { proxy, stranger, prepare, write, read } = await openContacts();
  const container = await prepare();
  await write(container);
  const next = { after: '1', link: `${stranger.url}/page` };
  proxy.add({
    ...LISTS,
    fault: {
      kind: 'rewrite',
      answer: (answer) => changeJson(answer, (body) => ({ ...body, paging: { next } })),
    },
  });
  await read(container);
  expect(proxy.requests.at(-1)?.url).toContain('after=1');
  expect(stranger.requests).toEqual([]);
});

test('a Service Key that was deleted is renewed nowhere, and told without being shown', async () => {
  const { sandbox, proxy, stranger, serviceKey, said, prepare, write } = await openContacts();
  const container = await prepare();
  sandbox.revokePrivateToken(serviceKey);
  proxy.forget();
  const error: MirrorError = await write(container).then(
    () => expect.fail('it was written'),
    (reason) => reason,
  );
  expect(error).toMatchObject({ actor: 'authorization', code: 'key-refused', retry: 'never' });
  expect(`${error.stack} ${JSON.stringify([error, said.mock.calls])}`).not.toContain(serviceKey);
  expect(proxy.requests).toHaveLength(1);
  expect(stranger.requests).toEqual([]);
});
