import { randomBytes, randomInt } from 'node:crypto';
import { findApplication } from './client-authentication.ts';
import type { Grant } from './grants.ts';
import { invalidGrant, OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';
import { parseScopes } from './scopes.ts';

/** A checked authorization request that waits for the person's answer. */
export interface PendingRequest {
  id: string;
  application: Application;
  redirectUri: string;
  scopes: string[];
  state: string | undefined;
  nonce: string | undefined;
  codeChallenge: string | undefined;
  claims: string | null;
  loginHint: string | undefined;
}

/** What a code stands for until it is redeemed. `expiresAt` is epoch ms. */
export interface AuthorizationCode {
  grant: Grant;
  redirectUri: string;
  codeChallenge: string | undefined;
  nonce: string | undefined;
  claims: string | null;
  expiresAt: number;
}

interface DeviceRequest {
  application: Application;
  scopes: string[];
  userCode: string;
  expiresAt: number;
  answer: { account: string } | 'declined' | undefined;
}

/** A request whose error goes back to the client by redirect (RFC 6749 section 4.1.2.1). */
export class RedirectError extends Error {
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly error: string;

  constructor(redirectUri: string, state: string | undefined, error: string, description: string) {
    super(description);
    this.redirectUri = redirectUri;
    this.state = state;
    this.error = error;
  }
}

const CODE_LIFETIME_MS = 10 * 60_000;

/** Logins in progress: requests that wait for a person, codes, and devices. */
export class Authorization {
  readonly #settings: Settings;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #codes = new Map<string, AuthorizationCode>();
  readonly #devices = new Map<string, DeviceRequest>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Checks an authorization request. Throws OAuthError when it must not redirect, RedirectError when it may. */
  begin(query: URLSearchParams): PendingRequest {
    const application = findApplication(this.#settings, query.get('client_id') ?? '');
    const redirectUri = query.get('redirect_uri') ?? '';
    if (!allowsRedirect(application, redirectUri)) {
      throw new OAuthError(400, 'invalid_request', 50_011, 'The redirect URI does not match the ones of the client.');
    }
    const state = query.get('state') ?? undefined;
    const refuse = (error: string, description: string): RedirectError =>
      new RedirectError(redirectUri, state, error, description);
    if (query.get('response_type') !== 'code') {
      throw refuse('unsupported_response_type', 'AADSTS700054: only the code flow is enabled.');
    }
    const scopes = parseScopes(query.get('scope') ?? '');
    if (!scopes) {
      throw refuse('invalid_scope', 'AADSTS70011: a scope is unknown.');
    }
    const codeChallenge = query.get('code_challenge') ?? undefined;
    const isConfidential = application.clientSecret !== undefined || application.certificates.length > 0;
    if (codeChallenge === undefined ? !isConfidential : query.get('code_challenge_method') !== 'S256') {
      throw refuse('invalid_request', 'AADSTS9002325: Proof Key for Code Exchange with S256 is required.');
    }
    if (query.get('prompt') === 'none') {
      throw refuse('interaction_required', 'AADSTS50058: a person has to answer.');
    }
    const pending: PendingRequest = {
      id: randomBytes(16).toString('base64url'),
      application,
      redirectUri,
      scopes,
      state,
      nonce: query.get('nonce') ?? undefined,
      codeChallenge,
      claims: query.get('claims'),
      loginHint: query.get('login_hint') ?? undefined,
    };
    this.#pending.set(pending.id, pending);
    return pending;
  }

  /** Takes a waiting request out; each can be answered once. Throws OAuthError when it is unknown. */
  take(id: string): PendingRequest {
    const pending = this.#pending.get(id);
    if (!pending) {
      throw new OAuthError(400, 'invalid_request', 90_014, 'This request is over.');
    }
    this.#pending.delete(id);
    return pending;
  }

  /** The person agrees. Returns the code. */
  agree({ application, scopes, redirectUri, codeChallenge, nonce, claims }: PendingRequest, account: string): string {
    const code = `0.A${randomBytes(60).toString('base64url')}`;
    const expiresAt = this.#settings.now() + CODE_LIFETIME_MS;
    this.#codes.set(code, {
      grant: { account, application, scopes },
      redirectUri,
      codeChallenge,
      nonce,
      claims,
      expiresAt,
    });
    return code;
  }

  /** Redeems a code, once. Throws OAuthError invalid_grant. */
  redeem(code: string): AuthorizationCode {
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    if (!found || found.expiresAt <= this.#settings.now()) {
      throw invalidGrant(54_005, 'The authorization code was already redeemed, has expired or is invalid.');
    }
    return found;
  }

  /** A new device code with the code that the person types (RFC 8628 section 3.2). Throws OAuthError. */
  beginDevice(form: URLSearchParams): { deviceCode: string; userCode: string } {
    const application = findApplication(this.#settings, form.get('client_id') ?? '');
    const scopes = parseScopes(form.get('scope') ?? '');
    if (!scopes) {
      throw new OAuthError(400, 'invalid_scope', 70_011, 'A scope is unknown.');
    }
    const deviceCode = `DAQ${randomBytes(60).toString('base64url')}`;
    const userCode = newUserCode();
    const expiresAt = this.#settings.now() + this.#settings.deviceCodeLifetimeMs;
    this.#devices.set(deviceCode, { application, scopes, userCode, expiresAt, answer: undefined });
    return { deviceCode, userCode };
  }

  /** The person's answer for the device that shows this code; false when none does. */
  answerDevice(userCode: string, answer: { account: string } | 'declined'): boolean {
    const device = [...this.#devices.values()].find((each) => each.userCode === userCode.trim().toUpperCase());
    if (!device || device.expiresAt <= this.#settings.now()) {
      return false;
    }
    device.answer = answer;
    return true;
  }

  /** What a device's code is worth by now. Throws OAuthError, authorization_pending while nobody answered. */
  pollDevice(deviceCode: string, clientId: string): Grant {
    const device = this.#devices.get(deviceCode);
    if (!device || device.application.clientId !== clientId) {
      throw new OAuthError(400, 'bad_verification_code', 70_019, 'The verification code was not recognized.');
    }
    if (device.expiresAt <= this.#settings.now()) {
      throw new OAuthError(400, 'expired_token', 70_020, 'The provided value for the device code has expired.');
    }
    if (device.answer === undefined) {
      throw new OAuthError(400, 'authorization_pending', 70_016, 'Pending end-user authorization.');
    }
    if (device.answer === 'declined') {
      throw new OAuthError(400, 'authorization_declined', 70_018, 'The user denied the request.');
    }
    this.#devices.delete(deviceCode);
    return { account: device.answer.account, application: device.application, scopes: device.scopes };
  }
}

/** Nine letters and digits that can't be taken for one another. */
function newUserCode(): string {
  const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
  return Array.from({ length: 9 }, () => alphabet[randomInt(alphabet.length)]).join('');
}

/** Exact URIs, and any port and path of loopback by plain http (RFC 8252 section 7.3). */
function allowsRedirect(application: Application, redirectUri: string): boolean {
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  const isLoopback = url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  return isLoopback || application.redirectUris.includes(redirectUri);
}
