import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../demo/daemon.ts';
import type { Status } from '../../src/operator/control/status-schemas.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { isExact, logged, tenantFile, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

/** A clinic that a daemon keeps in sync. */
async function open() {
  const world = await useSmallWorld({ redisUrl: redis.url, targets: ['google-calendar'], appointments: 10 });
  const settings = join(world.configDir, 'clinic-mirror.yaml');
  await appendFile(settings, `\ndataDirectory: ${join(world.dir, 'kept')}\n`);
  const start = () => {
    const daemon = startDaemon(world, { role: 'all' });
    onTestFinished(async () => {
      if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
    });
    return daemon;
  };
  const file = tenantFile(world, 'clinic-1');
  const whole = await readFile(file, 'utf8');
  const lines = whole.split('\n');
  const line = lines.findIndex((text) => text.startsWith('targets:')) + 2;
  lines[line - 1] = `\t${lines[line - 1]?.trimStart()}`;
  const run = async (...args: string[]) => {
    const { code, out, err } = await world.cli(...args);
    return { code, out, err, all: `${out}\n${err}`.replaceAll(/\s+/g, ' ') };
  };
  return {
    ...{ world, start, run, fault: new RegExp(`clinic-1\\.yaml,? line ${line}\\b`) },
    breakFile: () => writeFile(file, lines.join('\n')),
    mendFile: () => writeFile(file, whole),
    status: async () => JSON.parse((await world.cli('status', '--json')).out) as Status,
    async inSync() {
      const isSo = async () => (await world.compareAll()).every((each) => isExact(each));
      await waitFor(isSo, { what: 'the clinic to be in sync' });
    },
  };
}

test('with a broken file of a running clinic, commands use the running configuration, and name file and line', async () => {
  const { world, start, run, fault, breakFile, mendFile, status, inSync } = await open();
  const { id: appointment } = world.clinic.book(world.tenants[0]!.clinicId);
  const daemon = start();
  await inSync();
  await waitFor(async () => (await status()).tenants[0]?.sync === 'in-sync', { what: 'status to show in-sync' });

  await breakFile();
  const look = async (when: string) => {
    const all = await run('status');
    expect(all, when).toMatchObject({ code: 0, err: '' });
    expect(all.all, when).toContain('1 tenant, 1 action required');
    for (const args of [
      ['status', 'clinic-1'],
      ['plan', 'clinic-1'],
      ['explain', 'clinic-1', appointment],
    ]) {
      const told = await run(...args);
      expect(told.code, `${when}, ${args[0]}: ${told.all}`).toBe(0);
      expect(told.all, `${when}, ${args[0]}`).toMatch(fault);
    }
    expect((await run('status', 'clinic-1')).out, when).toMatch(/sync: in sync/);
    const { tenants, refused, unusable } = await status();
    expect({ tenants: tenants.length, refused: refused.length, unusable }, when).toEqual({
      ...{ tenants: 1, refused: 1, unusable: [] },
    });
    // The commands use the configuration that the daemon still runs with.
    expect(tenants[0]?.configuration.isOurs, when).toBe(true);
  };
  await look('before the daemon has looked');
  daemon.process.kill('SIGHUP');
  const isRefused = () => logged(world, 'changed file was refused: the previous configuration stays active').length > 0;
  await waitFor(isRefused, { what: 'the daemon to refuse the file' });
  await look('after it has');

  // Commands that change state also use the running configuration, and report it.
  const synced = await run('sync', 'clinic-1');
  expect(synced.code, synced.all).toBe(0);
  expect(synced.err.replaceAll(/\s+/g, ' ')).toMatch(fault);
  expect(synced.err).toContain('A running daemon uses the previous configuration until these faults are fixed.');

  await mendFile();
  daemon.process.kill('SIGHUP');
  await waitFor(async () => (await status()).refused.length === 0, { what: 'nothing to be refused' });
  const quiet = await run('status', 'clinic-1');
  expect(quiet).toMatchObject({ code: 0, err: '' });
  expect(quiet.out).not.toContain('REFUSED');
  expect((await run('plan', 'clinic-1')).err).not.toContain('fault');
});

test('a broken profile of running clinics is reported the same way', async () => {
  const { world, start, run, inSync } = await open();
  start();
  await inSync();
  const folder = join(world.configDir, 'profiles');
  const [name = ''] = await readdir(folder);
  await appendFile(join(folder, name), '\n\tno: yaml\n');
  const told = await run('status');
  expect(told.code, told.all).toBe(0);
  expect(told.all).toContain('1 tenant, 0 action required');
  expect(told.all).toContain(`every tenant CHANGED FILE REFUSED`);
  expect(told.all).toMatch(new RegExp(`${name}, line \\d+`));
  expect((await run('status', 'clinic-1')).out).toMatch(/sync: in sync/);
});

test('a file that no daemon ran, or that one found broken when it began, is not run by a command', async () => {
  const { world, start, run, breakFile } = await open();
  const before = await run('status', 'clinic-1');
  expect(before.code, before.all).toBe(0);
  await breakFile();
  for (const when of ['no daemon ran it', 'a daemon began with it']) {
    expect((await run('status')).all, when).toContain('1 tenant, 1 action required');
    expect(await run('sync', 'clinic-1'), when).toMatchObject({ code: 2 });
    expect((await run('config', 'check')).all, when).toMatch(/clinic-1\.yaml line \d+/);
    if (when === 'no daemon ran it') {
      start();
      await waitFor(() => logged(world, 'daemon started').length > 0, { what: 'the daemon to run' });
    }
  }
});
