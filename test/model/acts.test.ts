import { expect, test } from 'vitest';
import { maySee, requireAllTenants } from '../../src/model/acts.ts';

const ofAll = { level: 'viewer', tenants: null } as const;
const ofRossi = { level: 'owner', tenants: new Set(['rossi']) } as const;

test('a user with some tenants sees only those, and nothing that concerns none or all', () => {
  expect(['rossi', 'bianchi', null].map((tenant) => maySee(ofRossi, tenant))).toEqual([true, false, false]);
  expect(['rossi', null].map((tenant) => maySee(ofAll, tenant))).toEqual([true, true]);
});

test('only a user with all tenants may change how they are configured, whatever the level', () => {
  expect(() => requireAllTenants(ofAll)).not.toThrow();
  expect(() => requireAllTenants(ofRossi)).toThrow(expect.objectContaining({ actor: 'guard', code: 'not-allowed' }));
  expect(() => requireAllTenants({ level: 'owner', tenants: new Set() })).toThrow();
});
