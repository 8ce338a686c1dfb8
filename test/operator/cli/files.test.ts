import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readLines, readTextFile, writeNewFile } from '../../../src/operator/cli/files.ts';

let directory = '';
const at = (name: string) => join(directory, name);
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'clinic-mirror-files-'));
});
afterEach(() => rm(directory, { recursive: true }));

test('a new file, of a string or of a stream, is accessible only to its owner', async () => {
  await writeNewFile(at('text'), 'content');
  await writeNewFile(at('stream'), Readable.from(['con', 'tent']));
  for (const name of ['text', 'stream']) {
    expect(await readTextFile(at(name))).toBe('content');
    expect((await stat(at(name))).mode & 0o777).toBe(0o600);
  }
});

test('an existing file is not changed', async () => {
  await writeFile(at('there'), 'before');
  await expect(writeNewFile(at('there'), 'after')).rejects.toMatchObject({
    ...{ code: 'file-unusable', actor: 'settings', message: 'the file cannot be created (EEXIST)' },
  });
  expect(await readFile(at('there'), 'utf8')).toBe('before');
});

test('lines are read without line endings of any system', async () => {
  await writeFile(at('lines'), 'one\r\ntwo\n\nlast');
  expect(await Array.fromAsync(readLines(at('lines')))).toEqual(['one', 'two', '', 'last']);
});

test('the error for an unreadable file contains the reason', async () => {
  const refused = { code: 'file-unusable', message: 'the file cannot be read (ENOENT)' };
  await expect(readTextFile(at('none'))).rejects.toMatchObject(refused);
  await expect(Array.fromAsync(readLines(at('none')))).rejects.toMatchObject(refused);
});
