import type { Logger } from '../log/logger.ts';
import { MirrorError } from '../model/errors.ts';
import { type DevicePrompt, loginByDevice } from '../oauth/device-login.ts';
import { disconnect, type Revocation } from '../oauth/disconnect.ts';
import { beginLogin, completeLogin, type LoginResult, type LoginTarget, storeLogin } from '../oauth/login.ts';
import { loginOnLoopback } from '../oauth/loopback-login.ts';
import type { PendingLogins } from '../oauth/store.ts';

export type { Revocation };

/** What logins are done with; put together by `main.ts`. */
export interface LoginDesk {
  /** @throws MirrorError `settings` for what is not configured, or is no login with tokens */
  target(tenant: string, connection: string): LoginTarget;
  /** Whether anything would use the login: the reading of the clinic, or a target. */
  isUsed(tenant: string, connection: string): boolean;
  pending: PendingLogins;
  clock: () => number;
  log: Logger;
  /** Where the running daemon takes answers of logins, as browsers reach it. */
  callbackUrl: string;
  /** Port on this machine to which a login by browser comes back; 0 takes a free one. */
  loopbackPort: number;
  /** Ends what a login keeps open at its vendor, as well as can be, then does `logOut`. */
  beforeLogout<Result>(
    tenant: string,
    connection: string,
    logOut: () => Promise<Result>,
    signal: AbortSignal,
  ): Promise<Result>;
  /** Told of every login that was made: what waited for it goes on. */
  onLogin(tenant: string, connection: string): Promise<void>;
}

/** A person logs in with a browser on this machine. @throws MirrorError `settings`, code `login-port-unavailable`, and those of a login */
export async function loginWithBrowser(
  desk: LoginDesk,
  tenant: string,
  connection: string,
  show: (url: string) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  const target = usedTarget(desk, tenant, connection);
  return made(desk, await loginOnLoopback(target, desk.pending, (url) => show(url.href), signal, desk.loopbackPort));
}

/** A person logs in on another device, by a code that is shown here. */
export async function loginWithDevice(
  desk: LoginDesk,
  tenant: string,
  connection: string,
  show: (prompt: DevicePrompt) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  const target = usedTarget(desk, tenant, connection);
  const { server, scopes } = target;
  const answer = await loginByDevice({ server, scopes, show, pause, clock: desk.clock }, signal);
  return made(desk, await storeLogin(target, answer, signal));
}

/**
 * Begins a login that the running daemon ends, when the person's browser comes back to its own address.
 * @returns the address for the browser, of whichever machine; good once, for ten minutes
 */
export async function beginRemoteLogin(desk: LoginDesk, tenant: string, connection: string): Promise<string> {
  return (await beginLogin(usedTarget(desk, tenant, connection), desk.pending, desk.callbackUrl)).href;
}

/** Ends a login: revoked at the provider as well as can be, forgotten here whatever the provider says. */
export function logOut(desk: LoginDesk, tenant: string, connection: string, signal: AbortSignal): Promise<Revocation> {
  const { place, server } = desk.target(tenant, connection);
  return desk.beforeLogout(tenant, connection, () => disconnect(place, server, desk.log, signal), signal);
}

/** Ends a login whose answer came to the daemon's own address. */
export async function completeRemoteLogin(desk: LoginDesk, callback: URL, signal: AbortSignal): Promise<LoginResult> {
  const find = (tenant: string, connection: string) => {
    try {
      return desk.target(tenant, connection);
    } catch (error) {
      if (error instanceof MirrorError) return null;
      throw error;
    }
  };
  return made(desk, await completeLogin(callback, desk.pending, find, signal));
}

/** What a login is made for. @throws MirrorError `settings` where targets decide what the provider is asked for, and there is none */
function usedTarget(desk: LoginDesk, tenant: string, connection: string): LoginTarget {
  const target = desk.target(tenant, connection);
  if (target.scopes.length > 0 || desk.isUsed(tenant, connection)) return target;
  throw new MirrorError(`no target of tenant "${tenant}" uses the connection "${connection}"`, {
    actor: 'settings',
    code: 'login-not-used',
    retry: 'never',
    remedy: 'add the target that is to write through it to the tenant file first, then log in',
  });
}

async function made(desk: LoginDesk, result: LoginResult): Promise<LoginResult> {
  await desk.onLogin(result.tenant, result.connection);
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
