import { appendFile, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { highestMark, openDataDirectory } from '../../src/state/data-directory.ts';
import { NOW } from '../domain/arbitraries.ts';

const DECISIONS = { name: 'decisions', shard: 0 } as const;
const ROSSI = 'studio-rossi';
let path = '';
beforeEach(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'clinic-mirror-data-')), 'new');
});
afterEach(() => rm(join(path, '..'), { recursive: true }));

test('a mark is the highest that any process left of its counter and part of the state', async () => {
  const [one, other] = [await openDataDirectory(path), await openDataDirectory(path)];
  expect((await one.readMark(DECISIONS)).counter).toBe(0);
  await Promise.all([one.leaveMark(DECISIONS, 12, NOW), other.leaveMark(DECISIONS, 11, NOW + DAY_MS)]);
  await one.leaveMark({ name: 'writes', shard: 0 }, 40, NOW);
  await one.leaveMark({ name: 'decisions', shard: 1 }, 50, NOW);
  const mark = { counter: 12, at: NOW + DAY_MS };
  expect([await other.readMark(DECISIONS), await highestMark(path, DECISIONS)]).toEqual([mark, mark]);
  expect((await one.readMark({ name: 'writes', shard: 0 })).counter).toBe(40);
  expect((await one.readMark({ name: 'decisions', shard: 1 })).counter).toBe(50);
  expect((await one.readMark({ name: 'managed', shard: 0 })).counter).toBe(0);
});

test('marks of three days remain when the directory is opened again, and its files are private', async () => {
  const directory = await openDataDirectory(path);
  for (let day = 0; day < 5; day += 1) await directory.leaveMark(DECISIONS, day + 1, NOW + day * DAY_MS);
  const again = await openDataDirectory(path);
  const files = await readdir(path);
  expect(files.filter((name) => name.startsWith('marks'))).toHaveLength(3);
  expect((await again.readMark(DECISIONS)).counter).toBe(5);
  for (const name of files) expect((await stat(join(path, name))).mode & 0o077).toBe(0);
});

test('safeguards of a tenant are known from its first complete storage, without the expired ones', async () => {
  const directory = await openDataDirectory(path);
  const put = (table: 'tombstones' | 'optOuts', name: string, value: string | null) =>
    directory.storeSafeguards(ROSSI, [{ table, name, value }]);
  await put('tombstones', 'one', 'a');
  expect(await directory.readSafeguards(ROSSI)).toBeNull();
  await directory.beginSafeguards(ROSSI);
  await put('tombstones', 'two', 'b');
  await put('tombstones', 'two', null);
  await put('optOuts', 'three', 'c');
  await put('optOuts', 'three', 'd');
  const again = await openDataDirectory(path);
  expect(await again.readSafeguards(ROSSI)).toEqual({
    tombstones: { one: 'a' },
    receipts: {},
    optOuts: { three: 'd' },
  });
  expect(await again.readSafeguards('studio-bianchi')).toBeNull();
});

test('an incomplete line after a crash damages neither the lines before it nor those after it', async () => {
  const directory = await openDataDirectory(path);
  await directory.storeIdentity('first');
  await directory.leaveMark(DECISIONS, 7, NOW);
  for (const name of await readdir(path)) await appendFile(join(path, name), name.startsWith('marks') ? '99' : '{"ten');
  await directory.beginSafeguards(ROSSI);
  expect((await directory.readMark(DECISIONS)).counter).toBe(7);
  await directory.leaveMark(DECISIONS, 8, NOW);
  expect((await directory.readMark(DECISIONS)).counter).toBe(8);
  expect(await directory.readIdentity()).toBe('first');
  expect(await directory.readSafeguards(ROSSI)).not.toBeNull();
});
