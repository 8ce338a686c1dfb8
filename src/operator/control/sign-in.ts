import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../../core/model/acts.ts';
import { clientShares } from '../../core/model/client-shares.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { type Message, message } from '../../messages/message.ts';
import type { Claims } from '../../oauth/accounts.ts';
import type { SignInDemands } from '../../oauth/ask-account.ts';
import { loginUnknown } from '../../oauth/login.ts';
import { beginSignIn, completeSignIn, type PendingSignIn } from '../../oauth/sign-in.ts';
import type { OidcSettings } from '../../settings/access-schema.ts';
import {
  type AccessServices,
  accountIdOf,
  deviceOf,
  nameOfAccount,
  rightsOf,
  SIGN_IN_PATH,
  type SignedIn,
  sessionLifeOf,
  signedInBy,
} from './access.ts';
import { isGuessable } from './guessable.ts';
import { type Acting, recordAct, recordEntry } from './recording.ts';

/** Lifetime of the cookie; each sign-in renews it. */
export const REMEMBERED_BROWSER_LIFE_MS = 90 * DAY_MS;
const CONTEXT = 'known browser';

const ticket = z.object({ id: z.string(), account: z.string(), endsAt: z.number() });

/**
 * A browser in which an account signed in before. The browser has a separate budget of attempts, so that other users' wrong attempts do not
 * lock the account's owner out. The cookie is not a session: a thief gets only the attempts of this budget, and a forged cookie gets no
 * budget.
 */
export interface RememberedBrowser {
  /** Id of the budget. */
  id: string;
  /** Account of the sign-in; `owner` for the passphrase. */
  account: string;
}

/** Decrypts a browser's cookie; null for an empty, expired, changed or forged cookie. */
export function rememberedBrowserOf({ sealer, clock }: AccessServices, shown: string): RememberedBrowser | null {
  try {
    const { endsAt, ...rememberedBrowser } = ticket.parse(JSON.parse(sealer.open(shown, CONTEXT)));
    return endsAt > clock() ? rememberedBrowser : null;
  } catch {
    return null;
  }
}

/** Makes the cookie after a sign-in. A known browser of the account keeps its budget. */
export function rememberBrowser(
  { sealer, clock }: AccessServices,
  account: string,
  before: RememberedBrowser | null,
): string {
  const id = before?.account === account ? before.id : randomUUID();
  return sealer.seal(JSON.stringify({ id, account, endsAt: clock() + REMEMBERED_BROWSER_LIFE_MS }), CONTEXT);
}

/** The account of the passphrase. */
const OWNER = accountIdOf({ way: 'passphrase' });

/** A user who has not signed in yet. */
const STRANGER: Principal = { kind: 'browser', name: 'browser', id: 'browser', claimed: null };

/**
 * Attempts in 15 minutes per client IP address (an office may share an IP address) or known browser, and per account across all clients.
 */
const PER_ADDRESS = 20;
const PER_ACCOUNT = 100;
/** Failure counts that are recorded, because the audit log is kept for years and an attacker makes thousands of attempts. */
const RECORDED_ATTEMPTS = new Set([1, 10, PER_ADDRESS + 1, PER_ACCOUNT + 1]);

/** Shorter passphrases can be guessed (NIST SP 800-63B-4 section 3.1.1.2: 15 characters for single-factor authentication). */
export const SHORTEST_PASSPHRASE = 15;
const LONGEST_PASSPHRASE = 256;

/** Time limit of a sign-in at the provider. */
const PENDING_LIFE_MS = 10 * MINUTE_MS;
/** Encryption context of pending sign-ins. */
const PENDING_CONTEXT = 'pending sign-in';

interface StoredSignIn extends PendingSignIn {
  endsAt: Instant;
  to: string;
}

/** Subject of sign-in limits. */
export interface Trier {
  /** Client of the request. */
  caller: string;
  /** Known browser, or null. */
  rememberedBrowser: RememberedBrowser | null;
  /** Header of the request; for the list of own sessions. */
  userAgent?: string | undefined;
}

/** A new session and the values for the browser. */
export interface NewSession {
  session: string;
  /** Account, for {@link rememberBrowser}. */
  account: string;
  /** Next path of the browser, on this server. */
  to: string;
}

