import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Actor, MirrorError } from '../../../src/core/model/errors.ts';
import type { Asker } from '../../../src/setup/init/asker.ts';
import {
  prepareSecret,
  readExisting,
  replaceOwnFile,
  untilAccepted,
  writeMissingFiles,
} from '../../../src/setup/init/written-files.ts';
import { asker, newFolder, textOf } from './answers.ts';

const FILE = 'secrets/clinic';
const refusal = (actor: Actor, code = 'client-rejected') => new MirrorError('no', { actor, code, retry: 'never' });

/** Settles a secret. @param failures of each value that the server does not accept */
async function settle(dir: string, answer: string, failures: Record<string, MirrorError>, mayBeAway = false) {
  const tested: string[] = [];
  const secret = {
    ...{ file: FILE, what: 'the client secret', mayBeAway, ask: async () => answer },
    async test(value: string) {
      tested.push(value);
      if (failures[value] !== undefined) throw failures[value];
    },
  };
  return { value: await prepareSecret(dir, secret, asker({})), tested };
}

describe('a secret', () => {
  test('that works is kept, regardless of the answer', async () => {
    const dir = newFolder();
    await replaceOwnFile(dir, FILE, 'kept\n');
    expect(await settle(dir, 'new', {})).toEqual({ value: 'kept', tested: ['kept'] });
    expect(textOf(dir, FILE)).toBe('kept\n');
  });

  test('that is refused is replaced once the server accepted the new one', async () => {
    const dir = newFolder();
    await replaceOwnFile(dir, FILE, 'kept\n');
    const kept = refusal('authorization');
    await expect(settle(dir, 'worse', { kept, worse: kept })).rejects.toMatchObject({ code: 'value-refused' });
    expect(textOf(dir, FILE)).toBe('kept\n');
    expect(await settle(dir, 'new', { kept })).toEqual({ value: 'new', tested: ['kept', 'new'] });
    expect(textOf(dir, FILE)).toBe('new\n');
  });

  test('that is kept survives a server outage only if the other tested values are kept too', async () => {
    const dir = newFolder();
    await replaceOwnFile(dir, FILE, 'kept\n');
    const kept = refusal('remote', 'server-error');
    expect((await settle(dir, 'new', { kept }, true)).value).toBe('kept');
    expect((await settle(dir, 'new', { kept })).value).toBe('new');
  });

  test('that is optional and empty is not written', async () => {
    const dir = newFolder();
    expect((await settle(dir, '', {})).value).toBe('');
    expect(textOf(dir, FILE)).toBe('');
  });

  test('is accessible only to this user, and so are the folders above it', async () => {
    const dir = newFolder();
    await settle(dir, 'new', {});
    expect([FILE, 'secrets'].map((path) => statSync(join(dir, path)).mode & 0o777)).toEqual([0o600, 0o700]);
  });
});

describe('a file', () => {
  test('that exists is not changed', async () => {
    const dir = newFolder();
    await replaceOwnFile(dir, 'a.yaml', 'a: 1\n');
    await writeMissingFiles(
      dir,
      new Map([
        ['a.yaml', 'a: 2\n'],
        ['b.yaml', 'b: 1\n'],
      ]),
    );
    expect([textOf(dir, 'a.yaml'), textOf(dir, 'b.yaml')]).toEqual(['a: 1\n', 'b: 1\n']);
  });

  test('that is no valid YAML is refused with its faults, and a missing file is null', async () => {
    const dir = newFolder();
    await replaceOwnFile(dir, 'a.yaml', 'a: [\n');
    expect(() => readExisting(dir, 'a.yaml')).toThrow(expect.objectContaining({ code: 'configuration' }));
    expect(readExisting(dir, 'b.yaml')).toBe(null);
  });

  test('that cannot be created is an error with a code (file-unusable)', async () => {
    const dir = newFolder();
    await replaceOwnFile(dir, 'a', 'a file\n');
    await expect(replaceOwnFile(dir, 'a/b', 'x')).rejects.toMatchObject({ actor: 'settings', code: 'file-unusable' });
  });
});

describe('a question', () => {
  const ask = (isPerson: boolean, code: string) => {
    let asked = 0;
    const work = async () => {
      asked += 1;
      if (asked < 3) throw refusal('settings', code);
      return asked;
    };
    return untilAccepted({ isPerson, report: () => {} } as unknown as Asker, work);
  };

  test('whose answer was refused is repeated only in a terminal (value-refused)', async () => {
    expect(await ask(true, 'value-refused')).toBe(3);
    await expect(ask(false, 'value-refused')).rejects.toMatchObject({ code: 'value-refused' });
    await expect(ask(true, 'init-ended')).rejects.toMatchObject({ code: 'init-ended' });
  });
});
