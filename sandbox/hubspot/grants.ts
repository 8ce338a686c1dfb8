import { randomBytes, randomUUID } from 'node:crypto';
import { HubSpotError } from './errors.ts';
import { badRefreshToken } from './oauth-error.ts';
import type { Settings } from './options.ts';

/** What an installation gave to an app. */
export interface Grant {
  clientId: string;
  /** The person who installed it. */
  user: string;
  scopes: string[];
}

/** On whose behalf a call runs. */
export interface Caller {
  kind: 'oauth' | 'private';
  clientId: string;
  scopes: ReadonlySet<string>;
}

/** What is known of a token, for the endpoints that tell. `expiresAt` is epoch ms, undefined for one without an end. */
export interface KnownToken {
  use: 'access_token' | 'refresh_token';
  grant: Grant;
  expiresAt: number | undefined;
}

/** An access token by OAuth is unreadable and long; a private app's has this form. */
const PRIVATE_PREFIX = 'pat-eu1-';

/** All tokens of the account. */
export class Grants {
  readonly #settings: Settings;
  readonly #accessTokens = new Map<string, { grant: Grant; expiresAt: number }>();
  readonly #refreshTokens = new Map<string, Grant>();
  readonly #privateTokens = new Map<string, Grant>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  issueAccessToken(grant: Grant): { token: string; lifetimeMs: number } {
    const token = randomBytes(210).toString('base64url');
    const lifetimeMs = this.#settings.accessTokenLifetimeMs;
    this.#accessTokens.set(token, { grant, expiresAt: this.#settings.now() + lifetimeMs });
    return { token, lifetimeMs };
  }

  issueRefreshToken(grant: Grant): string {
    const token = `eu1-${randomUUID()}`;
    this.#refreshTokens.set(token, grant);
    return token;
  }

  /** The token of a private app: it has no end. */
  issuePrivateToken(scopes: string[]): string {
    const token = `${PRIVATE_PREFIX}${randomUUID()}`;
    this.#privateTokens.set(token, { clientId: token.slice(0, 16), user: '', scopes });
    return token;
  }

  /** The grant of a refresh token, and the token to tell: the same, or another one in its place. Throws OAuthError. */
  refresh(token: string, clientId: string): { grant: Grant; refreshToken: string } {
    const grant = this.#refreshTokens.get(token);
    if (grant?.clientId !== clientId) {
      throw badRefreshToken();
    }
    if (!this.#settings.rotateRefreshTokens) {
      return { grant, refreshToken: token };
    }
    this.#refreshTokens.delete(token);
    return { grant, refreshToken: this.issueRefreshToken(grant) };
  }

  /** A live token of any kind; undefined when it is over or was never given. */
  find(token: string): KnownToken | undefined {
    const refresh = this.#refreshTokens.get(token);
    const access = this.#accessTokens.get(token);
    if (refresh) {
      return { use: 'refresh_token', grant: refresh, expiresAt: undefined };
    }
    return access && access.expiresAt > this.#settings.now()
      ? { use: 'access_token', grant: access.grant, expiresAt: access.expiresAt }
      : undefined;
  }

  /** Ends one token; access tokens live on until their end when their refresh token is revoked. */
  revoke(token: string): void {
    this.#refreshTokens.delete(token);
    this.#accessTokens.delete(token);
  }

  /** The app is uninstalled: all its tokens end. */
  uninstall(clientId: string): void {
    for (const [token, grant] of this.#refreshTokens) {
      if (grant.clientId === clientId) {
        this.#refreshTokens.delete(token);
      }
    }
    for (const [token, { grant }] of this.#accessTokens) {
      if (grant.clientId === clientId) {
        this.#accessTokens.delete(token);
      }
    }
  }

  /** All access tokens by OAuth are over by now. */
  expireAccessTokens(): void {
    for (const access of this.#accessTokens.values()) {
      access.expiresAt = Math.min(access.expiresAt, this.#settings.now());
    }
  }

  revokePrivateToken(token: string): void {
    this.#privateTokens.delete(token);
  }

  /** Takes scopes from a private app, as a person does in its settings. */
  reduceScopes(token: string, scopes: string[]): void {
    const grant = this.#privateTokens.get(token);
    if (grant) {
      this.#privateTokens.set(token, { ...grant, scopes });
    }
  }

  /** The caller behind an Authorization header; undefined when nobody is. */
  findCaller(authorization: string | undefined): Caller | undefined {
    const token = tokenOf(authorization);
    const grant = this.#privateTokens.get(token);
    if (grant) {
      return { kind: 'private', clientId: grant.clientId, scopes: new Set(grant.scopes) };
    }
    const found = this.find(token);
    return found?.use === 'access_token'
      ? { kind: 'oauth', clientId: found.grant.clientId, scopes: new Set(found.grant.scopes) }
      : undefined;
  }

  /** The caller behind an Authorization header. Throws HubSpotError 401. */
  requireCaller(authorization: string | undefined): Caller {
    const caller = this.findCaller(authorization);
    if (caller) {
      return caller;
    }
    const over = this.#accessTokens.get(tokenOf(authorization));
    if (over) {
      const seconds = Math.floor((this.#settings.now() - over.expiresAt) / 1000);
      const message = `The OAuth token used to make this call expired ${seconds} second(s) ago.`;
      throw new HubSpotError(401, 'EXPIRED_AUTHENTICATION', message);
    }
    const message =
      'Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details ' +
      'at https://developers.hubspot.com/docs/methods/auth/oauth-overview';
    throw new HubSpotError(401, 'INVALID_AUTHENTICATION', message);
  }
}

function tokenOf(authorization: string | undefined): string {
  return /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
}
