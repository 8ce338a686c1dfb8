import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NONE, tenantFile, world } from './configuration-directory.ts';

describe('two files for one clinic', () => {
  test('leave it with the tenant that has it, whatever the names', () => {
    const { readAgain, write } = world();
    write('tenants/a-first.yaml', tenantFile('2'));
    const { refused, unusable, added } = readAgain();
    expect([added, refused]).toEqual([[], []]);
    expect(unusable).toMatchObject([{ id: 'a-first', faults: [{ message: 'the tenant due is the same clinic' }] }]);
  });

  test('keep a tenant at its clinic when it wants that of another, and nobody gets the one that it goes on with', () => {
    const { readAgain, write } = world();
    write('tenants/tre.yaml', tenantFile('2'));
    write('tenants/a-first.yaml', tenantFile('3'));
    const { after, refused, unusable } = readAgain();
    expect(refused).toMatchObject([{ tenant: 'tre', faults: [{ path: 'clinic.tenantId' }] }]);
    expect(unusable).toMatchObject([{ id: 'a-first' }]);
    const clinics = [...after.outlines.values()].map(({ clinic }) => clinic.tenantId);
    expect(clinics.sort()).toEqual(['1', '2', '3']);
  });

  test('are none when tenants change places', () => {
    const { readAgain, write } = world();
    write('tenants/tre.yaml', tenantFile('2'));
    write('tenants/due.yaml', tenantFile('3'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due', 'tre'], refused: [], unusable: [] });
  });
});

describe('a file that breaks', () => {
  test('is refused and named, and its tenant goes on under what it held, until it is mended', () => {
    const { readAgain, write, titleOf } = world();
    write('tenants/due.yaml', tenantFile('2', 'busy').slice(0, -8).concat(' "'));
    const { refused, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, unchanged: 3, unusable: [] });
    expect(refused).toMatchObject([{ tenant: 'due', faults: [{ file: expect.stringMatching(/due\.yaml$/) }] }]);
    expect(titleOf('due')).toBe('appointment');
    // It stays refused while it is as it is, whatever else changes.
    write('tenants/uno.yaml', tenantFile('1', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['uno'], refused: [{ tenant: 'due' }] });
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due'], refused: [] });
    expect(titleOf('due')).toBe('busy');
  });

  test('is put back as it was', () => {
    const { readAgain, write } = world();
    write('tenants/due.yaml', 'name: [');
    readAgain();
    write('tenants/due.yaml', tenantFile('2'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [], checks: 0 });
  });

  test('keeps a tenant from running that did not run', () => {
    const { readAgain, write } = world();
    write('tenants/quattro.yaml', tenantFile('4').replace('Europe/Rome', 'Europe/Roma'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [], unusable: [{ id: 'quattro' }] });
  });

  test('goes on with the secrets that it had', () => {
    const { files, readAgain, setPasswords, remove } = world();
    for (const id of ['uno', 'due', 'tre']) remove(`secrets/${id}/password`);
    expect(readAgain().refused.map(({ tenant }) => tenant)).toEqual(['due', 'tre', 'uno']);
    expect(files.configuration.tenants.get('uno')?.connections.get('dav')?.kind).toBe('caldav');
    setPasswords('one-that-nobody-has');
    expect(readAgain().refused).toEqual([]);
  });

  test('is no reason to forget what else is refused when the folder is gone', () => {
    const { readAgain, write, dir } = world();
    write('tenants/due.yaml', 'name: [');
    readAgain();
    renameSync(join(dir, 'tenants'), join(dir, 'elsewhere'));
    const { refused, removed } = readAgain();
    expect(refused).toMatchObject([
      { tenant: null, faults: [{ message: 'all tenant files would be removed' }] },
      { tenant: 'due' },
    ]);
    expect(removed).toEqual([]);
    renameSync(join(dir, 'elsewhere'), join(dir, 'tenants'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [{ tenant: 'due' }], unchanged: 3 });
  });
});
