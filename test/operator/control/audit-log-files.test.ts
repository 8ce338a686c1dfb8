import { createSecretKey } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AuditEntry } from '../../../src/core/model/acts.ts';
import { AuditLogFiles, isGenuine, lineOf } from '../../../src/operator/control/audit-log-files.ts';

const CHAIN = '2026-abc';
const KEY = createSecretKey(Buffer.alloc(32, 7));
let path = '';
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'audit-log-files-'));
});
afterEach(() => rm(path, { recursive: true, force: true }));

const entryOf = (why: string) => ({ chain: CHAIN, sequence: 1, why }) as AuditEntry;
const lineWith = (why: string) => lineOf(entryOf(why), KEY).line;

/** Files with so many entries, three in each folder. */
async function written(count: number): Promise<AuditLogFiles> {
  const files = new AuditLogFiles(path, 3);
  for (let sequence = 1; sequence <= count; sequence += 1) await files.write(CHAIN, sequence, lineWith(`${sequence}`));
  return files;
}

describe('the files of an audit log', () => {
  test('give each number to the first writer only, and leave no draft', async () => {
    const files = new AuditLogFiles(path, 3);
    const others = Array.from({ length: 5 }, () => new AuditLogFiles(path, 3));
    const won = await Promise.all(others.map((one, index) => one.write(CHAIN, 1, lineWith(`${index}`))));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect((await files.read(CHAIN, 1))?.entry?.why).toBe(`${won.indexOf(true)}`);
    expect(await readdir(join(path, CHAIN, '00000'))).toEqual(['00000001.json']);
  });

  test('are read by number, forward and back from a number', async () => {
    const files = await written(7);
    expect(await Array.fromAsync(files.numbers(CHAIN))).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(await Array.fromAsync(files.numbersBack(CHAIN, 5))).toEqual([4, 3, 2, 1]);
    expect(await files.lastNumber(CHAIN)).toBe(7);
    expect(await files.read(CHAIN, 8)).toBeNull();
    expect(await files.lastNumber('2026-other')).toBe(0);
  });

  test('go folder by folder, the newest folder excepted from the ends', async () => {
    const files = await written(7);
    expect((await Array.fromAsync(files.folderEnds(CHAIN))).map(({ sequence }) => sequence)).toEqual([3, 6]);
    await files.removeThrough(CHAIN, 3);
    expect(await Array.fromAsync(files.numbers(CHAIN))).toEqual([4, 5, 6, 7]);
  });

  test('contain chains only: other names in the directory are no chains and no entries', async () => {
    const files = await written(1);
    for (const name of ['notes.txt', '2026-ABC', '.2026-abc']) await writeFile(join(path, name), 'x');
    await writeFile(join(path, CHAIN, '00000', '1.json'), 'x');
    expect(await files.chains()).toEqual([CHAIN]);
    expect(await Array.fromAsync(files.numbers(CHAIN))).toEqual([1]);
    expect(await new AuditLogFiles(join(path, 'absent'), 3).chains()).toEqual([]);
  });

  test('that the file system refuses are audit-log-unwritable', async () => {
    const file = join(path, 'file');
    await writeFile(file, 'no folder');
    const refused = { actor: 'settings', code: 'audit-log-unwritable', retry: 'later' };
    await expect(new AuditLogFiles(file, 3).write(CHAIN, 1, 'x')).rejects.toMatchObject(refused);
    await expect(new AuditLogFiles(file, 3).chains()).rejects.toMatchObject(refused);
  });

  test.each(['nothing', '{"mac":"short","chain":"c"}', `{"mac":"${'a'.repeat(43)}",not JSON}`])(
    'read %j as no entry',
    async (text) => {
      const files = await written(1);
      await writeFile(join(path, CHAIN, '00000', '00000001.json'), text);
      expect(await files.read(CHAIN, 1)).toMatchObject({ entry: null, mac: '' });
    },
  );
});

test('a line is genuine only if unchanged and under its key, whatever the entry contains', () => {
  const other = createSecretKey(Buffer.alloc(32, 8));
  fc.assert(
    fc.property(fc.string(), fc.nat(), (why, position) => {
      const { line, mac } = lineOf(entryOf(why), KEY);
      const stored = (text: string) => ({ line: text, mac, entry: null });
      expect(isGenuine(stored(line), KEY)).toBe(true);
      expect(isGenuine(stored(line), other)).toBe(false);
      const at = line.indexOf(',') + 1 + (position % (line.length - line.indexOf(',') - 1));
      const changed = `${line.slice(0, at)}${line[at] === 'x' ? 'y' : 'x'}${line.slice(at + 1)}`;
      expect(isGenuine(stored(changed), KEY)).toBe(false);
    }),
  );
});