/**
 * Begins a sign-in at the provider without storing data on the server. The browser keeps the encrypted values that the answer must match.
 * @param to next path after the sign-in
 * @param isAgain the last sign-in is too old for a sensitive action, so the provider must not answer from its own session
 * @throws MirrorError `settings`, code `oidc-off`; as {@link beginSignIn}
 */
export async function beginOidcSignIn(
  services: AccessServices,
  to: string,
  isAgain = false,
): Promise<{ url: URL; sealedState: string }> {
  const oidc = requireOidc(services);
  const redirectUri = `${services.publicUrl() ?? ''}${SIGN_IN_PATH}/callback`;
  const demands = demandsOf(oidc, isAgain ? (services.settings()?.reauthenticateAfterMinutes ?? null) : null);
  const { url, pending } = await beginSignIn(services.serverOf(oidc), oidc.scopes, redirectUri, demands);
  const stored: StoredSignIn = { ...pending, demands, to, endsAt: services.clock() + PENDING_LIFE_MS };
  return { url, sealedState: services.sealer.seal(JSON.stringify(stored), PENDING_CONTEXT) };
}

/**
 * Completes a sign-in with the callback URL from the provider.
 * @param callback.sealedState encrypted begin from the browser, or empty
 * @throws MirrorError as {@link completeSignIn}; `authorization`, code `login-unknown`, `sign-in-not-allowed`, `account-changed` or
 * `sign-in-too-often`
 */
export async function endOidcSignIn(
  services: AccessServices,
  callback: { search: string; sealedState: string; trier: Trier },
  signal: AbortSignal,
): Promise<NewSession> {
  return limited(services, { ...callback.trier, account: null }, async () => {
    const oidc = requireOidc(services);
    const { to, endsAt, demands, ...pending } = openStored(services, callback.sealedState);
    if (endsAt <= services.clock()) throw loginUnknown();
    const address = new URL(pending.redirectUri);
    address.search = callback.search;
    const claims = await completeSignIn(services.serverOf(oidc), address, { ...pending, demands }, signal);
    const who = await requirePerson(services, oidc, claims);
    // Without `max_age`, a provider without `auth_time` possibly answers from an old session of its own.
    const saidAt = typeof claims.auth_time === 'number' ? claims.auth_time * SECOND_MS : null;
    const now = services.clock();
    const authenticatedAt = Math.min(now, saidAt ?? (demands.maxAgeSeconds === null ? 0 : now));
    return { ...(await beginSession(services, who, { ...deviceOf(callback.trier), authenticatedAt })), to };
  });
}

/** @param againMinutes longest age of the sign-in for a sensitive action; null: none is planned */
function demandsOf({ acrValues, amr, maxAgeMinutes }: OidcSettings, againMinutes: number | null): SignInDemands {
  const minutes = [maxAgeMinutes, againMinutes].filter((each) => typeof each === 'number');
  const maxAgeSeconds = minutes.length === 0 ? null : Math.min(...minutes) * (MINUTE_MS / SECOND_MS);
  return { acrValues, amr, maxAgeSeconds, needsAuthTime: maxAgeMinutes !== undefined };
}

/**
 * Returns the user of claims, with the e-mail addresses of rules that belong to the account. The first account that signs in with a
 * verified e-mail address owns the address. Later, only issuer and subject identify the user; a different account with an equal e-mail
 * address is a different user.
 * @throws MirrorError `authorization`, code `sign-in-not-allowed` or `account-changed`
 */
async function requirePerson(services: AccessServices, oidc: OidcSettings, claims: Claims): Promise<SignedIn> {
  const who = signedInBy(oidc, claims);
  if (who === null || who.way !== 'oidc') throw notAllowed();
  const { issuer, subject } = who;
  const verified = who.email?.toLowerCase() ?? null;
  const written = [...new Set(oidc.people.flatMap(({ email }) => email?.toLowerCase() ?? []))];
  const subjects = await services.accounts.ofAddresses(issuer, written);
  const isNew = verified !== null && written.includes(verified) && !subjects.has(verified);
  if (isNew) subjects.set(verified, await services.accounts.claim(issuer, verified, subject));
  const addresses = written.filter((address) => subjects.get(address) === subject);
  const person: SignedIn = { ...who, addresses };
  const settings = services.settings();
  const isSomebodyElses = verified !== null && subjects.has(verified) && !addresses.includes(verified);
  if (isSomebodyElses && settings !== null && rightsOf(person, settings) === null) throw accountChanged();
  return person;
}

