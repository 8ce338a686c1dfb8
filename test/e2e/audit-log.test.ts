import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { AuditEntry } from '../../src/core/model/acts.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { start } from './support/daemons.ts';
import { logged, retitle, type SmallWorld, startSmallWorld } from './support/small-world.ts';

const redis = useRedis();

async function openRecorded(settings: object = {}): Promise<{ world: SmallWorld; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'clinic-mirror-recorded-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const world = await startSmallWorld({
    redisUrl: redis.url,
    appointments: 5,
    settings: { dataDirectory: directory, ...settings },
  });
  onTestFinished(() => world.close());
  await world.logIn();
  return { world, directory };
}

async function entriesOf(world: SmallWorld, verb: string): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for await (const { entry } of world.opened().acts.log?.read() ?? []) if (entry?.verb === verb) entries.push(entry);
  return entries;
}

/** How often the daemons have said that they run. */
const starts = (world: SmallWorld) => logged(world, 'daemon started').length;

async function editSettings(world: SmallWorld, edit: (settings: { secrets: { sealingKeys: object[] } }) => void) {
  const file = join(world.configDir, 'clinic-mirror.yaml');
  const settings = parse(await readFile(file, 'utf8'));
  edit(settings);
  await writeFile(file, stringify(settings));
}

test('a daemon and commands record actions, users and reasons in one chain; a key rotation is applied at the next start', async () => {
  const { world } = await openRecorded();
  const daemon = start(world);
  await waitFor(() => starts(world) === 1, { what: 'the daemon' });
  await world.cli('sync', 'clinic-1', '--reason', 'INC-1', '--as', 'Anna');
  await retitle(world, 'clinic-1', 'busy');
  const reloads = () => entriesOf(world, 'reload-configuration');
  await waitFor(async () => (await reloads()).length === 2, { what: 'the changed file', intervalMs: 200 });
  daemon.process.kill('SIGHUP');
  await waitFor(async () => (await reloads()).length === 4, { what: 'the reload', intervalMs: 200 });
  await daemon.stop();
  const again = start(world);
  await waitFor(() => starts(world) === 2, { what: 'the second start' });
  await again.stop();
  world.env.SECOND_KEY = Buffer.alloc(32, 3).toString('base64');
  await editSettings(world, ({ secrets }) => secrets.sealingKeys.unshift({ id: 'k2', key: { env: 'SECOND_KEY' } }));
  const rotated = start(world);
  await waitFor(() => starts(world) === 3, { what: 'the third start' });
  await rotated.stop();

  expect(await entriesOf(world, 'sync')).toMatchObject([
    { outcome: 'begun', tenant: 'clinic-1', why: 'INC-1', who: { kind: 'os-user', claimed: 'Anna' } },
    { outcome: 'done', what: { targets: 1, error: null } },
  ]);
  expect((await reloads()).filter(({ outcome }) => outcome === 'done')).toMatchObject([
    { who: { kind: 'daemon' }, what: { by: 'files', changed: 1, refused: 0, names: 'clinic-1' } },
    { who: { kind: 'daemon' }, what: { by: 'SIGHUP', changed: 0 } },
  ]);
  expect((await entriesOf(world, 'change-keys')).map(({ what }) => what.sealingKeys)).toEqual(['k1', 'k2 k1']);
  expect(await world.cli('audit-log', 'verify')).toMatchObject({ code: 0, err: '' });
});

test('forgetting a patient requires two people: the first request is recorded and shown, and only another user executes it', async () => {
  const { world } = await openRecorded({ approvals: { forget: true, persons: 'named' } });
  const [patient] = [...world.clinic.patients(world.tenants[0]?.clinicId ?? '')];
  const forget = (name: string) => world.cli('forget', 'clinic-1', patient?.id ?? '', '--yes', '--as', name);
  expect(await forget('Anna')).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('second-person-needed'),
  });
  expect((await world.cli('status')).out).toContain('forget WAITS FOR A SECOND ADMINISTRATOR: requested by Anna');
  expect(await forget('Anna')).toMatchObject({ code: 1, err: expect.stringContaining('second-person-same') });
  expect((await world.cli('receipts', 'clinic-1', '--json')).out).toContain('"receipts": []');
  expect((await forget('Bruno')).out).toContain('Tombstone');
  expect((await world.cli('status')).out).not.toContain('SECOND ADMINISTRATOR');
  expect((await entriesOf(world, 'forget')).map(({ outcome, who }) => [outcome, who.claimed])).toEqual([
    ['requested', 'Anna'],
    ['refused', 'Anna'],
    ['begun', 'Bruno'],
    ['done', 'Bruno'],
  ]);
});

test('if the audit log cannot be written, no user action is executed and no configuration is applied', async () => {
  const { world, directory } = await openRecorded();
  const daemon = start(world);
  await waitFor(() => starts(world) === 1, { what: 'the daemon' });
  const place = join(directory, 'audit-log');
  await rename(place, `${place}.away`);
  await writeFile(place, 'no folder');
  const { code, err } = await world.cli('sync', 'clinic-1');
  expect([code, err]).toEqual([1, expect.stringContaining('audit-log-unwritable')]);
  await retitle(world, 'clinic-1', 'busy');
  daemon.process.kill('SIGHUP');
  const failed = () => logged(world, 'configuration was not applied: the next check retries').length > 0;
  await waitFor(failed, { what: 'the refusal', intervalMs: 200 });
  expect(logged(world, 'configuration was applied')).toEqual([]);

  await rm(place);
  await rename(`${place}.away`, place);
  await waitFor(() => logged(world, 'configuration was applied').length > 0, { what: 'the file', intervalMs: 200 });
  await daemon.stop();
  expect(await world.cli('audit-log', 'verify')).toMatchObject({ code: 0 });
});
