// Tier: full. It starts three daemons, and a CalDAV server.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { inPieces } from '../../src/core/pieces/in-pieces.ts';
import { readManagedTenants } from '../../src/daemon/managed-tenants.ts';
import { managedTenantKeys } from '../../src/features/managed-tenants/keys.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { startDaemon } from '../../src/main.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { RADICALE_USERS } from '../e2e/support/small-targets.ts';
import { tenantFile, useSmallWorld } from '../e2e/support/small-world.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const NEVER = new AbortController().signal;
const ID = 'clinic-2';

/** Opens a daemon with one managed clinic, `dataDirectory` and audit log, and the clinic's state in Redis before the pause. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-marks-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true }));
  const world = await useSmallWorld({
    ...{ redisUrl: redis.url, tenants: 2, targets: ['caldav'], appointments: 5, davServer: radicale() },
    settings: { dataDirectory, schedule: { pullEverySeconds: 3_600 } },
  });
  const document = await readFile(tenantFile(world, ID), 'utf8');
  await rm(tenantFile(world, ID));
  await mkdir(join(world.dir, 'given'));
  const given = async (text: string) => {
    const file = join(world.dir, 'given', 'document.yaml');
    await writeFile(file, text);
    return file;
  };
  const errors: unknown[] = [];
  const log = { ...silentLogger, error: (data: unknown) => void errors.push(data), child: () => log };
  const begin = async () => {
    const { configDir: dir, env } = world;
    const options = { dir, env, connectors, reminderChannels, mode: 'set-aside' } as const;
    const files = await ConfigurationFiles.open(options, (settings) => readManagedTenants(settings, NEVER), inPieces);
    const daemon = await startDaemon(files.configuration, log, NEVER, { files });
    onTestFinished(() => daemon.close());
    const { composition } = daemon;
    const outline = () => composition.configuration.outlines.get(ID);
    const until = (what: string, isSo: () => boolean) => {
      daemon.reload();
      return waitFor(isSo, { what, intervalMs: 20 });
    };
    return { daemon, outline, until, configuration: () => composition.configuration };
  };
  const state = () =>
    Promise.all([
      connection.hgetall(managedTenantKeys.managedRevisions()),
      connection.hgetall(managedTenantKeys.managedTenants()),
    ]);
  const [revisionsKey, tenantsKey] = [managedTenantKeys.managedRevisions(), managedTenantKeys.managedTenants()];
  /** Restores as an attacker with write access to Redis: the older document and revision, and a new version that daemons read. */
  const putBack = async ([revisions, tenants]: Awaited<ReturnType<typeof state>>) => {
    await connection.hset(revisionsKey, { [ID]: revisions[ID] ?? '', '*': `${revisions['*']}9` });
    await connection.hset(tenantsKey, ID, tenants[ID] ?? '');
  };
  return { connection, world, document, given, begin, state, putBack, errors };
}

const DAMAGED = { code: 'state-damaged', kind: 'managed-tenants', treatment: 'ask' };
const FAULT = { file: `managed tenant ${ID}`, message: expect.stringContaining('state-damaged') };

test('a restored older document neither resumes a paused tenant nor returns a removed one', async () => {
  const { world, document, given, begin, state, putBack, errors } = await open();
  expect(await world.cli('tenants', 'add', ID, await given(document))).toMatchObject({ code: 0 });
  const older = await state();
  const { outline, until, configuration } = await begin();
  const paused = await given(`${document}paused: true\n`);
  expect(await world.cli('tenants', 'replace', ID, paused, '--revision', older[0][ID] ?? '')).toMatchObject({
    code: 0,
  });
  await until('the pause', () => outline()?.paused === true);

  await putBack(older);
  await until('the refusal', () => configuration().refused.length === 1);
  expect(outline()?.paused).toBe(true);
  expect(configuration().refused).toMatchObject([{ tenant: ID, faults: [FAULT] }]);
  expect(errors).toContainEqual({ ...DAMAGED, tenant: ID });
  // A process that never saw the pause knows the head.
  const again = await begin();
  expect([again.outline(), again.configuration().unusable]).toMatchObject([undefined, [{ id: ID, faults: [FAULT] }]]);
  expect((await world.cli('status')).out).toContain('state-damaged');

  expect(await world.cli('tenants', 'remove', ID)).toMatchObject({ code: 0 });
  await until('the removal', () => outline() === undefined && configuration().unusable.length === 0);
  await putBack(older);
  await until('the refusal', () => configuration().unusable.length === 1);
  expect([outline(), configuration().unusable]).toMatchObject([undefined, [{ id: ID, faults: [FAULT] }]]);
  const told = JSON.parse((await world.cli('audit-log', '--json')).out) as {
    entries: { verb: string; what: Record<string, unknown> }[];
  };
  expect(told.entries.filter(({ what }) => what.damaged === ID).length).toBeGreaterThan(0);
  const counters = told.entries.map(({ what }) => what.counter).filter((counter) => counter !== undefined);
  expect(new Set(counters).size).toBe(3);
}, 120_000);

test('a complete older Redis does not run against the mark in dataDirectory, until an operator accepts it', async () => {
  const { connection, world, document, given, begin, state } = await open();
  await world.cli('tenants', 'add', ID, await given(document));
  const older = await state();
  await world.cli('tenants', 'replace', ID, await given(`${document}paused: true\n`), '--revision', older[0][ID] ?? '');
  await connection.hset(managedTenantKeys.managedRevisions(), older[0]);
  await connection.hset(managedTenantKeys.managedTenants(), older[1]);
  const { outline, configuration, until } = await begin();
  expect([outline(), configuration().unusable]).toMatchObject([undefined, [{ id: ID, faults: [FAULT] }]]);
  expect(configuration().unusable[0]?.faults[0]?.remedy).toContain(`clinic-mirror tenants accept ${ID}`);
  const accepted = await world.cli('tenants', 'accept', ID, '--json');
  expect(JSON.parse(accepted.out)).toMatchObject({ accepted: [{ tenant: ID, revision: older[0][ID] }] });
  await until('it to run', () => outline()?.paused === false);
  expect((await world.cli('tenants', 'accept', '--all')).out).toContain('nothing was changed');
}, 120_000);

test('the next start notices that all managed tenants are gone, until an operator accepts it', async () => {
  const { connection, world, document, given, begin, errors } = await open();
  await world.cli('tenants', 'add', ID, await given(document));
  await connection.del(managedTenantKeys.managedRevisions(), managedTenantKeys.managedTenants());
  const { configuration, until } = await begin();
  const fault = { file: 'managed tenant *', message: expect.stringContaining('state-damaged') };
  expect(configuration().unusable).toMatchObject([{ id: '*', faults: [fault] }]);
  await until('the log', () => errors.some((each) => isDeepStrictEqual(each, { ...DAMAGED, tenant: '*' })));
  const told = await world.cli('status');
  expect(told.out).toContain('state-damaged');
  expect(JSON.parse((await world.cli('status', '--json')).out).problems).toContainEqual(
    expect.objectContaining({
      tenant: null,
      subject: 'configuration',
      code: 'state-damaged',
      health: 'action-required',
    }),
  );
  expect(await world.cli('tenants', 'accept', '--all')).toMatchObject({ code: 0 });
  await until('the loss to be accepted', () => configuration().unusable.length === 0);
  expect(await world.cli('tenants', 'add', ID, await given(document))).toMatchObject({ code: 0 });
}, 120_000);
