import { type Account, type Accounts, type Membership, PERMISSIONS } from './authorization/accounts.ts';
import type { Tenant } from './data/records.ts';

/** Username and password for a sign-in. */
export interface Credentials {
  username: string;
  password: string;
}

/** Users who can sign in, in addition to each clinic's front desk. */
export interface SpecialUsers {
  /** Works for every clinic. */
  everyTenant: Credentials;
  /** May read but not write, in the first clinic. */
  readOnly: Credentials;
  /** At the identity provider, not in the clinic system; userinfo leaves tenants out, or says null, or []. */
  unknownAbsent: Credentials;
  unknownNull: Credentials;
  unknownEmpty: Credentials;
}

/** Creates the front-desk user of one clinic. */
export function addFrontDeskUser(accounts: Accounts, tenant: Tenant, number: number): Credentials {
  return add(accounts, `frontdesk${number}`, [fullMembership(tenant)]);
}

/** Creates the users that every sandbox has. */
export function addSpecialUsers(accounts: Accounts, tenants: readonly Tenant[]): SpecialUsers {
  const readOnly = tenants.slice(0, 1).map((tenant) => ({
    tenantId: tenant.id,
    role: 'Viewer',
    permissions: PERMISSIONS.filter((permission) => permission.endsWith('.read')),
  }));
  return {
    everyTenant: add(accounts, 'manager', tenants.map(fullMembership)),
    readOnly: add(accounts, 'viewer', readOnly),
    unknownAbsent: add(accounts, 'unknown-absent', [], 'absent'),
    unknownNull: add(accounts, 'unknown-null', [], 'null'),
    unknownEmpty: add(accounts, 'unknown-empty', [], 'empty'),
  };
}

function fullMembership(tenant: Tenant): Membership {
  return { tenantId: tenant.id, role: 'FrontDesk', permissions: PERMISSIONS };
}

function add(
  accounts: Accounts,
  username: string,
  memberships: readonly Membership[],
  withoutTenants: Account['withoutTenants'] = 'absent',
): Credentials {
  const credentials = { username, password: `${username}-password` };
  accounts.add({
    ...credentials,
    sub: `user-${username}`,
    givenName: username,
    familyName: 'Sandbox',
    email: `${username}@example.com`,
    memberships,
    withoutTenants,
    disabled: false,
  });
  return credentials;
}
