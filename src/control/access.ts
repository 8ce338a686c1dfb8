import { randomBytes } from 'node:crypto';
import { message, type Text } from '../messages/message.ts';
import type { AccessRights } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../model/time.ts';
import type { Claims } from '../oauth/accounts.ts';
import type { AuthorizationServer } from '../oauth/server.ts';
import type { AccessSettings, OidcSettings } from '../settings/access-schema.ts';
import type {
  AccessCounts,
  AccessToken,
  AccessTokenStore,
  AccountRegistry,
  PassphraseStore,
  SessionLife,
  SessionStore,
} from '../state/access.ts';
import type { LoginStore } from '../state/logins.ts';
import type { Sealer } from '../state/sealing.ts';
import { type Acting, type ActServices, recordAct } from './recording.ts';

/** What administrators are let in with; put together by `composition/`. */
export interface AccessServices extends AccessCounts {
  /** As of now; null: nobody is let in. */
  settings(): AccessSettings | null;
  /** How browsers reach the port, without a slash at the end; null where that can't be told. */
  publicUrl(): string | null;
  /** @throws MirrorError `settings`, code `insecure-address` */
  serverOf(oidc: OidcSettings): AuthorizationServer;
  sessions: SessionStore<SignedIn>;
  accounts: AccountRegistry;
  tokens: AccessTokenStore;
  passphrase: PassphraseStore;
  links: LoginStore<SignInLink>;
  /** Seals what a browser keeps while it is at the provider. */
  sealer: Sealer;
  /** Ids of all tenants. */
  tenants(): readonly string[];
  acts: ActServices;
  clock: Clock;
}

/** An address that signs the owner in once. */
export interface SignInLink {
  /** Shown by the daemon at its first start: it is good for setting the passphrase, and only while there is none. */
  mustSet: boolean;
}

/** Somebody who is let in. */
export interface Entrant extends AccessRights {
  /** What tells two of them apart for good: `account:<issuer>#<subject>`, `token:<name>`, `owner`. */
  id: string;
  /** As people call them. */
  name: string;
}

/** Below it stands everything of signing in. */
export const SIGN_IN_PATH = '/sign-in';

/** How long sessions last by the settings. */
export function sessionLifeOf({ sessionHours, idleMinutes }: AccessSettings): SessionLife {
  return { mostMs: sessionHours * HOUR_MS, idleMs: idleMinutes * MINUTE_MS };
}

/**
 * Whose session it is, with what they may do by the settings of now; null for nobody who is let in.
 * @param how `look`: it is asked by no act of theirs, and ends no later for that
 */
export async function entrantBySession(
  services: AccessServices,
  session: string,
  how: 'use' | 'look' = 'use',
): Promise<Entrant | null> {
  const settings = services.settings();
  if (settings === null) return null;
  const who = await services.sessions[how](session, sessionLifeOf(settings));
  const rights = who === null ? null : rightsOf(who, settings);
  if (who === null || rights === null) return null;
  return { id: accountIdOf(who), name: who.way === 'passphrase' ? 'owner' : who.name, ...rights };
}

/** Whose token it is; null for nobody who is let in. */
export async function entrantByToken(services: AccessServices, shown: string): Promise<Entrant | null> {
  const token = services.settings() === null ? null : await services.tokens.find(shown);
  return token === null ? null : { id: `token:${token.name}`, name: token.name, ...toRights(token) };
}

/** Whose request it is, for limits: a token's, a session's, or else a client's or known browser's. */
export interface Asker {
  by: keyof AccessSettings['requestsPerMinute'];
  /** What tells them apart; a secret is kept as a keyed hash. */
  who: string;
}

/**
 * Counts a request for a page or of the API, over all processes. Streams are counted apart: who opens many pages closes none of those that follow.
 * @returns how long to wait where there were too many in a minute; null: it is let through
 * @throws MirrorError as the state does: what can't be counted is let through no more than what can't be read of who asks
 */
export async function heldBackMs(
  services: AccessServices,
  { by, who }: Asker,
  what: 'answer' | 'stream' = 'answer',
): Promise<number | null> {
  const settings = services.settings();
  if (settings === null) return null;
  const { waitMs } = await services.requests.count(`${what} ${by} ${who}`, settings.requestsPerMinute[by]);
  return waitMs;
}

