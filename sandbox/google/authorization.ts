import { randomBytes } from 'node:crypto';
import type { Grant, Grants } from './grants.ts';
import { invalidGrant, OAuthError } from './oauth-error.ts';
import type { OAuthClient, Settings } from './options.ts';
import { isLoginScope, parseScopes } from './scopes.ts';

/** A checked authorization request that waits for the person's answer. */
export interface PendingRequest {
  id: string;
  client: OAuthClient;
  redirectUri: string;
  scopes: string[];
  state: string | undefined;
  nonce: string | undefined;
  codeChallenge: string | undefined;
  offline: boolean;
  forceConsent: boolean;
  includeGranted: boolean;
  loginHint: string | undefined;
}

/** What a code stands for until it is redeemed. `expiresAt` is epoch ms. */
export interface AuthorizationCode {
  grant: Grant;
  redirectUri: string;
  codeChallenge: string | undefined;
  nonce: string | undefined;
  withRefreshToken: boolean;
  expiresAt: number;
}

/** A request whose error goes back to the client by redirect (RFC 6749 §4.1.2.1). */
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

/** The authorization endpoint's state: requests that wait for a person, and codes. */
export class Authorization {
  readonly #settings: Settings;
  readonly #grants: Grants;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #codes = new Map<string, AuthorizationCode>();

  constructor(settings: Settings, grants: Grants) {
    this.#settings = settings;
    this.#grants = grants;
  }

  /** Checks an authorization request. Throws OAuthError when it must not redirect, RedirectError when it may. */
  begin(query: URLSearchParams): PendingRequest {
    const client = this.#settings.clients.find((known) => known.clientId === query.get('client_id'));
    if (!client) {
      throw new OAuthError(401, 'invalid_client', 'The OAuth client was not found.');
    }
    const redirectUri = query.get('redirect_uri') ?? '';
    if (!allowsRedirect(client, redirectUri)) {
      throw new OAuthError(400, 'redirect_uri_mismatch', "The redirect URI doesn't match the ones of the client.");
    }
    const state = query.get('state') ?? undefined;
    const scopes = parseScopes(query.get('scope') ?? '');
    const refuse = (error: string, description: string): RedirectError =>
      new RedirectError(redirectUri, state, error, description);
    if (query.get('response_type') !== 'code') {
      throw refuse('unsupported_response_type', 'Only the code flow is supported.');
    }
    if (!scopes) {
      throw refuse('invalid_scope', 'Some requested scopes were invalid.');
    }
    const codeChallenge = query.get('code_challenge') ?? undefined;
    if (codeChallenge === undefined ? client.type === 'desktop' : query.get('code_challenge_method') !== 'S256') {
      throw refuse('invalid_request', 'PKCE with S256 is required.');
    }
    const pending: PendingRequest = {
      id: randomBytes(16).toString('base64url'),
      client,
      redirectUri,
      scopes,
      state,
      nonce: query.get('nonce') ?? undefined,
      codeChallenge,
      offline: query.get('access_type') === 'offline',
      forceConsent: (query.get('prompt') ?? '').split(' ').includes('consent'),
      includeGranted: query.get('include_granted_scopes') === 'true',
      loginHint: query.get('login_hint') ?? undefined,
    };
    if (query.get('prompt') === 'none') {
      throw refuse('interaction_required', 'A person has to answer.');
    }
    this.#pending.set(pending.id, pending);
    return pending;
  }

  /** Takes a waiting request out; each can be answered once. Throws OAuthError when it is unknown. */
  take(id: string): PendingRequest {
    const pending = this.#pending.get(id);
    if (!pending) {
      throw new OAuthError(400, 'invalid_request', 'This request is over.');
    }
    this.#pending.delete(id);
    return pending;
  }

  /**
   * The person agrees to `ticked` of the requested scopes. A refresh token comes with the first consent of this account to this
   * client, and later only with prompt=consent. Returns the code; undefined when nothing was agreed to.
   */
  agree(pending: PendingRequest, account: string, ticked: readonly string[]): string | undefined {
    const chosen = pending.scopes.filter((scope) => isLoginScope(scope) || ticked.includes(scope));
    if (chosen.length === 0) {
      return undefined;
    }
    const { client } = pending;
    const isFirst = !this.#grants.hasConsent(account, client.clientId);
    const earlier = pending.includeGranted ? this.#grants.consentedScopes(account, client.clientId) : [];
    const grant: Grant = { account, client, scopes: [...new Set([...chosen, ...earlier])] };
    this.#grants.consent(grant);
    const code = `4/0${randomBytes(32).toString('base64url')}`;
    this.#codes.set(code, {
      grant,
      redirectUri: pending.redirectUri,
      codeChallenge: pending.codeChallenge,
      nonce: pending.nonce,
      withRefreshToken: pending.offline && (isFirst || pending.forceConsent),
      expiresAt: this.#settings.now() + CODE_LIFETIME_MS,
    });
    return code;
  }

  /** Redeems a code, once. Throws OAuthError invalid_grant. */
  redeem(code: string): AuthorizationCode {
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    if (!found || found.expiresAt <= this.#settings.now()) {
      throw invalidGrant('Malformed auth code.');
    }
    return found;
  }
}

/** Web clients need the exact URI; desktop clients any port of loopback by plain http (RFC 8252 §7.3). */
function allowsRedirect(client: OAuthClient, redirectUri: string): boolean {
  if (client.type === 'web') {
    return client.redirectUris.includes(redirectUri);
  }
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
}
