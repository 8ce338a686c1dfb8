import { randomBytes } from 'node:crypto';
import type { AccessRights, AccessToken } from '../../core/model/acts.ts';
import { clientShares } from '../../core/model/client-shares.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { type Clock, DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { message, type Text } from '../../messages/message.ts';
import type { Claims } from '../../oauth/accounts.ts';
import type { AuthorizationServer } from '../../oauth/server.ts';
import type { AccessSettings, OidcSettings } from '../../settings/access-schema.ts';
import type { Sealer } from '../../state/sealing.ts';
import type {
  AccessCounts,
  AccessTokenStore,
  AccountRegistry,
  PassphraseStore,
  SessionDevice,
  SessionLife,
  SessionStore,
} from './access-stores.ts';
import type { LoginStore } from './login-stores.ts';
import { type Acting, type ActServices, recordAct } from './recording.ts';

/** Services that authenticate administrators, built by `daemon/`. */
export interface AccessServices extends AccessCounts {
  /** Present settings; null: all access is refused. */
  settings(): AccessSettings | null;
  /** Base URL of the port for browsers, without a final slash; null if unknown. */
  publicUrl(): string | null;
  /** @throws MirrorError `settings`, code `insecure-address` */
  serverOf(oidc: OidcSettings): AuthorizationServer;
  sessions: SessionStore<SignedIn>;
  accounts: AccountRegistry;
  tokens: AccessTokenStore;
  passphrase: PassphraseStore;
  links: LoginStore<SignInLink>;
  /** Encrypts values that a browser keeps during a sign-in at the provider. */
  sealer: Sealer;
  /** Ids of all tenants. */
  tenants(): readonly string[];
  acts: ActServices;
  clock: Clock;
}

/** A URL that signs the owner in once. */
export interface SignInLink {
  /** Printed by the daemon at first startup. The link can only set the passphrase, and only while no passphrase exists. */
  mustSet: boolean;
}

/** An authenticated administrator or program. */
export interface Entrant extends AccessRights {
  /** Permanent id: `account:<issuer>#<subject>`, `token:<name>`, `owner`. */
  id: string;
  /** Display name. */
  name: string;
  /** When the user of a session last authenticated; 0 if unknown. Absent for a token, which has no user. */
  signedInAt?: Instant;
}

/** Path of every sign-in page. */
export const SIGN_IN_PATH = '/sign-in';

/** Returns the session lifetime from the settings. */
export function sessionLifeOf({ sessionHours, idleMinutes }: AccessSettings): SessionLife {
  return { mostMs: sessionHours * HOUR_MS, idleMs: idleMinutes * MINUTE_MS };
}

/**
 * Returns the owner of a session with the rights of the present settings; null if access is refused.
 * @param how `look`: a background request, which does not extend the session
 */
export async function entrantBySession(
  services: AccessServices,
  session: string,
  how: 'use' | 'look' = 'use',
): Promise<Entrant | null> {
  const settings = services.settings();
  if (settings === null) return null;
  const open = await services.sessions[how](session, sessionLifeOf(settings));
  if (open === null) return null;
  const { who, authenticatedAt: signedInAt } = open;
  const rights = rightsOf(who, settings);
  if (rights === null) return null;
  return { id: accountIdOf(who), name: nameOfAccount(who), signedInAt, ...rights };
}

/** Families by a mark in `User-Agent`, most specific first: Edge and Opera also name Chrome, and Chrome names Safari. */
const FAMILIES = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

/** Returns what a user recognises a session by. The address is shortened, so that the list reveals no exact place. */
export function deviceOf({
  caller,
  userAgent = '',
}: {
  caller: string;
  userAgent?: string | undefined;
}): SessionDevice {
  const network = caller === '' ? null : caller.replace(/^(\d+\.\d+\.\d+)\.\d+$/, '$1.0/24');
  return { network, browser: FAMILIES.find(([mark]) => userAgent.includes(mark))?.[1] ?? null };
}

/**
 * Decides whether the user must sign in again before a sensitive action, so that a stolen session or an unattended browser is not enough
 * (OWASP ASVS 5.0, 7.5.1 and 7.5.3). A token has no user who could sign in.
 */
export function mustSignInAgain(
  settings: AccessSettings | null,
  { signedInAt }: Pick<Entrant, 'signedInAt'>,
  now: Instant,
): boolean {
  if (signedInAt === undefined) return false;
  return now >= signedInAt + (settings?.reauthenticateAfterMinutes ?? 0) * MINUTE_MS;
}