/** How long an address is good that a person asked for, and the one of the first start, which may be read later. */
const LINK_LIFE_MS = 10 * MINUTE_MS;
const FIRST_LINK_LIFE_MS = HOUR_MS;

/**
 * Makes an address at which the owner signs in once, and may set the passphrase, and records that.
 * @param isFirst made by a daemon at its first start
 * @throws MirrorError `settings`, code `passphrase-off` or `no-operator-address`
 */
export function makeSignInLink(acting: Acting, services: AccessServices, isFirst = false): Promise<{ url: string }> {
  const about = { verb: 'sign-in-link', tenant: null, what: { first: isFirst } } as const;
  return recordAct(acting, about, () => signInLink(services, isFirst));
}

async function signInLink(services: AccessServices, isFirst: boolean): Promise<{ url: string }> {
  if (services.settings()?.passphrase !== true) throw passphraseOff();
  const base = services.publicUrl();
  if (base === null) throw noAddress();
  const ticket = newSecret();
  await services.links.put(ticket, { mustSet: isFirst }, isFirst ? FIRST_LINK_LIFE_MS : LINK_LIFE_MS);
  return { url: `${base}${SIGN_IN_PATH}/link/${ticket}` };
}

/** Whether somebody has to set the passphrase before anybody gets in by it. */
export async function isPassphraseMissing(services: AccessServices): Promise<boolean> {
  return services.settings()?.passphrase === true && !(await services.passphrase.isSet());
}

/** What a token is to be. */
interface TokenWish extends Pick<AccessToken, 'name' | 'level' | 'tenants'> {
  days: number;
}

/**
 * Makes a token for a program.
 * @param by who makes it
 * @returns what the program shows, told this once
 * @throws MirrorError `settings`, code `token-name-taken` or `no-such-tenant`
 */
export async function createAccessToken(
  services: AccessServices,
  { name, level, tenants, days }: TokenWish,
  by: string,
): Promise<{ shown: string; token: AccessToken }> {
  const unknown = tenants?.find((tenant) => !services.tenants().includes(tenant));
  if (unknown !== undefined) throw noSuchTenant(unknown);
  const madeAt = services.clock();
  const token = { name, level, tenants, by, madeAt, endsAt: madeAt + days * DAY_MS };
  const shown = await services.tokens.make(token);
  if (shown === null) throw nameTaken(name);
  return { shown, token };
}

/** Ends a token at once. @throws MirrorError `settings`, code `no-such-token` */
export async function revokeAccessToken(services: AccessServices, name: string): Promise<void> {
  if (await services.tokens.revoke(name)) return;
  throw accessRefused('no-such-token', message('no-such-token', { name }), message('no-such-token.remedy'));
}

/**
 * Gives an address of a rule to the next account that signs in with it verified: for a person who got another account.
 * @throws MirrorError `settings`, code `oidc-off` or `address-unclaimed`
 */
export async function releaseAccount(services: AccessServices, address: string): Promise<void> {
  const oidc = services.settings()?.oidc;
  if (oidc === undefined) throw accessRefused('oidc-off', message('oidc-off'), message('oidc-off.remedy'));
  if (await services.accounts.release(oidc.issuer, address.toLowerCase())) return;
  throw accessRefused('address-unclaimed', message('address-unclaimed'), message('address-unclaimed.remedy'));
}

function noSuchTenant(id: string): MirrorError {
  return accessRefused('no-such-tenant', message('no-such-tenant', { id }), message('no-such-tenant.folder'));
}

function nameTaken(name: string): MirrorError {
  const remedy = message('token-name-taken.remedy', { name });
  return accessRefused('token-name-taken', message('token-name-taken', { name }), remedy);
}

function passphraseOff(): MirrorError {
  return accessRefused('passphrase-off', message('passphrase-off'), message('passphrase-off.remedy'));
}

function noAddress(): MirrorError {
  return accessRefused('no-operator-address', message('no-operator-address'), message('no-operator-address.remedy'));
}

function accessRefused(code: string, text: Text, remedy: Text): MirrorError {
  return new MirrorError(text, { actor: 'settings', code, retry: 'never', remedy });
}

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
function toRights(written: {
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

/** 256 bits that nobody can guess, as they stand in an address or a cookie. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
