import { MirrorError } from '../model/errors.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { oauthErrorCode } from './errors.ts';
import type { AuthorizationServer } from './server.ts';
import type { LoginAnswer } from './token-answer.ts';

/** What a person needs to log in on another device. */
export interface DevicePrompt {
  userCode: string;
  verificationUri: string;
  /** The same with the code in it, for a link or a QR code; null when the server gives none. */
  verificationUriComplete: string | null;
  expiresAt: Instant;
}

/** What a login by device code works with. */
export interface DeviceLoginOptions {
  server: Pick<AuthorizationServer, 'beginDevice' | 'pollDevice'>;
  scopes: readonly string[];
  /** Shows the code and the address. */
  show(prompt: DevicePrompt): void;
  /** Waits, and throws when the signal is aborted. */
  pause(durationMs: number, signal: AbortSignal): Promise<void>;
  clock: Clock;
}

/**
 * The interval when the server tells none.
 * @see RFC 8628 section 3.2
 */
const DEFAULT_INTERVAL_MS = 5 * SECOND_MS;
/**
 * What `slow_down` adds to the interval, for this and all later polls.
 * @see RFC 8628 section 3.5
 */
const SLOW_DOWN_MS = 5 * SECOND_MS;
const LONGEST_INTERVAL_MS = MINUTE_MS;

/**
 * Logs in by device code: shows the code and polls until the person has decided.
 * @throws MirrorError `authorization`: `login-refused` when the person refused, `device-code-expired` when nobody came in
 *   time, `device-code-unknown` when the server doesn't know the code
 * @see RFC 8628
 */
export async function loginByDevice(options: DeviceLoginOptions, signal: AbortSignal): Promise<LoginAnswer> {
  const { server, pause, clock } = options;
  const started = await server.beginDevice(options.scopes, signal);
  const expiresAt = clock() + started.expires_in * SECOND_MS;
  options.show({
    userCode: started.user_code,
    verificationUri: started.verification_uri,
    verificationUriComplete: started.verification_uri_complete ?? null,
    expiresAt,
  });
  let intervalMs = started.interval === undefined ? DEFAULT_INTERVAL_MS : started.interval * SECOND_MS;
  let retryAfterMs = 0;
  while (clock() < expiresAt) {
    await pause(Math.max(intervalMs, retryAfterMs), signal);
    try {
      return await server.pollDevice(started.device_code, signal);
    } catch (error) {
      signal.throwIfAborted();
      intervalMs = nextInterval(error, intervalMs);
      retryAfterMs = error instanceof MirrorError ? (error.retryAfterMs ?? 0) : 0;
    }
  }
  throw expired();
}

/** The interval after a poll that brought no tokens. @throws when there is no use in polling on */
function nextInterval(error: unknown, intervalMs: number): number {
  const code = oauthErrorCode(error);
  switch (code) {
    case 'authorization_pending':
      return intervalMs;
    case 'slow_down':
      return intervalMs + SLOW_DOWN_MS;
    case 'access_denied':
    case 'authorization_declined': // Entra's name
      throw refused();
    case 'expired_token':
      throw expired();
    case 'bad_verification_code': // Entra's name
    case 'invalid_grant':
      throw unknownCode();
  }
  // RFC 8628 section 3.5: back off when the server can't be reached.
  if (error instanceof MirrorError && error.actor === 'remote') return Math.min(intervalMs * 2, LONGEST_INTERVAL_MS);
  throw error;
}

function refused(): MirrorError {
  return deviceError('login-refused', 'the person refused the access', 'connect again and allow the access');
}

function expired(): MirrorError {
  return deviceError('device-code-expired', 'nobody confirmed the code in time', 'begin the login again');
}

function unknownCode(): MirrorError {
  return deviceError('device-code-unknown', 'the server no longer knows the code', 'begin the login again');
}

function deviceError(code: string, message: string, remedy: string): MirrorError {
  return new MirrorError(message, { actor: 'authorization', code, retry: 'never', remedy });
}
