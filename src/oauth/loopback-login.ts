import { MINUTE_MS } from '../model/time.ts';
import { beginLogin, completeLogin, type LoginResult, type LoginTarget } from './login.ts';
import { startLoopbackReceiver } from './loopback.ts';
import type { PendingLogins } from './store.ts';

/** As long as a begun login is kept. */
const LOGIN_TIME_MS = 10 * MINUTE_MS;

/**
 * The whole login of the command line: a receiver on this machine, the address for the person's browser, the exchange.
 * @param show prints (or opens) the address
 * @param port of the receiver, for clients that are registered with a fixed one; 0 takes a free one
 * @throws MirrorError `settings`, code `login-port-unavailable`; `remote`, code `aborted`, when nobody came; and what
 *   {@link beginLogin} and {@link completeLogin} throw
 */
export async function loginOnLoopback(
  target: LoginTarget,
  logins: PendingLogins,
  show: (url: URL) => void,
  signal: AbortSignal,
  port = 0,
): Promise<LoginResult> {
  const receiver = await startLoopbackReceiver(port);
  try {
    const url = await beginLogin(target, logins, receiver.redirectUri);
    show(url);
    const complete = async (callback: URL) => {
      const result = await completeLogin(callback, logins, () => target, signal);
      return { result, text: 'The login is complete. You can close this window.' };
    };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_TIME_MS)]);
    return await receiver.receive(url.searchParams.get('state') ?? '', complete, inTime);
  } finally {
    await receiver.close();
  }
}
