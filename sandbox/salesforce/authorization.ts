import { createHash, randomBytes } from 'node:crypto';
import { invalidGrant, OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';

/** A checked authorization request that waits for the person's answer. */
export interface PendingRequest {
  id: string;
  application: Application;
  redirectUri: string;
  scopes: string[];
  state: string | undefined;
  codeChallenge: string | undefined;
}

/** A request whose error goes back to the client by redirect (RFC 6749 section 4.1.2.1). */
export class RedirectError extends Error {
  readonly location: string;

  constructor(request: Pick<PendingRequest, 'redirectUri' | 'state'>, error: string, description: string) {
    super(description);
    this.location = redirectTo(request, { error, error_description: description });
  }
}

interface Code {
  request: PendingRequest;
  username: string;
  expiresAt: number;
}

const CODE_LIFETIME_MS = 15 * 60_000;
const SCOPES: readonly string[] = [
  'api',
  'full',
  'id',
  'openid',
  'profile',
  'email',
  'web',
  'refresh_token',
  'offline_access',
];
const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

/** Logins in progress: requests that wait for a person, and codes. */
export class Authorization {
  readonly #settings: Settings;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #codes = new Map<string, Code>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Checks an authorization request. Throws OAuthError when it must not redirect, RedirectError when it may. */
  begin(query: URLSearchParams): PendingRequest {
    const application = findApplication(this.#settings, query.get('client_id'));
    const redirectUri = query.get('redirect_uri') ?? '';
    if (!allowsRedirect(application, redirectUri)) {
      throw new OAuthError('redirect_uri_mismatch', 'redirect_uri must match configuration');
    }
    const request: PendingRequest = {
      id: randomBytes(16).toString('base64url'),
      application,
      redirectUri,
      scopes: (query.get('scope') ?? 'api refresh_token').split(' ').filter((scope) => scope !== ''),
      state: query.get('state') ?? undefined,
      codeChallenge: query.get('code_challenge') ?? undefined,
    };
    if (query.get('response_type') !== 'code') {
      throw new RedirectError(request, 'unsupported_response_type', 'response type must be code');
    }
    if (request.scopes.some((scope) => !SCOPES.includes(scope))) {
      throw new RedirectError(request, 'invalid_scope', 'the requested scope is not allowed');
    }
    if (request.codeChallenge === undefined && application.requirePkce) {
      throw new RedirectError(request, 'invalid_request', 'missing required code challenge');
    }
    if (query.has('code_challenge_method') && query.get('code_challenge_method') !== 'S256') {
      throw new RedirectError(request, 'invalid_request', 'unsupported code challenge method');
    }
    this.#pending.set(request.id, request);
    return request;
  }

  /** The person's answer to a waiting request, once; `username` undefined: denied. Returns where the browser goes. Throws OAuthError. */
  answer(id: string, username: string | undefined): string {
    const request = this.#pending.get(id);
    if (!request) {
      throw new OAuthError('invalid_request', 'This request is over.');
    }
    this.#pending.delete(id);
    if (username === undefined) {
      return redirectTo(request, { error: 'access_denied', error_description: 'end-user denied authorization' });
    }
    const code = `aPrx${randomBytes(40).toString('base64url')}`;
    this.#codes.set(code, { request, username, expiresAt: this.#settings.now() + CODE_LIFETIME_MS });
    return redirectTo(request, { code });
  }

  /** Redeems a code, once. Throws OAuthError. */
  redeem(form: URLSearchParams, application: Application): { username: string; scopes: string[] } {
    const code = form.get('code') ?? '';
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    if (!found || found.expiresAt <= this.#settings.now() || found.request.application !== application) {
      throw invalidGrant('expired authorization code');
    }
    const { redirectUri, codeChallenge, scopes } = found.request;
    if (form.get('redirect_uri') !== redirectUri) {
      throw new OAuthError('redirect_uri_mismatch', 'redirect_uri must match configuration');
    }
    const verifier = form.get('code_verifier') ?? '';
    if (codeChallenge !== undefined && createHash('sha256').update(verifier).digest('base64url') !== codeChallenge) {
      throw invalidGrant('invalid code verifier');
    }
    return { username: found.username, scopes };
  }
}

/** The application of a client id. Throws OAuthError. */
export function findApplication(settings: Settings, clientId: string | null): Application {
  const application = settings.applications.find((known) => known.clientId === clientId);
  if (!application) {
    throw new OAuthError('invalid_client_id', 'client identifier invalid');
  }
  return application;
}

/** Exact URIs, and any port and path of loopback by plain http (RFC 8252 section 7.3). */
function allowsRedirect(application: Application, redirectUri: string): boolean {
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  const isLoopback = url?.protocol === 'http:' && LOOPBACK.includes(url.hostname);
  return isLoopback || application.redirectUris.includes(redirectUri);
}

function redirectTo(
  { redirectUri, state }: Pick<PendingRequest, 'redirectUri' | 'state'>,
  answer: Record<string, string>,
): string {
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries({ ...answer, ...(state === undefined ? {} : { state }) })) {
    url.searchParams.set(name, value);
  }
  return url.href;
}
