import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Grant } from './grants.ts';
import { badAuthCode, OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';
import { PLAIN_SCOPES, SENSITIVE_SCOPES } from './scopes.ts';

/** A checked request to install an app, which waits for the person's answer. */
export interface PendingRequest {
  id: string;
  application: Application;
  redirectUri: string;
  scopes: string[];
  state: string | undefined;
  codeChallenge: string | undefined;
}

interface AuthorizationCode {
  grant: Grant;
  redirectUri: string;
  codeChallenge: string | undefined;
  expiresAt: number;
}

/** How long a code can be redeemed. The vendor says "a short window". */
const CODE_LIFETIME_MS = 60_000;

/** Installations in progress. */
export class Authorization {
  readonly #settings: Settings;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #codes = new Map<string, AuthorizationCode>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Checks a request; the vendor shows every error to the person. Throws OAuthError. */
  begin(query: URLSearchParams): PendingRequest {
    const application = findApplication(this.#settings, query.get('client_id') ?? '');
    const redirectUri = query.get('redirect_uri') ?? '';
    if (!allowsRedirect(application, redirectUri)) {
      throw new OAuthError(400, 'invalid_request', 'BAD_REDIRECT_URI', 'The redirect URL does not match the app.');
    }
    const required = this.#scopesOf(application, query.get('scope') ?? '');
    const missing = required.filter((scope) => !this.#offers(scope));
    if (required.length === 0 || missing.length > 0) {
      throw badScope('The account cannot give the scopes that the app requires.');
    }
    const optional = this.#scopesOf(application, query.get('optional_scope') ?? '');
    const codeChallenge = query.get('code_challenge') ?? undefined;
    if (codeChallenge !== undefined && query.get('code_challenge_method') !== 'S256') {
      throw new OAuthError(400, 'invalid_request', 'BAD_REQUEST', 'The code challenge method must be S256.');
    }
    const pending = {
      id: randomBytes(16).toString('base64url'),
      application,
      redirectUri,
      scopes: [...new Set([...required, ...optional.filter((scope) => this.#offers(scope))])],
      state: query.get('state') ?? undefined,
      codeChallenge,
    };
    this.#pending.set(pending.id, pending);
    return pending;
  }

  /** Takes a waiting request out; each can be answered once. Throws OAuthError when it is unknown. */
  take(id: string): PendingRequest {
    const pending = this.#pending.get(id);
    if (!pending) {
      throw new OAuthError(400, 'invalid_request', 'BAD_REQUEST', 'This request is over.');
    }
    this.#pending.delete(id);
    return pending;
  }

  /** The person installs the app. Returns the code. */
  agree({ application, scopes, redirectUri, codeChallenge }: PendingRequest, user: string): string {
    const code = `eu1-${randomUUID()}`;
    this.#codes.set(code, {
      grant: { clientId: application.clientId, user, scopes },
      redirectUri,
      codeChallenge,
      expiresAt: this.#settings.now() + CODE_LIFETIME_MS,
    });
    return code;
  }

  /** Redeems a code, once. Throws OAuthError. */
  redeem(code: string, clientId: string, redirectUri: string, verifier: string | null): Grant {
    const found = this.#codes.get(code);
    this.#codes.delete(code);
    if (!found || found.expiresAt <= this.#settings.now() || found.grant.clientId !== clientId) {
      throw badAuthCode();
    }
    if (found.redirectUri !== redirectUri) {
      throw new OAuthError(400, 'invalid_grant', 'BAD_REDIRECT_URI', 'redirect URI does not match the first one');
    }
    const challenge = createHash('sha256')
      .update(verifier ?? '')
      .digest('base64url');
    if (found.codeChallenge !== undefined && found.codeChallenge !== challenge) {
      throw badAuthCode();
    }
    return found.grant;
  }

  #scopesOf({ scopes: allowed }: Application, text: string): string[] {
    const asked = text.split(/[\s,]+/).filter((scope) => scope !== '');
    const isKnown = (scope: string): boolean => PLAIN_SCOPES.includes(scope) || SENSITIVE_SCOPES.includes(scope);
    if (!asked.every((scope) => isKnown(scope) && (allowed === 'all' || allowed.includes(scope)))) {
      throw badScope('Insufficient scopes were provided, or the app may not ask for one of them.');
    }
    return asked;
  }

  #offers(scope: string): boolean {
    return this.#settings.sensitiveData || !SENSITIVE_SCOPES.includes(scope);
  }
}

/** The app of a client id. Throws OAuthError. */
export function findApplication(settings: Settings, clientId: string): Application {
  const application = settings.applications.find((known) => known.clientId === clientId);
  if (!application) {
    throw new OAuthError(400, 'invalid_client', 'BAD_CLIENT_ID', 'missing or unknown client id');
  }
  return application;
}

function badScope(description: string): OAuthError {
  return new OAuthError(400, 'invalid_scope', 'BAD_SCOPE', description);
}

/** Exact URIs, and any port and path of loopback by plain http. */
function allowsRedirect(application: Application, redirectUri: string): boolean {
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  const isLoopback = url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  return isLoopback || application.redirectUris.includes(redirectUri);
}
