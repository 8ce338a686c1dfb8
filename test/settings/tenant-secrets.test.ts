import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SeenFiles } from '../../src/settings/list-files.ts';
import { tenantSecretFile, tenantSecrets, tenantVariable } from '../../src/settings/tenant-secrets.ts';

test('the variables of a tenant begin with its name in capitals, its secret files are in its folder', () => {
  expect(tenantVariable('studio-rossi', 'DAV_PASSWORD')).toBe('TENANT_STUDIO_ROSSI__DAV_PASSWORD');
  expect(tenantSecretFile('studio-rossi', 'dav')).toBe('secrets/studio-rossi/dav');
});

test('no variable of a tenant begins with the variables of another tenant', () => {
  const id = fc.stringMatching(/^[a-z0-9]+(-[a-z0-9]+){0,3}$/);
  fc.assert(
    fc.property(id, id, (one, other) => {
      fc.pre(one !== other);
      expect(tenantVariable(one, 'KEY').startsWith(tenantVariable(other, ''))).toBe(false);
    }),
  );
});

test('work in pieces of two tenants has access only to its own secrets, and none between two pieces', () => {
  const env = { TENANT_UNO__KEY: 'one', TENANT_DUE__KEY: 'two' };
  const secrets = tenantSecrets({ dir: '/', env, seen: new SeenFiles() }, []);
  const found = (variable: string) => secrets.secretAt({ env: variable });
  function* work(): Generator<undefined, (string | null)[], undefined> {
    const before = ['TENANT_UNO__KEY', 'TENANT_DUE__KEY'].map(found);
    yield;
    return [...before, ...['TENANT_UNO__KEY', 'TENANT_DUE__KEY'].map(found)];
  }
  const [uno, due] = ['uno', 'due'].map((tenant) => secrets.inPieces(tenant, work()));
  uno!.next();
  due!.next();
  expect(() => found('TENANT_UNO__KEY')).toThrow(TypeError);
  expect(uno!.next().value).toEqual(['one', null, 'one', null]);
  expect(due!.next().value).toEqual([null, 'two', null, 'two']);
});
