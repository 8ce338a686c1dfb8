import type { Logger } from '../log/logger.ts';
import { message, type Text } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import { accountText, confirmAccount } from '../oauth/accounts.ts';
import type { PendingLogins } from '../oauth/credential.ts';
import { type DevicePrompt, loginByDevice } from '../oauth/device-login.ts';
import {
  beginLogin,
  completeLogin,
  disconnect,
  type LoginResult,
  type LoginTarget,
  loginUnknown,
  type Revocation,
  storeLogin,
} from '../oauth/login.ts';
import { loginOnLoopback } from '../oauth/loopback-login.ts';
import { type Provider, requireSecureUrl } from '../oauth/providers.ts';
import type { LoginLink, LoginLinks } from '../state/logins.ts';
import { newSecret } from './access.ts';

export type { Revocation };

/** What logins are done with; put together by `main.ts`. */
export interface LoginServices {
  /** @throws MirrorError `settings` for what is not configured, or is no login with tokens */
  target(tenant: string, connection: string): LoginTarget;
  /** Whether anything would use the login: the reading of the clinic, or a target. */
  isUsed(tenant: string, connection: string): boolean;
  /** What whoever is asked to log in is told of. @throws MirrorError as `requireTenant` */
  about(tenant: string, connection: string): LoginPurpose;
  pending: PendingLogins;
  links: LoginLinks;
  clock: () => number;
  log: Logger;
  /** Where the running daemon takes logins by a link, as browsers reach it; null when it has no port for them. */
  remote: RemoteLoginUrls | null;
  /** Port on this machine to which a login by browser comes back; 0 takes a free one. */
  loopbackPort: number;
  /** Ends what a login keeps open at its vendor, as far as possible, then does `logOut`. */
  beforeLogout<Result>(
    tenant: string,
    connection: string,
    logOut: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /** Told of every login that was made, and of accounts that were found right: what waited for it goes on. */
  onLogin(tenant: string, connection: string): Promise<void>;
}

/** Whose login is asked for, and what for. */
export interface LoginPurpose {
  /** As the clinic is called. */
  clinic: string;
  language: 'it' | 'en';
  /** What would be written through it: events of a calendar, or objects of a CRM. None for the login to the clinic itself. */
  targets: readonly { connector: string; holds: 'events' | 'objects' }[];
}

/** Addresses of the running daemon. */
export interface RemoteLoginUrls {
  /** Where answers of logins come to. */
  callbackUrl: string;
  /** Below it stand the pages at which logins by a link begin. */
  linkUrl: string;
}

/** A connection of a tenant. */
export interface TenantConnection {
  tenant: string;
  connection: string;
}

/** A person logs in with a browser on this machine. @throws MirrorError `settings`, code `login-port-unavailable`, and those of a login */
export async function loginWithBrowser(
  services: LoginServices,
  { tenant, connection }: TenantConnection,
  show: (url: string) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  const target = usedTarget(services, tenant, connection);
  return made(services, await loginOnLoopback(target, services, (url) => show(url.href), signal));
}

/** A person logs in on another device, by a code that is shown here. */
export async function loginWithDevice(
  services: LoginServices,
  { tenant, connection }: TenantConnection,
  show: (prompt: DevicePrompt) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  const target = usedTarget(services, tenant, connection);
  const { server, scopes } = target;
  const answer = await loginByDevice({ server, scopes, show, pause, clock: services.clock }, signal);
  return made(services, await storeLogin(target, answer, { way: 'elsewhere' }, signal));
}

/** How long a link is good that somebody opens at once, and the longest for one that is sent. Our choice. */
const LINK_LIFE_MS = 10 * MINUTE_MS;
/** Hours that a link may be good for, at most. */
const LONGEST_LINK_HOURS = 168;

/** A link that was made. */
export interface MadeLink extends Pick<LoginLink, 'id' | 'endsAt'> {
  /** The address for a browser on whichever machine; its button can be pressed once. */
  url: string;
}

/**
 * Makes a link to a page of the running daemon, at which a login begins that the daemon ends.
 * @param by who makes it
 * @param hours how long it is good, {@link LONGEST_LINK_HOURS} at most; null: ten minutes
 * @throws MirrorError `settings`, code `insecure-address`, where browsers reach the daemon by plain http; code `no-public-port`, where not at
 *   all; code `link-too-long`
 */
export async function beginRemoteLogin(
  services: LoginServices,
  { tenant, connection }: TenantConnection,
  by: string,
  hours: number | null,
): Promise<MadeLink> {
  usedTarget(services, tenant, connection);
  const address = requireSecureUrl(requireRemote(services).linkUrl, 'http.publicUrl');
  if (hours !== null && !(hours > 0 && hours <= LONGEST_LINK_HOURS)) throw linkTooLong();
  const ticket = newSecret();
  const madeAt = services.clock();
  const endsAt = madeAt + (hours === null ? LINK_LIFE_MS : hours * HOUR_MS);
  const { id } = await services.links.put(ticket, { tenant, connection, by, madeAt, endsAt });
  return { id, endsAt, url: `${address}/${ticket}` };
}

/** What stands behind a link, for whoever opened it. */
export interface LoginLinkDescription extends LoginPurpose, TenantConnection {
  vendor: Provider['name'];
  /** What the vendor will be asked for. */
  scopes: readonly string[];
  /** Whose login the tenant file asks for: an address, a domain with `@` before it, or an id; null for anybody's. */
  expected: string | null;
  endsAt: Instant;
}

/**
 * Tells what stands behind a link. Looking uses nothing up, so that programs which open links in mails take nothing away.
 * @throws MirrorError `authorization`, code `login-unknown`; `settings` where the connection is not configured any more
 */
export async function describeLoginLink(services: LoginServices, ticket: string): Promise<LoginLinkDescription> {
  const link = await services.links.find(ticket);
  if (link === null) throw loginUnknown();
  const { tenant, connection, endsAt } = link;
  const { server, scopes, expected } = usedTarget(services, tenant, connection);
  const { address, domain, subject } = expected ?? {};
  const account = address ?? (domain === undefined ? subject : `@${domain}`) ?? null;
  const vendor = server.provider.name;
  return { ...services.about(tenant, connection), tenant, connection, vendor, scopes, expected: account, endsAt };
}

/** Links of a tenant that nobody has opened, oldest first: who made them, and how long they are good. @throws MirrorError as `requireTenant` */
export async function listLoginLinks(services: LoginServices, tenant: string): Promise<LoginLink[]> {
  services.about(tenant, '');
  return services.links.list(tenant);
}

/** Takes a link back before somebody opens it. @throws MirrorError `settings`, code `no-such-link` */
export async function withdrawLoginLink(services: LoginServices, tenant: string, id: string): Promise<void> {
  if (await services.links.withdraw(tenant, id)) return;
  throw new MirrorError(message('no-such-link'), {
    actor: 'settings',
    code: 'no-such-link',
    retry: 'never',
    remedy: message('no-such-link.remedy', { tenant }),
  });
}

function linkTooLong(): MirrorError {
  return new MirrorError(message('link-too-long'), {
    actor: 'settings',
    code: 'link-too-long',
    retry: 'never',
    remedy: message('link-too-long.remedy', { hours: LONGEST_LINK_HOURS }),
  });
}

function requireRemote({ remote }: LoginServices): RemoteLoginUrls {
  if (remote !== null) return remote;
  throw noPublicPort(message('browsers-shut-out'));
}

/** What needs the port for the outside where there is none. @param text what that means */
export function noPublicPort(text: Text): MirrorError {
  return new MirrorError(text, {
    actor: 'settings',
    code: 'no-public-port',
    retry: 'never',
    remedy: message('no-public-port.remedy'),
  });
}

/** A login that a browser has begun at the daemon. */
export interface OpenedLogin extends TenantConnection {
  /** Id of the link. */
  link: string;
  /** Where the browser goes on. */
  url: URL;
  /** What that browser keeps: it alone can end the login. */
  browserKey: string;
}

/**
 * Begins the login behind a link, in the browser that opened it.
 * @throws MirrorError `authorization`, code `login-unknown`, when the link is used up; `settings` or `remote` from the provider's metadata
 */
export async function openRemoteLogin(services: LoginServices, ticket: string): Promise<OpenedLogin> {
  const link = await services.links.take(ticket);
  if (link === null) throw loginUnknown();
  const { tenant, connection, id } = link;
  const { callbackUrl } = requireRemote(services);
  const browserKey = newSecret();
  const target = usedTarget(services, tenant, connection);
  return {
    tenant,
    connection,
    link: id,
    browserKey,
    url: await beginLogin(target, services.pending, callbackUrl, browserKey),
  };
}

/**
 * A person says that the account of a connection is the right one: what waited for that goes on.
 * @param named the account's id or address, as `status` shows them; `unknown` where the provider does not tell
 * @returns the account as operators read it
 * @throws MirrorError `settings`, code `account-differs`; `authorization`, code `not-connected`
 */
export async function acceptAccount(
  services: LoginServices,
  { tenant, connection }: TenantConnection,
  named: string,
  signal: AbortSignal,
): Promise<string> {
  const account = await confirmAccount(services.target(tenant, connection).context, named, signal);
  await services.onLogin(tenant, connection);
  return accountText(account);
}

/** Ends a login: revoked at the provider as far as possible, forgotten here whatever the provider says. */
export function logOut(
  services: LoginServices,
  tenant: string,
  connection: string,
  signal: AbortSignal,
): Promise<Revocation> {
  const { context, server } = services.target(tenant, connection);
  return services.beforeLogout(tenant, connection, () => disconnect(context, server, services.log, signal), signal);
}

/**
 * Ends a login whose answer came to the daemon's own address.
 * @param browserKey what the browser keeps that brought it; empty when it keeps nothing
 */
export async function completeRemoteLogin(
  services: LoginServices,
  { callback, browserKey }: { callback: URL; browserKey: string },
  signal: AbortSignal,
): Promise<LoginResult> {
  const find = (tenant: string, connection: string) => {
    try {
      return services.target(tenant, connection);
    } catch (error) {
      if (error instanceof MirrorError) return null;
      throw error;
    }
  };
  return made(services, await completeLogin({ callback, browserKey }, services.pending, find, signal));
}

/** What a login is made for. @throws MirrorError `settings` where targets decide what the provider is asked for, and there is none */
function usedTarget(services: LoginServices, tenant: string, connection: string): LoginTarget {
  const target = services.target(tenant, connection);
  if (target.scopes.length > 0 || services.isUsed(tenant, connection)) return target;
  throw new MirrorError(message('login-not-used', { tenant, connection }), {
    actor: 'settings',
    code: 'login-not-used',
    retry: 'never',
    remedy: message('login-not-used.remedy'),
  });
}

async function made(services: LoginServices, result: LoginResult): Promise<LoginResult> {
  await services.onLogin(result.tenant, result.connection);
  return result;
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, durationMs);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
