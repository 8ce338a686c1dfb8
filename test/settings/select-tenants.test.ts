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

  test('keep a tenant at its clinic if it claims the clinic of another, and no other tenant gets its current clinic', () => {
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

describe('a file that becomes invalid', () => {
  test('is refused and reported, and its tenant continues with the previous content, until the file is repaired', () => {
    const { readAgain, write, titleOf } = world();
    write('tenants/due.yaml', tenantFile('2', 'busy').slice(0, -8).concat(' "'));
    const { refused, ...told } = readAgain();
    expect(told).toMatchObject({ ...NONE, unchanged: 3, unusable: [] });
    expect(refused).toMatchObject([{ tenant: 'due', faults: [{ file: expect.stringMatching(/due\.yaml$/) }] }]);
    expect(titleOf('due')).toBe('appointment');
    // clinic-mirror refuses the file until it changes, even if others change.
    write('tenants/uno.yaml', tenantFile('1', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['uno'], refused: [{ tenant: 'due' }] });
    write('tenants/due.yaml', tenantFile('2', 'busy'));
    expect(readAgain()).toMatchObject({ ...NONE, changed: ['due'], refused: [] });
    expect(titleOf('due')).toBe('busy');
  });

  test('can be restored unchanged', () => {
    const { readAgain, write } = world();
    write('tenants/due.yaml', 'name: [');
    readAgain();
    write('tenants/due.yaml', tenantFile('2'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [], checks: 0 });
  });

  test('prevents the start of a tenant that was not running', () => {
    const { readAgain, write } = world();
    write('tenants/quattro.yaml', tenantFile('4').replace('Europe/Rome', 'Europe/Roma'));
    expect(readAgain()).toMatchObject({ ...NONE, refused: [], unusable: [{ id: 'quattro' }] });
  });

  test('continues with the previous secrets', () => {
    const { files, readAgain, setPasswords, remove } = world();
    for (const id of ['uno', 'due', 'tre']) remove(`secrets/${id}/password`);
    expect(readAgain().refused.map(({ tenant }) => tenant)).toEqual(['due', 'tre', 'uno']);
    expect(files.configuration.tenants.get('uno')?.connections.get('dav')?.kind).toBe('caldav');
    setPasswords('one-that-nobody-has');
    expect(readAgain().refused).toEqual([]);
  });

  test('does not hide other refusals when the folder is missing', () => {
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
