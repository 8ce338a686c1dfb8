import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { keys } from '../../src/state/keys.ts';
import { createProtection } from '../../src/state/protection.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { openEpoch } from '../tenant/open-tenant.ts';

const redis = useRedis();
const TENANT = 'rossi';
const ENTRY = { table: 'tombstones', name: 'p1', value: '1' } as const;
let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'protection-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** The protection of a tenant; each `openProcess` is another process. */
function open(path: string | null) {
  const connection = redis.connect();
  const clock = { now: NOW };
  const openProcess = () =>
    createProtection({
      ...{ redis: connection, tenant: TENANT, identityKey: Buffer.alloc(32, 7), log: silentLogger },
      ...{ stateCounter: openEpoch(connection, () => clock.now, path), clock: () => clock.now },
    });
  return { connection, clock, openProcess, protection: openProcess() };
}

describe('the state of the safeguards', () => {
  test('is certain in a new state, which a preview leaves new', async () => {
    const { connection, protection } = open(null);
    expect(await protection.uncertainty({ lookOnly: true })).toBeNull();
    expect(await connection.exists(keys.protection(TENANT))).toBe(0);
    expect(await protection.uncertainty()).toBeNull();
    expect(await connection.exists(keys.protection(TENANT))).toBe(1);
  });

  test('keeps its first stored value, and is reported as changed once', async () => {
    const { protection, openProcess } = open(directory);
    expect([await protection.store(ENTRY), await protection.store({ ...ENTRY, value: '2' })]).toEqual([true, false]);
    expect((await openProcess().read()).tombstones).toEqual({ p1: '1' });
    const removal = { ...ENTRY, value: null };
    expect([await protection.store(removal), await protection.store(removal)]).toEqual([true, false]);
    expect(await openProcess().uncertainty()).toBeNull();
    expect((await protection.read()).tombstones).toEqual({});
  });

  test('comes back from the directory after Redis was emptied', async () => {
    const { connection, protection, openProcess } = open(directory);
    await protection.copyOut();
    await protection.store(ENTRY);
    await connection.flushall();
    const other = openProcess();
    expect(await other.uncertainty()).toBeNull();
    expect((await other.read()).tombstones).toEqual({ p1: '1' });
    expect(await other.wentBackAt()).toBe(NOW);
  });

  test('stays emptied, and not forged, after the end of a cycle before anyone looked', async () => {
    const { connection, clock, protection, openProcess } = open(directory);
    await protection.copyOut();
    await protection.store(ENTRY);
    await connection.flushall();
    clock.now += 1;
    await protection.cycleEnded({ allSeen: true, startedAt: NOW });
    const other = openProcess();
    expect(await other.uncertainty()).toBeNull();
    expect((await other.read()).tombstones).toEqual({ p1: '1' });
    expect(await other.unresolvedLoss()).toEqual({ code: 'state-lost', sinceAt: NOW + 1 });
    await protection.cycleEnded({ allSeen: true, startedAt: NOW + 2 });
    expect(await other.unresolvedLoss()).toBeNull();
  });

  test('is uncertain without a copy until an administrator accepts the state', async () => {
    const { connection, clock, protection } = open(null);
    await protection.store(ENTRY);
    await connection.flushall();
    clock.now += 1_000;
    expect(await protection.uncertainty()).toEqual({ code: 'state-lost', sinceAt: NOW + 1_000 });
    expect([await protection.accept(), await protection.accept()]).toEqual([true, false]);
    expect(await protection.uncertainty()).toBeNull();
  });

  test('is uncertain without a copy until a backup is restored, whose entries come back', async () => {
    const { connection, protection } = open(null);
    await protection.store(ENTRY);
    const backup = await protection.read();
    await connection.flushall();
    expect(await protection.uncertainty()).not.toBeNull();
    expect(await protection.restore(backup)).toBe(1);
    expect(await protection.uncertainty()).toBeNull();
    expect(await protection.restore(backup)).toBe(0);
  });

  test('that another program changed is state-damaged, until an administrator accepts it', async () => {
    const { connection, protection, openProcess } = open(null);
    await protection.store(ENTRY);
    await connection.hset(keys.optOuts(TENANT), 'made-up', '1');
    expect(await protection.uncertainty()).toMatchObject({ code: 'state-damaged' });
    await protection.accept();
    expect(await openProcess().uncertainty({ whole: true })).toBeNull();
  });

  test('is uncertain after objects were found of which a state without all targets knows nothing', async () => {
    const { protection } = open(null);
    await protection.cycleEnded({ allSeen: false, startedAt: NOW });
    await protection.foundObjects();
    expect(await protection.uncertainty()).toEqual({ code: 'state-lost', sinceAt: NOW });
  });

  test('is certain although objects are found after a cycle saw all targets', async () => {
    const { protection } = open(null);
    await protection.cycleEnded({ allSeen: true, startedAt: NOW });
    await protection.foundObjects();
    expect(await protection.uncertainty()).toBeNull();
  });
});
