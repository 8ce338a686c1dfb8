import { timingSafeEqual } from 'node:crypto';

/** Permissions of a user in one tenant. A call needs both the token's scope and the permission. */
export const PERMISSIONS = [
  'agenda.read',
  'agenda.write',
  'patients.read',
  'patients.write',
  'treatments.read',
  'episodes.read',
  'episodes.write',
  'medicalreports.read',
  'medicalreports.write',
  'invoices.read',
  'invoices.write',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

export interface Membership {
  tenantId: string;
  role: string;
  permissions: readonly Permission[];
}

/** An account at the identity provider. The clinic system does not know an account without memberships. */
export interface Account {
  /** Subject identifier. */
  sub: string;
  username: string;
  password: string;
  givenName: string;
  familyName: string;
  email: string;
  memberships: readonly Membership[];
  /** How userinfo says that there are no tenants: three dialects of one meaning. */
  withoutTenants: 'absent' | 'null' | 'empty';
  disabled: boolean;
}

export interface Accounts {
  add(account: Account): void;
  bySub(sub: string): Account | undefined;
  /** Throws RangeError when there is none: a mistake in a test. */
  byUsername(username: string): Account;
  /** The account when the password fits and it is not disabled. */
  login(username: string, password: string): Account | undefined;
  all(): Account[];
}

export function createAccounts(): Accounts {
  const accounts = new Map<string, Account>();

  function find(username: string): Account | undefined {
    return [...accounts.values()].find((account) => account.username === username);
  }

  function byUsername(username: string): Account {
    const account = find(username);
    if (account === undefined) throw new RangeError('the sandbox does not have this user');
    return account;
  }

  function login(username: string, password: string): Account | undefined {
    const account = find(username);
    if (account === undefined || account.disabled) return undefined;
    return sameText(account.password, password) ? account : undefined;
  }

  return {
    add: (account) => void accounts.set(account.sub, account),
    bySub: (sub) => accounts.get(sub),
    byUsername,
    login,
    all: () => [...accounts.values()],
  };
}

function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
