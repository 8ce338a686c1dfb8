import type { Logger } from '../../core/log/logger.ts';
import type { LoginLink } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { message, type Text } from '../../messages/message.ts';
import { accountText, confirmAccount } from '../../oauth/accounts.ts';
import type { PendingLogins } from '../../oauth/credential.ts';
import { type DevicePrompt, loginByDevice } from '../../oauth/device-login.ts';
import {
  beginLogin,
  completeLogin,
  disconnect,
  type LoginResult,
  type LoginTarget,
  loginUnknown,
  type Revocation,
  storeLogin,
} from '../../oauth/login.ts';
import { loginOnLoopback } from '../../oauth/loopback-login.ts';
import { type Provider, requireSecureUrl } from '../../oauth/providers.ts';
import { newSecret } from './access.ts';
import type { LoginLinks } from './login-stores.ts';

export type { Revocation };

/** Services for connections, built by `main.ts`. */
export interface LoginServices {
  /** @throws MirrorError `settings` for an unknown connection, or a connection without tokens */
  target(tenant: string, connection: string): LoginTarget;
  /** Returns whether a clinic read or a target uses the connection. */
  isUsed(tenant: string, connection: string): boolean;
  /** Returns the purpose shown to the user before the grant. @throws MirrorError as `requireTenant` */
  about(tenant: string, connection: string): LoginPurpose;
  pending: PendingLogins;
  links: LoginLinks;
  clock: () => number;
  log: Logger;
  /** URLs of the running daemon for links; null without a public port. */
  remote: RemoteLoginUrls | null;
  /** Local port for the browser's callback; 0 selects a free port. */
  loopbackPort: number;
  /** Ends vendor subscriptions of a connection if possible, then runs `logOut`. */
  beforeLogout<Result>(
    tenant: string,
    connection: string,
    logOut: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /** Called after each grant and each confirmed account, to resume waiting work. */
  onLogin(tenant: string, connection: string): Promise<void>;
}

/** Purpose of a connection. */
export interface LoginPurpose {
  /** Name of the clinic. */
  clinic: string;
  language: 'it' | 'en';
  /** Data written through the connection: calendar events or CRM objects. Empty for the connection to the clinic. */
  targets: readonly { connector: string; holds: 'events' | 'objects' }[];
}

/** URLs of the running daemon. */
export interface RemoteLoginUrls {
  /** URL of authorization callbacks. */
  callbackUrl: string;
  /** Base URL of link pages. */
  linkUrl: string;
}

/** A connection of a tenant. */
export interface TenantConnection {
  tenant: string;
  connection: string;
}

/** Connects with a browser on this host. @throws MirrorError `settings`, code `login-port-unavailable`, and errors of a grant */
export async function loginWithBrowser(
  services: LoginServices,
  { tenant, connection }: TenantConnection,
  show: (url: string) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  const target = usedTarget(services, tenant, connection);
  return made(services, await loginOnLoopback(target, services, (url) => show(url.href), signal));
}

/** Connects with a different device, by a code on this terminal. */
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

/** Default lifetime of a link that is opened immediately. Project choice. */
const LINK_LIFE_MS = 10 * MINUTE_MS;
/** Longest lifetime of a link, in hours. */
const LONGEST_LINK_HOURS = 168;

/** A new link. */
export interface MadeLink extends Pick<LoginLink, 'id' | 'endsAt'> {
  /** URL for a browser on any host. The page's button works once. */
  url: string;
}

/**
 * Makes a link to a page of the running daemon, where a user grants the connection.
 * @param by user who makes the link
 * @param hours lifetime, at most {@link LONGEST_LINK_HOURS}; null: ten minutes
 * @throws MirrorError `settings`, code `insecure-address`, if browsers use plain http; code `no-public-port`, without a public port; code
 * `link-too-long`
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

/** Description of a link, for its user. */
export interface LoginLinkDescription extends LoginPurpose, TenantConnection {
  vendor: Provider['name'];
  /** Scopes requested from the vendor. */
  scopes: readonly string[];
  /** Account that the tenant file requires: an e-mail address, a domain with `@`, or an id; null for any account. */
  expected: string | null;
  endsAt: Instant;
}

/**
 * Describes a link without using the link, because mail programs may open links.
 * @throws MirrorError `authorization`, code `login-unknown`; `settings` for a connection removed from the configuration
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

/** Lists unused links of a tenant with author and expiry, oldest first. @throws MirrorError as `requireTenant` */
export async function listLoginLinks(services: LoginServices, tenant: string): Promise<LoginLink[]> {
  services.about(tenant, '');
  return services.links.list(tenant);
}

/** Withdraws an unused link. @throws MirrorError `settings`, code `no-such-link` */
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

/** Returns the error for a missing public port. @param text consequence */
export function noPublicPort(text: Text): MirrorError {
  return new MirrorError(text, {
    actor: 'settings',
    code: 'no-public-port',
    retry: 'never',
    remedy: message('no-public-port.remedy'),
  });
}

/** A grant that a browser began with the daemon. */
export interface OpenedLogin extends TenantConnection {
  /** Id of the link. */
  link: string;
  /** Next URL of the browser. */
  url: URL;
  /** Secret kept by the browser. Only this browser can complete the grant. */
  browserKey: string;
}

/**
 * Begins the grant of a link in the browser that opened the link.
 * @throws MirrorError `authorization`, code `login-unknown`, for a used link; `settings` or `remote` from the provider's metadata
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
 * Confirms the account of a connection, and resumes the waiting work.
 * @param named account id or e-mail address, as in `status`; `unknown` if the provider does not identify the account
 * @returns the account in readable form
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

/** Revokes a connection with the provider if possible, and always deletes its tokens. */
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
 * Completes a grant whose answer arrived on the daemon's callback URL.
 * @param browserKey secret from the browser; empty without a secret
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

/** Returns the parameters of a grant. @throws MirrorError `settings` if targets determine the requested scopes, but no target exists */
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
