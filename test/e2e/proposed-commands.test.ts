import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { requireEntry } from '../../src/daemon/open-connection.ts';
import { credentialLease } from '../../src/oauth/credential.ts';
import type { Status } from '../../src/operator/control/status-schemas.ts';
import { useRedis } from '../support/redis.ts';
import { expectExact, type SmallWorld, tenantFile, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const TENANT = 'clinic-1';

/** Commands that a text proposes, in its order, as words. */
function commandsIn(text: string): string[][] {
  const found = text.replaceAll(/\s+/g, ' ').matchAll(/clinic-mirror (?:--config \S+ )?([a-z][^",;:.]*)/g);
  return [...found].map(([, command = '']) => command.trim().split(' '));
}

async function problemsOf(world: SmallWorld) {
  return (JSON.parse((await world.cli('status', '--json')).out) as Status).problems;
}

/** A world whose connection to a vendor was last used so many days ago. */
async function openRested(days: number) {
  const world = await useSmallWorld({ redisUrl: redis.url });
  await world.cycle();
  const [target] = world.targets;
  const { credentials, tenant } = requireEntry(world.opened().composed, TENANT);
  const { connection } = requireEntry(tenant.targets, target?.target ?? '').configuration;
  const lease = await tenant.leases.tryTake(credentialLease(connection));
  const credential = await credentials.read(connection);
  if (credential === null || lease === null) throw new Error('there is no connection');
  const now = tenant.clock();
  const rested = {
    ...credential,
    ...{ version: credential.version + 1, obtainedAt: now - days * DAY_MS, refreshedAt: now - days * DAY_MS },
    accessExpiresAt: now - HOUR_MS,
  };
  expect(await credentials.write(lease, connection, credential.version, rested)).toBe(true);
  await lease.release();
  return { world, connection };
}

test('the check that is proposed for a resting connection renews it, or shows why not and the command that replaces it', async () => {
  const { world, connection } = await openRested(178);
  const isResting = async () => (await problemsOf(world)).filter(({ code }) => code === 'login-resting');
  const [problem] = await isResting();
  const [command = []] = commandsIn(problem?.next ?? '');
  expect(command).toEqual(['doctor', TENANT]);

  world.google.faults.add({ match: { path: '/token' }, times: 100, fault: { kind: 'status', status: 503 } });
  const failed = await world.cli(...command);
  expect(failed.code).toBe(1);
  expect(failed.out).toContain('login-resting');
  expect(commandsIn(failed.out).filter(([name]) => name === 'login' || name === 'doctor')).toEqual([
    ['login', TENANT, connection],
  ]);
  expect(await isResting()).toHaveLength(1);

  world.google.faults.clear();
  const renewed = await world.cli(...command);
  expect(renewed.out).toContain(`target ${connection}: answers`);
  expect(renewed.out).not.toContain('login-resting');
  expect(await isResting()).toEqual([]);
});

test('a tenant with faults runs again after the proposed check has named the line, and its correction', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url });
  const file = tenantFile(world, TENANT);
  const correct = await readFile(file, 'utf8');
  await writeFile(file, correct.replace('agendas:', 'agendsa:'));
  const refused = await world.cli('sync', TENANT);
  const [problem] = await problemsOf(world);
  const commands = [...commandsIn(refused.err), ...commandsIn(problem?.next ?? '')];
  expect(commands).toEqual(commands.map(() => ['config', 'check']));
  expect(commands.length).toBeGreaterThanOrEqual(2);
  const check = await world.cli('config', 'check');
  const line = correct.slice(0, correct.indexOf('agendas:')).split('\n').length;
  expect([check.code, check.out]).toEqual([2, expect.stringMatching(`${TENANT}\\.yaml\\s+line ${line},`)]);
  expect(commandsIn(check.out)).toContainEqual(['config', 'check']);
  await writeFile(file, correct);
  expect((await world.cli('config', 'check')).code).toBe(0);
  expect((await world.cli('sync', TENANT)).code).toBe(0);
  await expectExact(world);
});

test('a file that is no backup of all tenants is restored, or replaced, by the proposed commands', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url });
  const { connection } = requireEntry(world.opened().composed, TENANT).tenant.targets.values().next()
    .value!.configuration;
  const { credentials } = requireEntry(world.opened().composed, TENANT);
  const single = join(world.dir, 'single.backup');
  await writeFile(single, (await world.cli('credentials', 'backup', TENANT)).out);
  const refused = await world.cli('restore', '--all', single);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('backup-unknown')]);
  const [all = [], one = []] = commandsIn(refused.err);
  expect([all, one]).toEqual([
    ['backup', '--all'],
    ['credentials', 'restore'],
  ]);
  const whole = join(world.dir, 'whole.backup');
  expect(await world.cli(...all, whole)).toMatchObject({ code: 0 });

  for (const restore of [
    [...one, TENANT, single],
    ['restore', '--all', whole],
  ]) {
    await credentials.remove(connection);
    expect((await problemsOf(world)).map(({ code }) => code)).toContain('not-connected');
    expect(await world.cli(...restore), restore.join(' ')).toMatchObject({ code: 0 });
    expect((await problemsOf(world)).map(({ code }) => code)).not.toContain('not-connected');
  }
});

test('the command for a feed without a URL prints one, and the status shows it', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    settings: { http: { publicUrl: 'https://mirror.example', port: 8080 } },
  });
  const file = tenantFile(world, TENANT);
  const content = parse(await readFile(file, 'utf8'));
  content.connections.feeds = { kind: 'feed' };
  const { agendas, window } = content.targets['doctor-1'];
  content.targets.rooms = { connector: 'feed', connection: 'feeds', agendas, window };
  await writeFile(file, stringify(content));
  await world.cli('sync', TENANT);
  const before = (await world.cli('status', TENANT)).out.replaceAll(/\s+/g, ' ');
  const [, command = ''] = /clinic-mirror (feeds rotate \S+ \S+)/.exec(before) ?? [];
  const made = await world.cli(...command.split(' '));
  expect([made.code, made.out]).toEqual([0, expect.stringMatching(/https:\/\/mirror\.example\/feeds\/[\w-]{43}\.ics/)]);
  const after = (await world.cli('status', TENANT)).out;
  expect(after).toContain('rooms: never fetched, URL created');
  expect(after).not.toContain('feeds rotate');
});
