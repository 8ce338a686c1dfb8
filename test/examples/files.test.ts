import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fileSystem } from '../../examples/json-calendar/files.ts';

const NEVER = new AbortController().signal;
const LARGE = 'x'.repeat(10_000_001);

let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'json-calendar-'));
  path = join(folder, 'calendar.json');
  await writeFile(path, '0');
});
afterEach(() => rm(folder, { recursive: true }));

/** Expects the file with this content, and no lock or draft next to it. */
async function expectOnly(content: string): Promise<void> {
  expect(await readdir(folder)).toEqual(['calendar.json']);
  expect(await readFile(path, 'utf8')).toBe(content);
}

describe('a file', () => {
  test('keeps the writes of all workers that write at once', async () => {
    const addOne = (before: string | null) => String(Number(before) + 1);
    await Promise.all(Array.from({ length: 20 }, () => fileSystem.replace(path, addOne, NEVER)));
    await expectOnly('20');
  });

  test('is not replaced if a user saved it meanwhile', async () => {
    const edit = () => {
      writeFileSync(path, 'by hand');
      return 'ours';
    };
    await expect(fileSystem.replace(path, edit, NEVER)).rejects.toMatchObject({
      code: 'changed-meanwhile',
      retry: 'now',
    });
    await expectOnly('by hand');
  });

  test('is not replaced by a worker that lost its lock', async () => {
    const edit = () => {
      writeFileSync(`${path}.lock`, 'of another worker');
      return 'ours';
    };
    await expect(fileSystem.replace(path, edit, NEVER)).rejects.toMatchObject({ code: 'changed-meanwhile' });
    expect([readFileSync(path, 'utf8'), readFileSync(`${path}.lock`, 'utf8')]).toEqual(['0', 'of another worker']);
  });

  test('is written despite the lock of a worker that stopped long ago, and not while another worker writes', async () => {
    await writeFile(`${path}.lock`, 'of another worker');
    const write = () => fileSystem.replace(path, () => '1', NEVER);
    await expect(write()).rejects.toMatchObject({ code: 'calendar-locked', retry: 'later', ambiguous: false });
    expect(await readFile(path, 'utf8')).toBe('0');
    const longAgo = Date.now() / 1_000 - 60;
    await utimes(`${path}.lock`, longAgo, longAgo);
    await write();
    await expectOnly('1');
  });

  test('that is too large is neither read nor written', async () => {
    const tooLarge = { code: 'calendar-too-large', actor: 'settings' };
    await expect(fileSystem.replace(path, () => LARGE, NEVER)).rejects.toMatchObject(tooLarge);
    await expectOnly('0');
    await writeFile(path, LARGE);
    await expect(fileSystem.read(path)).rejects.toMatchObject(tooLarge);
    await expect(fileSystem.replace(path, () => '', NEVER)).rejects.toMatchObject(tooLarge);
    await expectOnly(LARGE);
  });

  test('stays unchanged if an edit wants no change, or fails', async () => {
    await fileSystem.replace(path, () => null, NEVER);
    await expectOnly('0');
    const fail = () => {
      throw new RangeError('no such value');
    };
    await expect(fileSystem.replace(path, fail, NEVER)).rejects.toThrow();
    await expectOnly('0');
  });

  test('fails without its path, which may contain a name', async () => {
    const elsewhere = join(folder, 'rossi', 'calendar.json');
    expect(await fileSystem.read(elsewhere)).toBeNull();
    const error: unknown = await fileSystem.replace(elsewhere, () => '1', NEVER).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'storage-failed', retry: 'later' });
    expect(String(error)).not.toContain('rossi');
  });
});