/** Returns the owner of a token; null if access is refused. */
export async function entrantByToken(services: AccessServices, shown: string): Promise<Entrant | null> {
  const token = services.settings() === null ? null : await services.tokens.find(shown);
  return token === null ? null : { id: `token:${token.name}`, name: token.name, ...toRights(token) };
}

/** Subject of a rate limit: a token, a session, a client or a known browser. */
export interface Asker {
  by: keyof AccessSettings['requestsPerMinute'];
  /** Id of the subject. A secret is stored as a keyed hash. */
  who: string;
}

/**
 * Counts a page or API request across all processes. Streams have a separate limit, so that many open pages do not block page loads.
 * @returns the delay in ms if the minute's limit is exceeded; null: allowed
 * @throws MirrorError as the state does. A request that cannot be counted is refused.
 */
export async function heldBackMs(
  services: AccessServices,
  { by, who }: Asker,
  what: 'answer' | 'stream' = 'answer',
): Promise<number | null> {
  const settings = services.settings();
  if (settings === null) return null;
  for (const { name, most } of clientShares(who, settings.requestsPerMinute[by])) {
    const { waitMs } = await services.requests.count(`${what} ${by} ${name}`, most);
    if (waitMs !== null) return waitMs;
  }
  return null;
}

/** Lifetimes of a requested sign-in link, and of the link from first startup, which an operator may read later. */
const LINK_LIFE_MS = 10 * MINUTE_MS;
const FIRST_LINK_LIFE_MS = HOUR_MS;

/**
 * Makes a URL that signs the owner in once and may set the passphrase, and records the link.
 * @param isFirst made by a daemon at first startup
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

/** Returns whether sign-in by passphrase requires a passphrase that is not set yet. */
export async function isPassphraseMissing(services: AccessServices): Promise<boolean> {
  return services.settings()?.passphrase === true && !(await services.passphrase.isSet());
}

/** Requested properties of a token. */
interface TokenWish extends Pick<AccessToken, 'name' | 'level' | 'tenants'> {
  days: number;
}

/**
 * Makes a token for a program.
 * @param by user who makes the token
 * @returns the secret of the token, shown only once
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

/** Revokes a token immediately. @throws MirrorError `settings`, code `no-such-token` */
export async function revokeAccessToken(services: AccessServices, name: string): Promise<void> {
  if (await services.tokens.revoke(name)) return;
  throw accessRefused('no-such-token', message('no-such-token', { name }), message('no-such-token.remedy'));
}

/**
 * Releases an e-mail address from its account. The next account that signs in with the verified e-mail address receives the rule. Required
 * after a change of account.
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

/** Signed-in user of a session. Rights are not stored: each request computes the rights again. */
export type SignedIn =
  | { way: 'passphrase' }
  | {
      way: 'oidc';
      issuer: string;
      subject: string;
      /** Verified e-mail address; null without verification by the provider. */
      email: string | null;
      /** E-mail addresses of rules that belong to this account since its first sign-in, in lower case. */
      addresses: readonly string[];
      /** Display name. */
      name: string;
      groups: readonly string[];
    };

/** Returns the permanent id of an administrator. */
export function accountIdOf(who: SignedIn): string {
  return who.way === 'passphrase' ? 'owner' : `account:${who.issuer}#${who.subject}`;
}

/** Returns the display name of an administrator. */
export function nameOfAccount(who: SignedIn): string {
  return who.way === 'passphrase' ? 'owner' : who.name;
}

/** Limits on claim length and groups, because each request reads the session. */
const LONGEST_VALUE = 320;
const MOST_GROUPS = 500;

/**
 * Returns the user in a provider's claims. Only verified e-mail addresses are used, because some providers let users set any e-mail address
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
 * Returns the rights under the present settings; null: no rights. The first matching rule applies, users before groups. A rule with an
 * e-mail address belongs to the account that first signed in with the address, even after the account's e-mail address changes.
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

/** Converts rights from the settings. */
function toRights(written: {
  level: AccessRights['level'];
  tenants?: readonly string[] | null | undefined;
}): AccessRights {
  const { level, tenants = null } = written;
  return { level, tenants: tenants === null ? null : new Set(tenants) };
}

/** Returns a single line without control characters, or null. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_VALUE && !/\p{C}/u.test(value)
    ? value
    : null;
}

/** Returns a random secret of 256 bits, encoded for a URL or cookie. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
