import type { Account, TokenSet } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';

/** Whose login a connection should be, from the settings: all that is given must fit. */
export interface ExpectedAccount {
  subject?: string | undefined;
  address?: string | undefined;
  domain?: string | undefined;
}

/** Whether this is the account that is expected. What the vendor does not vouch for fits nothing. */
export function fits(account: Account, expected: ExpectedAccount): boolean {
  return (
    (expected.subject === undefined || account.subject === expected.subject) &&
    (expected.address === undefined || isSameName(account.address, expected.address)) &&
    (expected.domain === undefined || isSameName(account.domain, expected.domain))
  );
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

/** Why tokens may not be used although they are good: whose they are. Null when they may. */
export type AccountObjection = 'wrong-account' | 'account-unconfirmed';

/**
 * What stands against using the tokens of a login. A login whose account is not known, since it is of an earlier release, is used on.
 * @param expected null where the settings expect nobody
 */
export function objectionTo(
  { account = null, isUnconfirmed = false }: TokenSet,
  expected: ExpectedAccount | null,
): AccountObjection | null {
  if (expected !== null && account !== null) return fits(account, expected) ? null : 'wrong-account';
  return isUnconfirmed ? 'account-unconfirmed' : null;
}

/** @throws MirrorError `authorization`, code `wrong-account`; `guard`, code `account-unconfirmed` */
export function requireRightAccount(connection: string, tokens: TokenSet, expected: ExpectedAccount | null): void {
  const objection = objectionTo(tokens, expected);
  if (objection === 'wrong-account') throw wrongAccount(connection);
  if (objection === 'account-unconfirmed') {
    throw new MirrorError(`nobody has said that the account of the connection "${connection}" is the right one`, {
      actor: 'guard',
      code: 'account-unconfirmed',
      retry: 'never',
      remedy: `see whose it is with "clinic-mirror status", then: clinic-mirror accept-account <tenant> ${connection} <account>; or log in with the right one`,
    });
  }
}

/** The error of a login with another account than the settings expect. It names neither. */
export function wrongAccount(connection: string): MirrorError {
  return new MirrorError(`the login of the connection "${connection}" is of another account than its settings expect`, {
    actor: 'authorization',
    code: 'wrong-account',
    retry: 'never',
    remedy: `log in with the account that the settings name: clinic-mirror login <tenant> ${connection}; or correct "account" there`,
  });
}

function isSameName(one: string | null, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}
