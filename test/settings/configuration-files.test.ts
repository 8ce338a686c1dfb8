import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NONE, tenantFile, world } from './configuration-directory.ts';

describe('reloaded files', () => {
  test('cost nothing where nothing changed, and stay the same objects', () => {
    const { files, readAgain } = world();
    const { settings, profiles, outlines } = files.configuration;
    const { after, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, unchanged: 3, checks: 0, refused: [] });
    expect([after.settings, after.profiles]).toEqual([settings, profiles]);
    expect(after.settings).toBe(settings);
    for (const [id, outline] of after.outlines) expect(outline).toBe(outlines.get(id));
  });

  test('are checked where they changed, came or went', () => {
    const { readAgain, write, remove, titleOf } = world();
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due'], unchanged: 2, checks: 1 });
    expect(titleOf('due')).toBe('busy');
    write('tenants/quattro.yaml', tenantFile('4'));
    remove('tenants/uno.yaml');
    expect(readAgain()).toMatchObject({ ...NONE, added: ['quattro'], removed: ['uno'], unchanged: 2, checks: 1 });
  });

  test('are read by their bytes when it must be sure, and checked where these changed', () => {
    const { readAgain, write, dir } = world();
    write('tenants/due.yaml', `${tenantFile('2')}# a word\n`);
    const now = new Date();
    utimesSync(join(dir, 'tenants/uno.yaml'), now, now);
    expect(readAgain({ sure: true })).toMatchObject({ ...NONE, reopened: ['due'], unchanged: 2, checks: 1 });
  });

  test('are opened again after a changed secret, and the plan stays the same', () => {
    const { files, readAgain, setPasswords } = world();
    const passwordOf = (id: string) => {
      const connection = files.configuration.tenants.get(id)?.connections.get('dav');
      return connection?.kind === 'caldav' ? connection.password.reveal() : null;
    };
    setPasswords('another-one');
    expect(readAgain()).toMatchObject({ ...NONE, reopened: ['due', 'tre', 'uno'], refused: [] });
    expect(passwordOf('uno')).toBe('another-one');
  });
});
