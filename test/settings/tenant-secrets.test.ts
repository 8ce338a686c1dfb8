import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tenantSecretFile, tenantVariable } from '../../src/settings/tenant-secrets.ts';

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
