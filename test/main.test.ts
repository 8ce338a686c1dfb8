import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { secretsOf, writeTenants } from '../bench/start/world.ts';
import { connectors } from '../src/connectors/registry.ts';
import { silentLogger } from '../src/core/log/logger.ts';
import { inPieces } from '../src/core/pieces/in-pieces.ts';
import { reminderChannels } from '../src/features/reminders/channels/registry.ts';
import { startDaemon } from '../src/main.ts';
import { requireTenant } from '../src/operator/control/installation.ts';
import { status } from '../src/operator/control/status.ts';
import { listTenants } from '../src/operator/control/tenant-list.ts';
import { sharedConfigurationHash } from '../src/settings/configuration-changes.ts';
import { ConfigurationFiles } from '../src/settings/configuration-files.ts';
import { keys, QUEUE_PREFIX } from '../src/state/keys.ts';
import { useRedis } from './support/redis.ts';
import { waitFor } from './support/wait-for.ts';

const redis = useRedis();
const TENANTS = 120;
/** Tenants that are checked at once: fewer than in the product, so that few tenants need three turns. */
const SLICE = 50;
const BROKEN = 'clinic-1';
/** The first and the last one in order. */
const FIRST = 'clinic-0';
const LAST = 'clinic-99';

/** A daemon of many tenants, which checks the next of them when it is let. */
async function open() {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-start-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await writeTenants(dir, TENANTS);
  const settings = join(dir, 'clinic-mirror.yaml');
  const written = parse(await readFile(settings, 'utf8'));
  await writeFile(settings, stringify({ ...written, http: { port: 0 } }));
  const file = (id: string) => join(dir, 'tenants', `${id}.yaml`);
  await writeFile(file(BROKEN), 'name: [');
  // Each tenant has a connection, although it cannot be decrypted: without one the tenant would have no work.
  for (const id of [FIRST, LAST]) await redis.connect().set(keys.credential(id, 'clinic'), 'not-sealed');
  const env = { ...secretsOf(TENANTS), REDIS_URL: redis.url };
  const options = { dir, env, connectors, reminderChannels, mode: 'set-aside', use: 'daemon' } as const;
  const files = await ConfigurationFiles.open(options, async () => new Map(), inPieces);
  const check = files.check.bind(files);
  const gates: (() => void)[] = [];
  files.check = function* () {
    yield new Promise<void>((resolve) => gates.push(resolve));
    return yield* check(SLICE);
  };
  const daemon = await startDaemon(files.configuration, silentLogger, new AbortController().signal, { files });
  onTestFinished(() => daemon.close());
  const { installation, queues } = daemon.composition;
  const ask = async (path: string, port = daemon.operatorPort) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  const list = (...ids: string[]) =>
    listTenants(installation, (id) => ids.includes(id), { after: null, limit: 10 }).then(({ items }) => items);
  return {
    ...{ daemon, installation, queues, file, ask, list },
    /** Has one slice of tenants checked. */
    async checkSlice() {
      await waitFor(() => gates.length > 0, { what: 'the next tenants to come' });
      const before = installation.unchecked.size;
      gates.shift()?.();
      await waitFor(() => installation.unchecked.size < before, { what: 'tenants to be checked' });
    },
    runs: async (id: string) => requireTenant(installation, id).runs.list(1),
  };
}

test('ports are open before tenants are checked; each runs from when it is checked, and a broken one never', async () => {
  const { daemon, installation, queues, ask, list, checkSlice, runs } = await open();
  expect(installation.unchecked.size).toBe(TENANTS);
  expect((await ask('/healthz')).status).toBe(200);
  expect((await ask('/metrics')).text).toContain('clinic_mirror_');
  const starting = await ask('/readyz');
  expect(starting.status).toBe(503);
  expect(JSON.parse(starting.text).missing).toEqual([
    { what: 'tenants', why: `starting: 0 of ${TENANTS} are checked` },
  ]);
  // A public request for a tenant must not be answered as if the tenant did not exist.
  expect((await ask('/reminders/clinic-99/sms', daemon.publicPort ?? 0)).status).toBe(503);
  expect(await status(installation)).toMatchObject({ tenants: [], unusable: [], unchecked: TENANTS });
  expect(await list(BROKEN, LAST)).toMatchObject([
    { tenant: BROKEN, checked: false, faults: 0, health: 'ok' },
    { tenant: LAST, checked: false, faults: 0, problems: [] },
  ]);
  expect(() => requireTenant(installation, LAST)).toThrow(expect.objectContaining({ code: 'tenant-unchecked' }));

  // A job of a tenant that is not checked waits for it.
  await queues.pullNow(LAST);
  const connection = redis.connect();
  const waiting = () => connection.zcard(`${QUEUE_PREFIX}:pull:delayed`);
  await waitFor(async () => (await waiting()) > 0, { what: 'the job to be put off' });
  await checkSlice();
  await waitFor(async () => (await runs(FIRST)).length > 0, { what: 'the first tenant to run' });
  expect(installation.unchecked.has(LAST)).toBe(true);
  expect(await list(BROKEN, FIRST)).toMatchObject([
    { tenant: FIRST, checked: true, faults: 0 },
    { tenant: BROKEN, checked: true, faults: 1, health: 'action-required' },
  ]);
  expect(JSON.parse((await ask('/readyz')).text).missing).toEqual([
    { what: 'tenants', why: `starting: ${SLICE} of ${TENANTS} are checked` },
  ]);

  while (installation.unchecked.size > 0) await checkSlice();
  await waitFor(async () => (await runs(LAST)).length > 0, { what: 'the last tenant to run' });
  expect((await ask('/readyz')).status).toBe(200);
  expect((await ask('/reminders/clinic-99/sms', daemon.publicPort ?? 0)).status).toBe(404);
  expect(installation.unusable.map(({ id }) => id)).toEqual([BROKEN]);
  expect([...installation.tenants.keys()]).toHaveLength(TENANTS - 1);
});

test('a reload waits until all tenants are checked, and then applies the changes made in the meantime', async () => {
  const { daemon, installation, file, checkSlice } = await open();
  await checkSlice();
  const renamed = await readFile(file(FIRST), 'utf8').then((text) => text.replace(/^name: .*$/m, 'name: Another'));
  await writeFile(file(FIRST), renamed);
  daemon.reload();
  await checkSlice();
  expect(installation.outlines.get(FIRST)?.name).not.toBe('Another');
  while (installation.unchecked.size > 0) await checkSlice();
  await waitFor(() => installation.outlines.get(FIRST)?.name === 'Another', { what: 'the change to be applied' });
  expect(installation.tenants.keys()).toContain(LAST);
  // Other daemons compare their configuration with this one.
  const running = async () => (await installation.reloads()).map((report) => report.running);
  const hash = sharedConfigurationHash(daemon.composition.configuration);
  const own = { host: hostname(), pid: process.pid, hash, sinceAt: expect.any(Number) };
  await waitFor(async () => (await running())[0]?.hash === hash, { what: 'the report of the daemon' });
  expect(await running()).toEqual([own]);
});
