import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { keys } from '../../src/state/keys.ts';
import { createStateCounter, identityFingerprint } from '../../src/state/state-counter.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'state-counter-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

function open({ path = directory as string | null, key = 7 } = {}) {
  const connection = redis.connect();
  const clock = { now: NOW };
  const error = vi.fn();
  const info = vi.fn();
  const openCounter = () =>
    createStateCounter({
      ...{ redis: connection, writer: connection, replicas: 0, directory: path, identityKey: Buffer.alloc(32, key) },
      ...{ clock: () => clock.now, log: { ...silentLogger, error, info } },
    });
  return { connection, clock, error, info, openCounter, counter: openCounter() };
}

describe('a Redis that was emptied', () => {
  test('went back for a process that saw a decision, and for others by the directory', async () => {
    const { connection, clock, error, counter, openCounter } = open();
    expect(await counter.confirm()).toBe(0);
    await connection.flushall();
    clock.now += 1_000;
    expect(await openCounter().check()).toBe(NOW + 1_000);
    clock.now += 1_000;
    expect(await counter.check()).toBe(NOW + 1_000);
    expect(error).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: 'state-went-back' }),
      expect.stringContaining('decisions'),
    );
    expect(await counter.view()).toMatchObject({ wentBackAt: NOW + 1_000, directory: 'kept', writesLostAt: null });
  });

  test.each([
    ['this process saw', false],
    ['another process left in the directory', true],
  ])('lost its state not before the newest decision that %s, even if the clock is set back', async (_, isOther) => {
    const { connection, clock, counter, openCounter } = open(isOther ? {} : { path: null });
    await counter.confirm();
    await connection.flushall();
    clock.now -= 60_000;
    expect(await (isOther ? openCounter() : counter).check()).toBe(NOW);
  });

  test('is new to a process that has no directory and saw nothing', async () => {
    const { connection, counter, openCounter } = open({ path: null });
    await counter.confirm();
    await connection.flushall();
    expect(await openCounter().check()).toBe(0);
    expect(await counter.check()).toBe(NOW);
    expect((await counter.view()).directory).toBe('none');
  });

  test('lost writes to targets, and no decision where none was made', async () => {
    const { connection, counter, openCounter } = open();
    await counter.recordWriting();
    await connection.flushall();
    const other = openCounter();
    expect([await other.check(), await other.lostAt()]).toEqual([0, NOW]);
    expect(await other.view()).toMatchObject({ wentBackAt: null, writesLostAt: NOW });
  });
});

test('a Redis whose counter continues did not go back', async () => {
  const { counter, openCounter } = open();
  await counter.confirm();
  await counter.confirm();
  await counter.recordWriting();
  expect([await openCounter().check(), await counter.lostAt()]).toEqual([0, 0]);
});

test('decisions of one moment share the next raise of the counter, and none shares one that has begun', async () => {
  const { connection, counter } = open();
  const first = counter.confirm();
  await Promise.all([first, counter.confirm(), counter.confirm()]);
  const raised = Number(await connection.hget(keys.epoch(0), 'counter'));
  expect(raised).toBeGreaterThanOrEqual(1);
  expect(raised).toBeLessThan(3);
  await counter.confirm();
  expect(Number(await connection.hget(keys.epoch(0), 'counter'))).toBe(raised + 1);
});

describe('the identity key', () => {
  test.each(['Redis', 'the directory'])('of another installation is identity-key-changed by %s', async (which) => {
    const { connection, counter } = open();
    await counter.requireIdentity();
    await counter.storeIdentity();
    await counter.requireIdentity();
    if (which === 'the directory') await connection.flushall();
    const other = open({ key: 8, path: which === 'Redis' ? null : directory });
    await expect(other.counter.requireIdentity()).rejects.toMatchObject({
      ...{ actor: 'settings', code: 'identity-key-changed', retry: 'never' },
    });
  });

  test('is shown as a fingerprint of 16 characters only', () => {
    const fingerprint = identityFingerprint(Buffer.alloc(32, 7));
    expect(fingerprint).toMatch(/^[0-9a-v]{16}$/);
    expect(identityFingerprint(Buffer.alloc(32, 8))).not.toBe(fingerprint);
  });
});

describe('a data directory that cannot be used', () => {
  test('is logged once, and data-directory-unusable stops only work that requires it', async () => {
    const path = join(directory, 'file');
    await writeFile(path, 'no folder');
    const { counter, error } = open({ path });
    expect(await counter.confirm()).toBe(0);
    expect(await counter.withDirectory(async () => 'never')).toBeUndefined();
    await expect(counter.requireDirectory(async () => {})).rejects.toMatchObject({ code: 'data-directory-unusable' });
    expect(error).toHaveBeenCalledTimes(1);
    expect(await counter.view()).toMatchObject({ directory: 'failed', directoryFailure: expect.stringMatching(/^E/) });
  });

  test('is noticed by the next view, without other work', async () => {
    const path = join(directory, 'removed');
    const { counter } = open({ path });
    expect(await counter.view()).toMatchObject({ directory: 'kept' });
    await rm(path, { recursive: true });
    expect(await counter.view()).toMatchObject({ directory: 'failed', directoryFailure: 'ENOENT' });
  });

  test('is full for the next view, and works again for the next one after the disk has room', async () => {
    const { counter, error, info } = open();
    expect(await counter.view()).toMatchObject({ directory: 'kept' });
    // The kernel answers ENOSPC to each write to this device.
    await symlink('/dev/full', join(directory, `probe-${process.pid}`));
    expect(await counter.view()).toMatchObject({ directory: 'failed', directoryFailure: 'ENOSPC' });
    expect(await counter.view()).toMatchObject({ directory: 'kept', directoryFailure: null });
    expect(await counter.view()).toMatchObject({ directory: 'kept' });
    expect(error).toHaveBeenCalledTimes(1);
    expect(info.mock.calls).toEqual([[{ failedForMs: expect.any(Number) }, 'data directory is writable again']]);
  });

  test('is not required if none is configured', async () => {
    await expect(open({ path: null }).counter.requireDirectory(async () => {})).resolves.toBeUndefined();
  });
});
