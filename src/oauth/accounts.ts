import type { z } from 'zod';
import type { Account, TokenSet } from '../core/model/credentials.ts';
import { MirrorError } from '../core/model/errors.ts';
import { parseJson } from '../core/model/json.ts';
import { SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import type { expectedAccount } from '../settings/connection-schema.ts';
import { type ConnectionContext, credentialLease } from './credential.ts';
import { notConnected } from './errors.ts';
import type { Provider } from './providers.ts';
import type { Names } from './token-requests.ts';

export type Claims = Readonly<Record<string, unknown>>;

/**
 * One word of at most the length of an e-mail address.
 * @see RFC 5321 section 4.5.3.1
 */
const SHOWN = /^[^\s\p{C}]{1,320}$/u;
/** Directory of Microsoft's personal accounts: no organisation. */
const PERSONAL_DIRECTORY = '9188040d-6c67-4c5b-b112-36a304b66dad';

/**
 * Returns the account that claims identify by vendor-verified values, or null without a subject.
 *
 * - Google: only verified e-mail addresses are used, and domains only from `hd`: any user can open an account with an e-mail address of a
 *   foreign domain.
 * - Microsoft: `oid` identifies the user in every application, while `sub` differs per application. `email` is set by a directory's
 *   administrator, so the user name is used, whose domain the directory has proved.
 * - Salesforce: user names are unique over all organisations, but the owner chooses the domain.
 * @see https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload
 * @see https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
export function accountOfClaims(provider: Pick<Provider, 'name'>, claims: Claims): Account | null {
  const sub = textOf(claims.sub);
  switch (provider.name) {
    case 'google':
      return accountOf(sub, claims.email_verified === true ? textOf(claims.email) : null, textOf(claims.hd));
    case 'microsoft': {
      const address = textOf(claims.preferred_username);
      return accountOf(
        textOf(claims.oid) ?? sub,
        address,
        claims.tid === PERSONAL_DIRECTORY ? null : domainOf(address),
      );
    }
    case 'salesforce':
      return accountOf(textOf(claims.user_id), textOf(claims.preferred_username));
    default:
      return accountOf(sub, claims.email_verified === true ? textOf(claims.email) : null);
  }
}

/** Returns the account that a token answer identifies, or null. An id_token of a different client is ignored. */
export function accountOfNames(provider: Pick<Provider, 'name' | 'clientId'>, names: Names): Account | null {
  if (provider.name === 'hubspot') return accountOf(textOf(names.hubId));
  if (provider.name === 'salesforce') return accountOf(textOf(names.identityUrl?.split('/').at(-1)));
  const claims = names.idToken === null || provider.name === 'oauth' ? null : unvalidatedClaims(names.idToken);
  if (claims === null || ![claims.aud].flat().includes(provider.clientId)) return null;
  return accountOfClaims(provider, claims);
}

/**
 * Returns the account from HubSpot's introspection.
 * @see https://developers.hubspot.com/docs/api-reference/latest/authentication/oauth-tokens/token-introspect
 */
export function accountOfHub(answer: Claims): Account | null {
  const { hub_id: hubId } = answer;
  return accountOf(typeof hubId === 'number' ? String(hubId) : textOf(hubId), textOf(answer.user));
}

/** Decodes the claims of an id_token without validation; null for an invalid token. */
export function unvalidatedClaims(idToken: string): Claims | null {
  const claims = parseJson(Buffer.from(idToken.split('.')[1] ?? '', 'base64url'));
  return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? (claims as Claims) : null;
}

function accountOf(subject: string | null, address: string | null = null, domain: string | null = null) {
  return subject === null ? null : { subject, address, domain };
}

/** Text for a terminal must not contain control characters or characters that change the text direction. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' && SHOWN.test(value) ? value : null;
}

function domainOf(address: string | null): string | null {
  return address?.split('@')[1] ?? null;
}

/** Expected account of a connection, from the settings; all given values must match. */
export type ExpectedAccount = NonNullable<z.infer<typeof expectedAccount.byDomain>>;

/** Reason why an account is not the expected one. */
type Mismatch = 'wrong-account' | 'account-unknown';

/**
 * Compares an account with the expected account. Values without the vendor's verification never match.
 * @returns null on a match; `account-unknown` if the vendor does not report an expected value
 */
export function mismatchOf(account: Account | null, expected: ExpectedAccount): Mismatch | null {
  if (account === null) return 'account-unknown';
  const { subject, address, domain } = expected;
  if (subject !== undefined && account.subject !== subject) return 'wrong-account';
  if (domain !== undefined && !isSameName(account.domain, domain)) return 'wrong-account';
  if (address === undefined || isSameName(account.address, address)) return null;
  return account.address === null ? 'account-unknown' : 'wrong-account';
}

/** Decides whether an operator's input names this account: by id or e-mail address, or `unknown` for an unknown account. */
export function isNamed(account: Account | null, name: string): boolean {
  if (account === null) return name === UNKNOWN;
  return account.subject === name || isSameName(account.address, name);
}

/** Replaces an unknown account. */
const UNKNOWN = 'unknown';

/** Formats an account for operators. */
export function accountText(account: Account | null): string {
  if (account === null) return UNKNOWN;
  return account.address === null ? account.subject : `${account.address} (${account.subject})`;
}

/** Reason why valid tokens must not be used because of their account. */
export type AccountObjection = Mismatch | 'account-unconfirmed';

/**
 * Returns the reason against using the tokens of a connection, or null. A connection with an unknown account stays in use.
 * @param expected null if the settings expect no account
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
 * Returns the error of a connection whose account must not be used. The error does not name the account.
 *
 * `wrong-account`, `account-unknown`: `authorization`, the operator reconnects; `account-unconfirmed`: `guard`, the operator confirms the
 * account.
 */
export function accountError(connection: string, objection: AccountObjection): MirrorError {
  const login = `clinic-mirror login <tenant> ${connection}`;
  switch (objection) {
    case 'wrong-account':
      return new MirrorError(message('wrong-account', { connection }), {
        actor: 'authorization',
        code: 'wrong-account',
        retry: 'never',
        remedy: message('wrong-account.remedy', { login }),
      });
    case 'account-unknown':
      return new MirrorError(message('account-unknown', { connection }), {
        actor: 'authorization',
        code: 'account-unknown',
        retry: 'never',
        remedy: message('account-unknown.remedy', { login }),
      });
    case 'account-unconfirmed':
      return new MirrorError(message('account-not-accepted', { connection }), {
        actor: 'guard',
        code: 'account-unconfirmed',
        retry: 'never',
        remedy: message('account-not-accepted.remedy', {
          command: `clinic-mirror accept-account <tenant> ${connection} <account>`,
        }),
      });
  }
}

function isSameName(one: string | null, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

/** Longest wait for a running refresh. */
const LEASE_WAIT_MS = 75 * SECOND_MS;

/**
 * Records that an operator confirmed the connected account. The operator must name the account, so that no unseen account is accepted.
 * @param named id or e-mail address; `unknown` if the provider does not report the account
 * @throws MirrorError `settings`, code `account-differs`, if the name does not match; `authorization`, code `not-connected`
 */
export async function confirmAccount(
  { connection, credentials, leases }: ConnectionContext,
  named: string,
  signal: AbortSignal,
): Promise<Account | null> {
  const lease = await leases.take(credentialLease(connection), LEASE_WAIT_MS, signal);
  try {
    const credential = await credentials.read(connection);
    if (credential === null) throw notConnected(connection);
    const { version, tokens } = credential;
    const { account = null } = tokens;
    if (!isNamed(account, named)) throw differs(connection);
    // The version stays unchanged, like the tokens: a refresh that waits for storage compares the version.
    const confirmed = { ...credential, tokens: { ...tokens, isUnconfirmed: false } };
    if (!(await credentials.write(lease, connection, version, confirmed))) throw differs(connection);
    return account;
  } finally {
    await lease.release().catch(() => {});
  }
}

function differs(connection: string): MirrorError {
  return new MirrorError(message('account-differs', { connection }), {
    actor: 'settings',
    code: 'account-differs',
    retry: 'never',
    remedy: message('account-differs.remedy'),
  });
}
