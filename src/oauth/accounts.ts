import { message } from '../messages/message.ts';
import type { Account, TokenSet } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import { parseJson } from '../model/json.ts';
import { SECOND_MS } from '../model/time.ts';
import { type ConnectionContext, credentialLease } from './credential.ts';
import { notConnected } from './errors.ts';
import type { Provider } from './providers.ts';
import type { Names } from './token-requests.ts';

/** Claims of an id_token or of a userinfo answer. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * One word, of the length that an address may have.
 * @see RFC 5321 section 4.5.3.1
 */
const SHOWN = /^[^\s\p{C}]{1,320}$/u;
/** Directory of Microsoft's personal accounts: no organisation. */
const PERSONAL_DIRECTORY = '9188040d-6c67-4c5b-b112-36a304b66dad';

/**
 * Whom claims name, by what each vendor vouches for; null when they have no subject.
 *
 * - Google: an address counts once verified, a domain as `hd` alone: anybody may open an account under an address of a foreign domain.
 * - Microsoft: `oid` is the user in every application, where `sub` is another in each. `email` is what a directory's administrator wrote,
 *   so the user name counts, whose domain the directory has proved.
 * - Salesforce: user names are one of a kind over all organisations, and end as their owner likes.
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

/** Whom the members of a token answer name; null when they name nobody. An id_token that is another client's names nobody here. */
export function accountOfNames(provider: Pick<Provider, 'name' | 'clientId'>, names: Names): Account | null {
  if (provider.name === 'hubspot') return accountOf(textOf(names.hubId));
  if (provider.name === 'salesforce') return accountOf(textOf(names.identityUrl?.split('/').at(-1)));
  const claims = names.idToken === null || provider.name === 'oauth' ? null : unvalidatedClaims(names.idToken);
  if (claims === null || ![claims.aud].flat().includes(provider.clientId)) return null;
  return accountOfClaims(provider, claims);
}

/**
 * What HubSpot's introspection tells.
 * @see https://developers.hubspot.com/docs/api-reference/latest/authentication/oauth-tokens/token-introspect
 */
export function accountOfHub(answer: Claims): Account | null {
  const { hub_id: hubId } = answer;
  return accountOf(typeof hubId === 'number' ? String(hubId) : textOf(hubId), textOf(answer.user));
}

/** The claims of an id_token as they came; null when it is none. */
export function unvalidatedClaims(idToken: string): Claims | null {
  const claims = parseJson(Buffer.from(idToken.split('.')[1] ?? '', 'base64url'));
  return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? (claims as Claims) : null;
}

function accountOf(subject: string | null, address: string | null = null, domain: string | null = null) {
  return subject === null ? null : { subject, address, domain };
}

/** What is shown at a terminal holds no control characters, and none that turn the direction of a text. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' && SHOWN.test(value) ? value : null;
}

function domainOf(address: string | null): string | null {
  return address?.split('@')[1] ?? null;
}

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

/** A refresh under way is waited for this long. */
const LEASE_WAIT_MS = 75 * SECOND_MS;

/**
 * A person says that the connected account is the right one, by naming it, so that no account is accepted that nobody saw.
 * @param named its id or its address; `unknown` where the provider does not tell
 * @throws MirrorError `settings`, code `account-differs`, when it is not that of the login; `authorization`, code `not-connected`
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
    // The version stays, as the tokens do: a refresh that waits to be stored goes by it.
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
