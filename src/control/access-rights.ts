import type { AccessRights } from '../model/access.ts';
import type { Claims } from '../oauth/accounts.ts';
import type { AccessSettings, OidcSettings } from '../settings/access-schema.ts';

/** Who signed in, as a session keeps it: what they may do is worked out anew with each request. */
export type SignedIn =
  | { way: 'passphrase' }
  | {
      way: 'oidc';
      issuer: string;
      subject: string;
      /** Null where the provider vouches for none. */
      email: string | null;
      /** Addresses of rules that belong to this account since it first signed in with them, in small letters. */
      addresses: readonly string[];
      /** As people call them. */
      name: string;
      groups: readonly string[];
    };

/** What tells one administrator from another for good. */
export function accountIdOf(who: SignedIn): string {
  return who.way === 'passphrase' ? 'owner' : `account:${who.issuer}#${who.subject}`;
}

/** Longest value of a claim, and most groups, that are looked at: a session is read with each request. */
const LONGEST_VALUE = 320;
const MOST_GROUPS = 500;

/**
 * Whom the claims of a provider name. An address counts once the provider has verified it: elsewhere anybody may write what they like
 * (OpenID Connect Core section 5.7).
 * @returns null without a subject
 */
export function signedInBy({ issuer, groupsClaim }: OidcSettings, claims: Claims): SignedIn | null {
  const subject = textOf(claims.sub);
  if (subject === null) return null;
  const email = claims.email_verified === true ? textOf(claims.email) : null;
  const name = email ?? textOf(claims.preferred_username) ?? textOf(claims.name) ?? subject;
  const groups = [claims[groupsClaim]]
    .flat()
    .slice(0, MOST_GROUPS)
    .flatMap((value) => textOf(value) ?? []);
  return { way: 'oidc', issuer, subject, email, addresses: [], name, groups };
}

/**
 * What somebody may do by the settings of now; null: nothing. Of rules that fit the first counts, people before groups. A rule with an address fits
 * the account that the address belongs to, whatever address that account has by now.
 */
export function rightsOf(who: SignedIn, { oidc, passphrase }: AccessSettings): AccessRights | null {
  if (who.way === 'passphrase') return passphrase ? { level: 'owner', tenants: null } : null;
  if (oidc === undefined || oidc.issuer !== who.issuer) return null;
  const rule =
    oidc.people.find(
      ({ email, subject }) =>
        subject === who.subject || (email !== undefined && who.addresses.includes(email.toLowerCase())),
    ) ?? oidc.groups.find(({ value }) => who.groups.includes(value));
  return rule === undefined ? null : toRights(rule);
}

/** Rights as they are written. */
export function toRights(written: {
  level: AccessRights['level'];
  tenants?: readonly string[] | null | undefined;
}): AccessRights {
  const { level, tenants = null } = written;
  return { level, tenants: tenants === null ? null : new Set(tenants) };
}

/** One line without control characters. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_VALUE && !/\p{C}/u.test(value)
    ? value
    : null;
}
