import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MirrorError } from '../core/model/errors.ts';
import { MINUTE_MS } from '../core/model/time.ts';
import { message, render, type Text } from '../messages/message.ts';
import type { PendingLogins } from './credential.ts';
import { beginLogin, completeLogin, type LoginResult, type LoginTarget } from './login.ts';

/** Lifetime of a pending authorization. */
const LOGIN_TIME_MS = 10 * MINUTE_MS;

/**
 * Runs a complete authorization of the command line: a receiver on this host, the URL for the operator's browser, the exchange.
 * @param show prints (or opens) the URL
 * @param services.loopbackPort port of the receiver, for clients that are registered with a fixed port; 0 uses a free port
 * @throws MirrorError `settings`, code `login-port-unavailable`; `remote`, code `aborted`, without an answer; errors of {@link beginLogin}
 * and {@link completeLogin}
 */
export async function loginOnLoopback(
  target: LoginTarget,
  { pending, loopbackPort = 0 }: { pending: PendingLogins; loopbackPort?: number },
  show: (url: URL) => void,
  signal: AbortSignal,
): Promise<LoginResult> {
  const receiver = await startLoopbackReceiver(loopbackPort);
  try {
    const url = await beginLogin(target, pending, receiver.redirectUri);
    show(url);
    const complete = async (callback: URL) => {
      const result = await completeLogin({ callback }, pending, () => target, signal);
      return { result, text: message('login-page.complete') };
    };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_TIME_MS)]);
    return await receiver.receive(url.searchParams.get('state') ?? '', complete, inTime);
  } finally {
    await receiver.close();
  }
}

/**
 * Receiver of one authorization response on this host.
 * @see RFC 8252 section 7.3
 */
interface LoopbackReceiver {
  /** `http://127.0.0.1:<port>/callback`: many providers accept any port, others only the registered port. */
  readonly redirectUri: string;
  /**
   * Waits for the browser's answer to the authorization with this state. `complete` returns a sentence for the browser. Requests with a
   * different state are refused without effect.
   * @throws errors of `complete`; MirrorError `remote`, code `aborted`, when the signal aborts
   */
  receive<Result>(
    state: string,
    complete: (callback: URL) => Promise<{ result: Result; text: Text }>,
    signal: AbortSignal,
  ): Promise<Result>;
  close(): Promise<void>;
}

const CALLBACK_PATH = '/callback';
const CLOSE_PATIENCE_MS = 500;

/**
 * @param port 0 uses a free port
 * @throws MirrorError `settings`, code `login-port-unavailable`, if the port is in use
 */
async function startLoopbackReceiver(port = 0): Promise<LoopbackReceiver> {
  let handle: (url: URL) => Promise<{ status: number; text: Text }> = async () => notExpected();
  const server = process.getBuiltinModule('node:http').createServer((request, response) => {
    answer(request, redirectUri, (url) => handle(url)).then(
      ({ status, text }) => send(response, status, text),
      () => send(response, 500, message('login-page.failed')),
    );
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: unknown) => {
    throw portUnavailable(port, error);
  });
  const address = server.address();
  const redirectUri = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}${CALLBACK_PATH}`;

  return {
    redirectUri,
    receive(state, complete, signal) {
      return new Promise((resolve, reject) => {
        const stop = () => reject(stopped());
        if (signal.aborted) stop();
        signal.addEventListener('abort', stop, { once: true });
        handle = async (url) => {
          if (url.searchParams.get('state') !== state) return notExpected();
          handle = async () => notExpected();
          try {
            const { result, text } = await complete(url);
            resolve(result);
            return { status: 200, text };
          } catch (error) {
            reject(error);
            return failed(error);
          } finally {
            signal.removeEventListener('abort', stop);
          }
        };
      });
    },
    async close() {
      server.close();
      server.closeIdleConnections();
      // A browser may keep an unused connection open.
      const impatience = setTimeout(() => server.closeAllConnections(), CLOSE_PATIENCE_MS);
      await once(server, 'close');
      clearTimeout(impatience);
    },
  };
}

/** Checks the Host header, so that no page can reach this server under its own name (DNS rebinding). */
async function answer(
  request: IncomingMessage,
  redirectUri: string,
  handle: (url: URL) => Promise<{ status: number; text: Text }>,
): Promise<{ status: number; text: Text }> {
  const expected = new URL(redirectUri);
  const url = new URL(request.url ?? '/', redirectUri);
  const isOurs =
    request.headers.host === expected.host && url.host === expected.host && url.pathname === expected.pathname;
  return request.method === 'GET' && isOurs ? handle(url) : { status: 404, text: message('login-page.not-found') };
}

function send(response: ServerResponse, status: number, text: Text): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  response.end(`${render(text)}\n`);
}

function notExpected(): { status: number; text: Text } {
  return { status: 400, text: message('login-page.unexpected') };
}

/** Returns the browser's text for a failed authorization: a constant message with a remedy. A program failure stays a 500. */
function failed(error: unknown): { status: number; text: Text } {
  if (!(error instanceof MirrorError)) return { status: 500, text: message('login-page.failed') };
  const remedy = error.remedy === null || error.remedy === undefined ? '' : ` To do: ${error.remedy}.`;
  const isAway = error.actor === 'remote' && error.code !== 'provider-failed';
  return { status: isAway ? 502 : 400, text: `Not connected: ${error.message}.${remedy}` };
}

function portUnavailable(port: number, cause: unknown): MirrorError {
  return new MirrorError(message('login-port-unavailable', { port }), {
    actor: 'settings',
    code: 'login-port-unavailable',
    retry: 'never',
    remedy: message('login-port-unavailable.remedy'),
    cause,
  });
}

function stopped(): MirrorError {
  return new MirrorError(message('login-aborted'), { actor: 'remote', code: 'aborted', retry: 'later' });
}
