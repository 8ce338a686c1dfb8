import type { DeviceAuthorizationResponse } from 'openid-client';
import { MirrorError } from '../core/model/errors.ts';
import { type Clock, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { type Message, message } from '../messages/message.ts';
import { oauthErrorCode } from './errors.ts';
import { isPlainHttp } from './providers.ts';
import type { AuthorizationServer } from './server.ts';
import type { LoginAnswer } from './token-requests.ts';

/** Data for completing an authorization on a different device. */
export interface DevicePrompt {
  userCode: string;
  verificationUri: string;
  /** URL that includes the code, for a link or a QR code; null if the server sends none. */
  verificationUriComplete: string | null;
  expiresAt: Instant;
}

export interface DeviceLoginOptions {
  server: Pick<AuthorizationServer, 'beginDevice' | 'pollDevice' | 'provider'>;
  scopes: readonly string[];
  /** Shows the code and the URL. */
  show(prompt: DevicePrompt): void;
  /** Waits, and throws when the signal aborts. */
  pause(durationMs: number, signal: AbortSignal): Promise<void>;
  clock: Clock;
}

/**
 * Polling interval if the server names none.
 * @see RFC 8628 section 3.2
 */
const DEFAULT_INTERVAL_MS = 5 * SECOND_MS;
/**
 * Addition to the interval for this and all later polls after `slow_down`.
 * @see RFC 8628 section 3.5
 */
const SLOW_DOWN_MS = 5 * SECOND_MS;
const LONGEST_INTERVAL_MS = MINUTE_MS;
/** Longest wait for the operator. Our choice; 15 minutes are usual. */
const LONGEST_LIFE_MS = HOUR_MS;
/** User code: letters, digits and separators (RFC 8628 section 6.1). */
const USER_CODE = /^[A-Za-z0-9][A-Za-z0-9 -]{0,38}[A-Za-z0-9]$/;
const LONGEST_ADDRESS = 2_000;

/**
 * Connects by device code: shows the code and polls until the operator has decided.
 * @throws MirrorError `authorization`: `login-refused` after a refusal, `device-code-expired` after the time limit, `device-code-unknown`
 * if the server does not know the code; `contract`, code `device-answer-refused`, for an answer without a usable page or code
 * @see RFC 8628
 */
export async function loginByDevice(options: DeviceLoginOptions, signal: AbortSignal): Promise<LoginAnswer> {
  const { server, pause, clock } = options;
  const started = await server.beginDevice(options.scopes, signal);
  const expiresAt = clock() + Math.min(started.expires_in * SECOND_MS, LONGEST_LIFE_MS);
  options.show({ ...promptOf(started, isPlainHttp(server.provider.issuer)), expiresAt });
  const askedMs = started.interval === undefined ? DEFAULT_INTERVAL_MS : started.interval * SECOND_MS;
  let intervalMs = Math.min(Math.max(askedMs, SECOND_MS), LONGEST_INTERVAL_MS);
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

/**
 * Validates the data that an operator sees and follows: a page without TLS, a misleading URL, or a sentence instead of a code could lead
 * the operator to an attacker.
 */
function promptOf(
  started: DeviceAuthorizationResponse,
  isPlain: boolean,
): Pick<DevicePrompt, 'userCode' | 'verificationUri' | 'verificationUriComplete'> {
  const page = pageOf(started.verification_uri, isPlain);
  if (page === null || !USER_CODE.test(started.user_code)) throw answerRefused();
  const complete = pageOf(started.verification_uri_complete ?? '', isPlain);
  return {
    userCode: started.user_code,
    verificationUri: page.href,
    verificationUriComplete: complete?.origin === page.origin ? complete.href : null,
  };
}

/** Accepts only ASCII URLs without credentials, which show their destination. */
function pageOf(address: string, isPlain: boolean): URL | null {
  const url = address.length > LONGEST_ADDRESS ? null : URL.parse(address);
  const isWeb = url?.protocol === 'https:' || (isPlain && url?.protocol === 'http:');
  return url !== null && isWeb && url.username === '' && url.password === '' ? url : null;
}

/** Returns the interval after a poll without tokens. @throws if polling is useless */
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
  // RFC 8628 section 3.5: back off if the server is unreachable.
  if (error instanceof MirrorError && error.actor === 'remote') return Math.min(intervalMs * 2, LONGEST_INTERVAL_MS);
  throw error;
}

function answerRefused(): MirrorError {
  return new MirrorError(message('device-answer-refused'), {
    actor: 'contract',
    code: 'device-answer-refused',
    retry: 'never',
    remedy: message('device-answer-refused.remedy'),
  });
}

function refused(): MirrorError {
  return deviceError('login-refused', message('oauth.login-refused'), message('oauth.login-refused.remedy'));
}

function expired(): MirrorError {
  return deviceError('device-code-expired', message('device-code-expired'), message('login-again'));
}

function unknownCode(): MirrorError {
  return deviceError('device-code-unknown', message('device-code-unknown'), message('login-again'));
}

function deviceError(code: string, text: Message, remedy: Message): MirrorError {
  return new MirrorError(text, { actor: 'authorization', code, retry: 'never', remedy });
}