/**
 * Signs the owner in.
 * @throws MirrorError `authorization`, code `passphrase-wrong` or `sign-in-too-often`
 */
export async function signInByPassphrase(
  services: AccessServices,
  passphrase: string,
  trier: Trier,
): Promise<Omit<NewSession, 'to'>> {
  return limited(services, { ...trier, account: OWNER }, async () => {
    const isOn = services.settings()?.passphrase === true && passphrase.length <= LONGEST_PASSPHRASE;
    if (!isOn || !(await services.passphrase.fits(passphrase))) throw wrongPassphrase();
    return beginSession(services, { way: 'passphrase' }, deviceOf(trier));
  });
}

/** Describes a sign-in link without using the link; null for a used link. */
export async function describeSignInLink(
  services: AccessServices,
  ticket: string,
): Promise<{ mustSet: boolean } | null> {
  const link = services.settings()?.passphrase === true ? await services.links.find(ticket) : null;
  if (link === null || (link.mustSet && (await services.passphrase.isSet()))) return null;
  return { mustSet: link.mustSet };
}

/**
 * Uses a sign-in link: sets the passphrase and ends all sessions of the owner, or only signs in.
 * @param passphrase null: unchanged
 * @param trier browser of the request; null if unknown
 * @throws MirrorError `authorization`, code `login-unknown`, `passphrase-unusable` or `passphrase-guessable`
 */
export async function useSignInLink(
  services: AccessServices,
  ticket: string,
  passphrase: string | null,
  trier: Trier | null = null,
): Promise<Omit<NewSession, 'to'>> {
  const link = await describeSignInLink(services, ticket);
  if (link === null) throw loginUnknown();
  const isLong = passphrase !== null && [...passphrase].length >= SHORTEST_PASSPHRASE;
  if (passphrase === null ? link.mustSet : !isLong || passphrase.length > LONGEST_PASSPHRASE) throw unusable();
  if (passphrase !== null && (await isGuessable(passphrase))) throw guessable();
  if ((await services.links.take(ticket)) === null) throw loginUnknown();
  if (passphrase !== null) {
    await recordAct(acting(services, STRANGER), { verb: 'set-passphrase', tenant: null }, async () => {
      await services.passphrase.set(passphrase);
      await services.sessions.endAll(accountIdOf({ way: 'passphrase' }));
    });
  }
  return beginSession(services, { way: 'passphrase' }, trier === null ? {} : deviceOf(trier));
}

/** Ends one session of a user, or every session. @param who user of the session */
export async function signOut(
  services: AccessServices,
  who: { id: string; name: string },
  session: string,
  isEverywhere: boolean,
): Promise<void> {
  // The session ends before recording, so that a recording error cannot keep the session.
  await services.sessions.end(session);
  if (isEverywhere) await services.sessions.endAll(who.id);
  await recordEntry(acting(services, principalOf(who)), about('sign-out', { everywhere: isEverywhere }), {
    outcome: 'done',
  });
}

/** Returns an administrator as a principal of the audit log. */
export function principalOf({ id, name }: { id: string; name: string }): Principal {
  return { kind: id.startsWith('account:') ? 'account' : 'holder', name, id, claimed: null };
}

async function beginSession(
  services: AccessServices,
  who: SignedIn,
  start: Parameters<AccessServices['sessions']['begin']>[3],
): Promise<Omit<NewSession, 'to'>> {
  const settings = services.settings();
  const rights = settings === null ? null : rightsOf(who, settings);
  if (settings === null || rights === null) throw notAllowed();
  const id = accountIdOf(who);
  const name = nameOfAccount(who);
  // Recorded first: a sign-in that cannot be recorded is refused.
  const what = { way: who.way, level: rights.level, tenants: rights.tenants?.size ?? null };
  await recordEntry(acting(services, principalOf({ id, name })), about('sign-in', what), { outcome: 'done' });
  return { session: await services.sessions.begin(id, who, sessionLifeOf(settings), start), account: id };
}

