import { expect, test } from 'vitest';
import { maySee, requireAllTenants } from '../../../src/core/model/acts.ts';

const ofAll = { level: 'viewer', tenants: null } as const;
const ofRossi = { level: 'owner', tenants: new Set(['rossi']) } as const;

test('a user with a list of tenants sees only events of these tenants, and none of other or all tenants', () => {
  expect(['rossi', 'bianchi', null].map((tenant) => maySee(ofRossi, tenant))).toEqual([true, false, false]);
  expect(['rossi', null].map((tenant) => maySee(ofAll, tenant))).toEqual([true, true]);
});

test('only a user with all tenants may change how they are configured, whatever the level', () => {
  expect(() => requireAllTenants(ofAll)).not.toThrow();
  expect(() => requireAllTenants(ofRossi)).toThrow(expect.objectContaining({ actor: 'guard', code: 'not-allowed' }));
  expect(() => requireAllTenants({ level: 'owner', tenants: new Set() })).toThrow();
});
