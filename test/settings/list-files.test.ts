import { mkdirSync, readFileSync, renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isSameStamps } from '../../src/settings/list-files.ts';
import { NONE, SETTINGS, tenantFile, withOwnSecrets, world } from './configuration-directory.ts';

describe('a check of the files', () => {
  test('finds the loaded files, until a change', () => {
    const { files, look, write, setPasswords, remove } = world();
    const first = look();
    expect(files.isAsRead(first)).toBe(true);
    for (const change of [
      () => write('tenants/due.yaml', tenantFile('2', 'busy')),
      () => write('tenants/new.yaml', tenantFile('4')),
      () => write('tenants/other.yml', ''),
      () => remove('tenants/tre.yaml'),
      () => write('profiles/plain.yaml', 'scopePrefix: "x."'),
      () => write('clinic-mirror.yaml', `${SETTINGS} `),
      () => setPasswords('another-one'),
    ]) {
      const before = look();
      change();
      expect(isSameStamps(look(), before)).toBe(false);
    }
    expect(files.isAsRead(look())).toBe(false);
  });

  test('detects a file that was restored with its size and times', () => {
    const { dir, look, write } = world();
    const name = join(dir, 'tenants/due.yaml');
    utimesSync(name, 1_700_000_000, 1_700_000_000);
    const before = look();
    const { size, mtimeMs } = statSync(name);
    write('tenants/due.yaml', readFileSync(name, 'utf8').replace('Uno', 'Due'));
    utimesSync(name, 1_700_000_000, 1_700_000_000);
    expect(statSync(name)).toMatchObject({ size, mtimeMs });
    expect(isSameStamps(look(), before)).toBe(false);
  });

  test('follows links, as in a ConfigMap', () => {
    const { dir, readAgain, look, remove } = world();
    const place = (version: string, title: string) => {
      mkdirSync(join(dir, 'tenants', version));
      writeFileSync(join(dir, 'tenants', version, 'due.yaml'), withOwnSecrets('due.yaml', tenantFile('2', title)));
      symlinkSync(version, join(dir, 'tenants', '..new'));
      renameSync(join(dir, 'tenants', '..new'), join(dir, 'tenants', '..data'));
    };
    place('..one', 'appointment');
    remove('tenants/due.yaml');
    symlinkSync('..data/due.yaml', join(dir, 'tenants', 'due.yaml'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [] });
    const before = look();
    expect(isSameStamps(look(), before)).toBe(true);
    place('..two', 'busy');
    expect(isSameStamps(look(), before)).toBe(false);
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due'], unchanged: 2, checks: 1 });
  });
});
