import type { Account, TokenSet } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';

/** Whose login a connection should be, from the settings: all that is given must fit. */
export interface ExpectedAccount {
  subject?: string | undefined;
  address?: string | undefined;
  domain?: string | undefined;
}

/** What stands against an account that is not the one expected. */
type Mismatch = 'wrong-account' | 'account-unknown';

/**
 * Whether this is the account that is expected. What the vendor does not vouch for fits nothing.
 * @returns null when it is; `account-unknown` when what it is asked for by is not told
 */
export function mismatchOf(account: Account | null, expected: ExpectedAccount): Mismatch | null {
  if (account === null) return 'account-unknown';
  const { subject, address, domain } = expected;
  if (subject !== undefined && account.subject !== subject) return 'wrong-account';
  if (domain !== undefined && !isSameName(account.domain, domain)) return 'wrong-account';
  if (address === undefined || isSameName(account.address, address)) return null;
  return account.address === null ? 'account-unknown' : 'wrong-account';
}

/** Whether a person names this account: by its id or its address, or as `unknown` where nothing is known of it. */
export function isNamed(account: Account | null, name: string): boolean {
  if (account === null) return name === UNKNOWN;
  return account.subject === name || isSameName(account.address, name);
}

/** What stands in place of an account of which nothing is known. */
const UNKNOWN = 'unknown';

/** An account as operators read it. */
export function accountText(account: Account | null): string {
  if (account === null) return UNKNOWN;
  return account.address === null ? account.subject : `${account.address} (${account.subject})`;
}

/** Why tokens may not be used although they are good: whose they are. */
export type AccountObjection = Mismatch | 'account-unconfirmed';

/**
 * What stands against using the tokens of a login; null when nothing does. A login of which nothing is known is used on.
 * @param expected null where the settings expect nobody
 */
export function objectionTo(
  { account = null, isUnconfirmed = false }: TokenSet,
  expected: ExpectedAccount | null,
): AccountObjection | null {
  if (expected !== null && account !== null) return mismatchOf(account, expected);
  return isUnconfirmed ? 'account-unconfirmed' : null;
}

/** @throws MirrorError as {@link accountError} */
export function requireRightAccount(connection: string, tokens: TokenSet, expected: ExpectedAccount | null): void {
  const objection = objectionTo(tokens, expected);
  if (objection !== null) throw accountError(connection, objection);
}

/**
 * The error of a login whose account may not be used. It names no account.
 *
 * `wrong-account`, `account-unknown`: `authorization`, a person logs in; `account-unconfirmed`: `guard`, a person says that it is right.
 */
export function accountError(connection: string, objection: AccountObjection): MirrorError {
  const login = `clinic-mirror login <tenant> ${connection}`;
  switch (objection) {
    case 'wrong-account':
      return new MirrorError(`the login of the connection "${connection}" is of another account than is expected`, {
        actor: 'authorization',
        code: 'wrong-account',
        retry: 'never',
        remedy: `log in with the account that the tenant file names (${login}), or correct "account" there`,
      });
    case 'account-unknown':
      return new MirrorError(
        `it can not be told whether the login of the connection "${connection}" is whose is expected`,
        {
          actor: 'authorization',
          code: 'account-unknown',
          retry: 'never',
          remedy: `log in again (${login}); where the provider never tells, take "account" out of the tenant file`,
        },
      );
    case 'account-unconfirmed':
      return new MirrorError(`nobody has said that the account of the connection "${connection}" is the right one`, {
        actor: 'guard',
        code: 'account-unconfirmed',
        retry: 'never',
        remedy: `see whose it is with "clinic-mirror status", then: clinic-mirror accept-account <tenant> ${connection} <account>; or log in with the right one`,
      });
  }
}

function isSameName(one: string | null, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}
