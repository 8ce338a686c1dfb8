import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { inPieces } from '../../src/core/pieces/in-pieces.ts';
import { readManagedTenants } from '../../src/daemon/managed-tenants.ts';
import { sealingRing } from '../../src/daemon/stores.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { type Daemon, startDaemon } from '../../src/main.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { openManagedStore } from '../operator/control/open-configurations.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { dumpRedis } from './support/dump-redis.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { isExact, tenantFile, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const NEVER = new AbortController().signal;
const MANAGED = 'clinic-2';

/** Starts a daemon in this process, as a separate process would start. */
async function begin({ configDir: dir, env }: SmallWorld): Promise<Daemon> {
  const options = { dir, env, connectors, reminderChannels, mode: 'set-aside' } as const;
  const files = await ConfigurationFiles.open(options, (settings) => readManagedTenants(settings, NEVER), inPieces);
  const daemon = await startDaemon(files.configuration, silentLogger, NEVER, { files });
  onTestFinished(() => daemon.close());
  return daemon;
}

/** Two daemons with one file tenant; and the document of another tenant with a secret to encrypt. */
async function open() {
  const world = await useSmallWorld({
    ...{ redisUrl: redis.url, tenants: 2, targets: ['caldav'], appointments: 20, davServer: radicale() },
    settings: { operator: { port: 0, access: {} }, schedule: { pullEverySeconds: 60 } },
  });
  const file = tenantFile(world, MANAGED);
  const document = (await readFile(file, 'utf8')).replace(/env: TENANT_CLINIC_2__DAV_PASSWORD/, 'sealed: dav');
  await rm(file);
  const password = world.env.TENANT_CLINIC_2__DAV_PASSWORD ?? '';
  const daemons = [await begin(world), await begin(world)] as const;
  const token = (await world.cli('access', 'token', 'create', 'ops', '--level', 'owner')).out.trim();
  const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`http://127.0.0.1:${daemons[0].operatorPort}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      body: (await answer.json()) as Record<string, unknown>,
      etag: answer.headers.get('etag'),
    };
  };
  const folder = join(world.dir, 'given');
  await mkdir(folder);
  const given = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  return { world, document, password, daemons, ask, given };
}

type Opened = Awaited<ReturnType<typeof open>>;

const isManagedBy = ({ composition }: Daemon) => composition.configuration.managed.has(MANAGED);

/** Waits until the calendar of the managed clinic shows what the clinic shows, each entry once. */
function shows(world: SmallWorld, what: string): Promise<unknown> {
  const index = world.targets.findIndex(({ tenant }) => tenant === MANAGED);
  const isSo = async () => {
    const comparison = (await world.compareAll())[index];
    return comparison !== undefined && comparison.remoteEvents > 0 && isExact(comparison);
  };
  return waitFor(isSo, { what, intervalMs: 200 });
}

/** Waits until the condition holds in both daemons. Each reloads at once, as on SIGHUP; another test covers the automatic reload. */
function bothHave({ daemons }: Opened, isSo: (daemon: Daemon) => boolean, what: string): Promise<unknown> {
  for (const daemon of daemons) daemon.reload();
  return waitFor(() => daemons.every(isSo), { what, intervalMs: 50 });
}

const hashesOf = (daemons: readonly Daemon[]) =>
  daemons.map(({ composition }) => composition.configuration.outlines.get(MANAGED)?.hash);

/** Its faults, then itself. @returns the tag of its revision */
async function addOverApi(opened: Opened): Promise<string> {
  const { world, document, password, daemons, ask } = opened;
  const [one, other] = daemons;
  const missing = await ask('POST', '/configurations/check', { tenant: MANAGED, yaml: document });
  expect(missing.body.faults).toEqual([
    expect.objectContaining({ path: 'connections.room-1.password', message: 'the encrypted secret dav is missing' }),
  ]);
  const added = await ask('POST', '/tenants', { tenant: MANAGED, yaml: document, secrets: { dav: password } });
  expect([added.status, isManagedBy(one)]).toEqual([200, true]);
  await shows(world, 'the first sync');
  await waitFor(() => isManagedBy(other), {
    what: 'the other daemon to load the tenant automatically',
    intervalMs: 100,
  });
  const state = [...(await dumpRedis(redis.connect()))].flat().join('\n');
  expect([state.includes(password), state.includes('Clinic 2')]).toEqual([false, false]);
  return added.etag ?? '';
}

/** Changes the tenant only at the revision that the caller has seen. @returns the new revision */
async function changeAsSeen(opened: Opened, revisionTag: string): Promise<string> {
  const { document, ask } = opened;
  const paused = `${document}paused: true\n`;
  const stale = await ask('PUT', `/tenants/${MANAGED}/configuration`, { yaml: paused }, { 'if-match': '"stale"' });
  expect(stale.status).toBe(412);
  const change = await ask('PUT', `/tenants/${MANAGED}/configuration`, { yaml: paused }, { 'if-match': revisionTag });
  expect(change.status).toBe(200);
  await bothHave(
    opened,
    ({ composition }) => composition.configuration.outlines.get(MANAGED)?.paused === true,
    'both to apply the pause',
  );
  expect((await ask('PUT', '/tenants/clinic-1/configuration', { yaml: paused })).body.detail).toContain(
    'clinic-1.yaml',
  );
  return String(change.body.revision);
}

/** Exports, removes and adds the tenant again. Links still identify the written objects. */
async function moveByCommands(opened: Opened, revision: string): Promise<void> {
  const { world, password, given } = opened;
  const exported = (await world.cli('tenants', 'export', MANAGED)).out;
  expect(exported).toContain(`# revision ${revision}\n`);
  expect(exported).not.toContain(password);
  const secrets = await given('secrets.yaml', `dav: "${password}"\n`);
  const resumed = await given('resumed.yaml', exported.replace('paused: true', 'paused: false'));
  expect(await world.cli('tenants', 'replace', MANAGED, resumed)).toMatchObject({ code: 0 });
  expect((await world.cli('tenants', 'replace', MANAGED, resumed)).err).toContain('revision-changed');
  expect(await world.cli('tenants', 'remove', MANAGED)).toMatchObject({ code: 0 });
  await bothHave(opened, (daemon) => !isManagedBy(daemon), 'both to release the tenant');
  expect((await world.cli('tenants', 'add', MANAGED, resumed)).err).toContain('the encrypted secret dav is missing');
  expect(await world.cli('tenants', 'add', MANAGED, resumed, '--secrets', secrets)).toMatchObject({ code: 0 });
  await bothHave(opened, isManagedBy, 'both to have it again');
  await shows(world, 'the calendar to be unchanged');
}

/** A file of it counts when it is not managed any more, with all of its state. */
async function makeFileAndBack(opened: Opened): Promise<void> {
  const { world, daemons } = opened;
  const inFile = await world.cli('tenants', 'export', MANAGED, '--for-file');
  expect(inFile.err).toContain('TENANT_CLINIC_2__DAV');
  await writeFile(tenantFile(world, MANAGED), inFile.out.replace(/CLINIC_2__DAV$/m, 'CLINIC_2__DAV_PASSWORD'));
  const [hash] = hashesOf(daemons);
  expect(await world.cli('tenants', 'remove', MANAGED)).toMatchObject({
    ...{ code: 0, out: expect.stringMatching(/its\s+state\s+and\s+connections\s+remain/) },
  });
  await bothHave(
    opened,
    ({ composition }) =>
      composition.configuration.outlines.has(MANAGED) && !composition.configuration.managed.has(MANAGED),
    'the file to count',
  );
  expect(hashesOf(daemons)).toEqual([hash, hash]);
  expect(await world.cli('tenants', 'adopt', MANAGED)).toMatchObject({ code: 0 });
  await rm(tenantFile(world, MANAGED));
  await bothHave(opened, isManagedBy, 'it to be managed again');
  expect(hashesOf(daemons)).toEqual([hash, hash]);
}

/** After Redis loses the tenant, daemons continue and report the loss, and a backup restores the tenant. */
async function loseAndRestore(opened: Opened): Promise<void> {
  const { world, daemons } = opened;
  const [one, other] = daemons;
  const before = hashesOf(daemons);
  expect((await world.cli('config', 'check')).out).toContain('tenant clinic-2: Clinic 2 (managed)');
  const backup = join(world.dir, 'all.backup');
  expect(await world.cli('backup', '--all', backup)).toMatchObject({ code: 0 });
  await redis.connect().flushall();
  const isTold = async () =>
    (await one.composition.reloads.list()).some(({ refused }) => refused[0]?.faults[0]?.file === 'managed tenants');
  await waitFor(isTold, { what: 'the loss to be reported', intervalMs: 100 });
  expect(daemons.map(isManagedBy)).toEqual([true, true]);
  // The first writer restores only one of several tenants.
  const { settings } = one.composition.configuration;
  const store = openManagedStore(redis.connect(), sealingRing(settings), {
    identityKey: settings.secrets.identityKey.reveal(),
  });
  const stranger = await store.put('clinic-9', { yaml: 'name: X\n', json: '{"name":"X"}', secrets: {} }, null);
  await bothHave(
    opened,
    ({ composition }) => composition.configuration.unusable.some(({ id }) => id === 'clinic-9'),
    'both to have loaded the tenant',
  );
  expect(daemons.map(isManagedBy)).toEqual([true, true]);
  await store.remove('clinic-9', stranger ?? '');
  expect(await world.cli('restore', '--all', backup)).toMatchObject({ code: 0 });
  await bothHave(opened, isManagedBy, 'it to be back');
  expect(hashesOf(daemons)).toEqual(before);
  await world.cli('sync', MANAGED);
  await shows(world, 'the calendar to be unchanged');
  expect(other.composition.configuration.unusable).toEqual([]);
}

test('a managed tenant: added over the API, synced, applied by all daemons, changed, exported, removed, added again, converted to a file', async () => {
  const opened = await open();
  const revisionTag = await addOverApi(opened);
  const revision = await changeAsSeen(opened, revisionTag);
  await moveByCommands(opened, revision);
  await makeFileAndBack(opened);
  await loseAndRestore(opened);
});
