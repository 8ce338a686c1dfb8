import { MirrorError } from '../model/errors.ts';
import { type DevicePrompt, loginByDevice } from '../oauth/device-login.ts';
import { beginLogin, completeLogin, type LoginResult, type LoginTarget, storeLogin } from '../oauth/login.ts';
import { loginOnLoopback } from '../oauth/loopback-login.ts';
import type { PendingLogins } from '../oauth/store.ts';

/** What logins are done with; put together by `main.ts`. */
export interface LoginDesk {
  /** @throws MirrorError `settings` for what is not configured, or is no login with tokens */
  target(tenant: string, connection: string): LoginTarget;
  pending: PendingLogins;
  clock: () => number;
}

/** A person logs in with a browser on this machine. */
export function loginWithBrowser(
  desk: LoginDesk,
  tenant: string,
  connection: string,
  show: (url: string) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  return loginOnLoopback(desk.target(tenant, connection), desk.pending, (url) => show(url.href), signal);
}

/** A person logs in on another device, by a code that is shown here. */
export async function loginWithDevice(
  desk: LoginDesk,
  tenant: string,
  connection: string,
  show: (prompt: DevicePrompt) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  const target = desk.target(tenant, connection);
  const { server, scopes } = target;
  const answer = await loginByDevice({ server, scopes, show, pause, clock: desk.clock }, signal);
  return storeLogin(target, answer);
}

/** Begins a login whose answer comes to the daemon's own address. @returns where the person's browser must go */
export async function beginRemoteLogin(
  desk: LoginDesk,
  tenant: string,
  connection: string,
  redirectUri: string,
): Promise<string> {
  return (await beginLogin(desk.target(tenant, connection), desk.pending, redirectUri)).href;
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
  return completeLogin(callback, desk.pending, find, signal);
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