/**
 * Limits sign-in attempts.
 * - The narrower limit is checked first, so that blocked attempts do not use the account's budget.
 * - A known browser of the account has one separate budget instead of both limits, so that strangers cannot lock the owner out.
 * - A budget belongs to one account: frequent sign-ins to a different account give no additional attempts on the passphrase.
 * - A sign-in resets the narrowest limit, but never the account's limit or that of a larger block. Otherwise an attacker would profit from each sign-in of the owner.
 */
async function limited<Result>(
  services: AccessServices,
  { caller, rememberedBrowser, account }: Trier & { account: string | null },
  work: () => Promise<Result>,
): Promise<Result> {
  // With a provider, the account is unknown before the sign-in, and passwords cannot be guessed here.
  const isRemembered = rememberedBrowser !== null && (account === null || rememberedBrowser.account === account);
  const nearest = isRemembered ? `browser ${rememberedBrowser.id}` : `address ${caller}`;
  const counters = isRemembered
    ? [{ name: nearest, most: PER_ADDRESS }]
    : clientShares(caller, PER_ADDRESS).map(({ name, most }) => ({ name: `address ${name}`, most }));
  if (!isRemembered && account !== null) counters.push({ name: `account ${account}`, most: PER_ACCOUNT });
  let attempts = 0;
  try {
    for (const { name, most } of counters) {
      const { counted, waitMs } = await services.attempts.count(name, most);
      attempts = counted;
      if (waitMs !== null) throw tooOften(waitMs);
    }
    const result = await work();
    await services.attempts.clear(nearest);
    return result;
  } catch (error) {
    const { code } = asMirrorError(error);
    if (RECORDED_ATTEMPTS.has(attempts)) {
      await recordEntry(acting(services, STRANGER), about('sign-in', { attempts }), { outcome: 'refused', code });
    }
    throw error;
  }
}

function acting({ acts }: AccessServices, who: Principal): Acting {
  return { who, why: null, actServices: acts };
}

function about(verb: 'sign-in' | 'sign-out', what: Record<string, string | number | boolean | null>) {
  return { verb, tenant: null, what };
}

function requireOidc(services: AccessServices): OidcSettings {
  const oidc = services.settings()?.oidc;
  if (oidc !== undefined && services.publicUrl() !== null) return oidc;
  throw signInRefused('oidc-off', message('oidc-off'), message('oidc-off.remedy'));
}

/** A value encrypted by a different server or changed by a browser is not a valid begin. */
function openStored({ sealer }: AccessServices, stored: string): StoredSignIn {
  try {
    return JSON.parse(sealer.open(stored, PENDING_CONTEXT)) as StoredSignIn;
  } catch {
    throw loginUnknown();
  }
}

function notAllowed(): MirrorError {
  return signInRefused('sign-in-not-allowed', message('sign-in-not-allowed'), message('sign-in-not-allowed.remedy'));
}

function accountChanged(): MirrorError {
  return signInRefused('account-changed', message('account-changed'), message('account-changed.remedy'));
}

function wrongPassphrase(): MirrorError {
  return signInRefused('passphrase-wrong', message('passphrase-wrong'), message('passphrase-wrong.remedy'));
}

function unusable(): MirrorError {
  const lengths = { shortest: SHORTEST_PASSPHRASE, longest: LONGEST_PASSPHRASE };
  const remedy = message('passphrase-unusable.remedy', lengths);
  return signInRefused('passphrase-unusable', message('passphrase-unusable'), remedy);
}

function guessable(): MirrorError {
  const remedy = message('passphrase-guessable.remedy');
  return signInRefused('passphrase-guessable', message('passphrase-guessable'), remedy);
}

function tooOften(retryAfterMs: number): MirrorError {
  return new MirrorError(message('sign-in-too-often'), {
    actor: 'authorization',
    code: 'sign-in-too-often',
    retry: 'later',
    retryAfterMs,
    remedy: message('sign-in-too-often.remedy'),
  });
}

function signInRefused(code: string, text: Message, remedy: Message): MirrorError {
  return new MirrorError(text, { actor: 'authorization', code, retry: 'never', remedy });
}
