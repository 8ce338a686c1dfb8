import { randomBytes } from 'node:crypto';
import { seededRandom } from '../kit/random.ts';
import type { Caller } from './call.ts';
import { GraphError } from './errors.ts';
import { invalidGrant, OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';

/** What a person agreed to, or (without an account) an application was given. Scopes or roles in their short form. */
export interface Grant {
  account: string | undefined;
  application: Application;
  scopes: string[];
}

/** A claims challenge of continuous access evaluation: only tokens that were asked for with these claims will do. */
interface Challenge {
  /** The claim `nbf`, in seconds. */
  notBefore: number;
  /** A refresh with the claims is refused: the person must log in. */
  needsPerson: boolean;
}

interface AccessToken {
  grant: Grant;
  expiresAt: number;
  /** The claim `nbf` that it was asked for with; 0 without. */
  notBefore: number;
}

/** Access tokens live this long, at random (identity-platform/access-tokens). */
const LEAST_LIFETIME_MS = 60 * 60_000;
const LIFETIME_SPREAD_MS = 30 * 60_000;

/** Tokens, and who must log in again. */
export class Grants {
  readonly #settings: Settings;
  readonly #random: () => number;
  readonly #accessTokens = new Map<string, AccessToken>();
  readonly #refreshTokens = new Map<string, { grant: Grant; expiresAt: number }>();
  readonly #challenges = new Map<string, Challenge>();
  /** Accounts whose refreshes are refused until they log in. */
  readonly #interactionRequired = new Set<string>();

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#random = seededRandom(settings.seed);
  }

  /** A new access token and its life; `claims` is the claims request it answers, if any. */
  issueAccessToken(grant: Grant, claims?: string | null): { token: string; lifetimeMs: number } {
    const token = `EwB${randomBytes(90).toString('base64url')}`;
    const lifetimeMs =
      this.#settings.accessTokenLifetimeMs ?? LEAST_LIFETIME_MS + Math.floor(this.#random() * LIFETIME_SPREAD_MS);
    const expiresAt = this.#settings.now() + lifetimeMs;
    this.#accessTokens.set(token, { grant, expiresAt, notBefore: notBeforeOf(claims ?? null) });
    return { token, lifetimeMs };
  }

  issueRefreshToken(grant: Grant): string {
    const token = `0.A${randomBytes(120).toString('base64url')}`;
    const expiresAt = this.#settings.now() + this.#settings.refreshTokenLifetimeMs;
    this.#refreshTokens.set(token, { grant, expiresAt });
    return token;
  }

  /** The grant of a refresh token, which stays good. Throws OAuthError invalid_grant or interaction_required. */
  useRefreshToken(token: string, clientId: string, claims: string | null): Grant {
    const found = this.#refreshTokens.get(token);
    if (!found || found.grant.application.clientId !== clientId) {
      throw invalidGrant(50_173, 'The provided grant has expired due to it being revoked.', 'bad_token');
    }
    if (found.expiresAt <= this.#settings.now()) {
      throw invalidGrant(700_082, 'The refresh token has expired due to inactivity.', 'token_expired');
    }
    const account = found.grant.account ?? '';
    if (this.#interactionRequired.has(account)) {
      throw invalidGrant(50_076, 'You must use multi-factor authentication to access.', 'basic_action');
    }
    if (claims !== null && this.#challenges.get(account)?.needsPerson) {
      throw new OAuthError(400, 'interaction_required', 50_158, 'External security challenge not satisfied.');
    }
    return found.grant;
  }

  /** A person has logged in: what was asked of them is done. */
  loggedIn(account: string): void {
    this.#interactionRequired.delete(account);
    const challenge = this.#challenges.get(account);
    if (challenge) {
      challenge.needsPerson = false;
    }
  }

  requireInteraction(account: string): void {
    this.#interactionRequired.add(account);
  }

  /** Ends the refresh tokens of an account; access tokens live on until they expire. */
  revoke(account: string): void {
    for (const [token, { grant }] of this.#refreshTokens) {
      if (grant.account === account) {
        this.#refreshTokens.delete(token);
      }
    }
  }

  expireAccessTokens(): void {
    this.#accessTokens.clear();
  }

  /** Every token of an account (or of an application, by its client id) that exists now is challenged. */
  challenge(who: string, needsPerson: boolean): void {
    const last = this.#challenges.get(who)?.notBefore ?? 0;
    const notBefore = Math.max(last + 1, Math.floor(this.#settings.now() / 1000));
    this.#challenges.set(who, { notBefore, needsPerson });
  }

  /** The caller behind an Authorization header; undefined when nobody is. */
  findCaller(authorization: string | undefined): Caller | undefined {
    const found = this.#find(authorization);
    if (!found) {
      return undefined;
    }
    const { account, application, scopes } = found.grant;
    const { clientId, mailboxes } = application;
    return { account, clientId, permissions: new Set(scopes), mailboxes };
  }

  /** The caller behind an Authorization header. Throws GraphError 401, with a claims challenge when one is open. */
  requireCaller(authorization: string | undefined): Caller {
    const caller = this.findCaller(authorization);
    if (!caller) {
      throw unauthenticated('Access token is empty, expired or malformed.', 'Bearer realm="", error="invalid_token"');
    }
    const challenge = this.#challenges.get(caller.account ?? caller.clientId);
    const notBefore = this.#find(authorization)?.notBefore ?? 0;
    if (challenge && notBefore < challenge.notBefore) {
      const claims = { access_token: { nbf: { essential: true, value: String(challenge.notBefore) } } };
      const encoded = Buffer.from(JSON.stringify(claims)).toString('base64');
      throw unauthenticated(
        'Continuous access evaluation resulted in challenge with result: InteractionRequired.',
        `Bearer realm="", authorization_uri="https://login.example/common/oauth2/authorize", error="insufficient_claims", claims="${encoded}"`,
      );
    }
    return caller;
  }

  #find(authorization: string | undefined): AccessToken | undefined {
    const token = /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1];
    const found = this.#accessTokens.get(token ?? '');
    return found && found.expiresAt > this.#settings.now() ? found : undefined;
  }
}

function unauthenticated(message: string, challenge: string): GraphError {
  return new GraphError(401, 'InvalidAuthenticationToken', message, { headers: { 'www-authenticate': challenge } });
}

/** The `nbf` in a claims request (OpenID Connect Core section 5.5). */
function notBeforeOf(claims: string | null): number {
  const value = /"nbf"\s*:\s*\{[^}]*"value"\s*:\s*"(\d+)"/.exec(claims ?? '')?.[1];
  return Number(value ?? 0);
}
