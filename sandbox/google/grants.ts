import { randomBytes } from 'node:crypto';
import type { Caller } from './call.ts';
import { invalidGrant } from './oauth-error.ts';
import type { OAuthClient, Settings } from './options.ts';
import { longForm, shortScope } from './scopes.ts';

/** What a person agreed to, or a service account was given. Scopes in their long form. */
export interface Grant {
  account: string;
  client: Pick<OAuthClient, 'clientId' | 'project'>;
  scopes: string[];
  serviceAccount?: string;
}

interface AccessToken {
  grant: Grant;
  expiresAt: number;
}

interface RefreshToken {
  grant: Grant;
  lastUsedAt: number;
  expiresAt: number;
}

/** Live refresh tokens per account and client; the oldest dies silently. */
const MOST_REFRESH_TOKENS = 100;
/** A refresh token that is not used for six months dies. */
const REFRESH_IDLE_MS = 183 * 86_400_000;

/** Tokens and consents. */
export class Grants {
  readonly #settings: Settings;
  readonly #accessTokens = new Map<string, AccessToken>();
  readonly #refreshTokens = new Map<string, RefreshToken>();
  /** Scopes that were agreed to, by account and client. */
  readonly #consents = new Map<string, Set<string>>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  hasConsent(account: string, clientId: string): boolean {
    return this.#consents.has(keyOf(account, clientId));
  }

  consentedScopes(account: string, clientId: string): string[] {
    return [...(this.#consents.get(keyOf(account, clientId)) ?? [])];
  }

  consent(grant: Grant): void {
    const key = keyOf(grant.account, grant.client.clientId);
    this.#consents.set(key, new Set([...(this.#consents.get(key) ?? []), ...grant.scopes]));
  }

  issueAccessToken(grant: Grant): string {
    const token = `ya29.${randomBytes(60).toString('base64url')}`;
    const expiresAt = this.#settings.now() + this.#settings.accessTokenLifetimeMs;
    this.#accessTokens.set(token, { grant: { ...grant, scopes: grant.scopes.map(longForm) }, expiresAt });
    return token;
  }

  issueRefreshToken(grant: Grant): string {
    const token = `1//0${randomBytes(50).toString('base64url')}`;
    const now = this.#settings.now();
    const expiresAt = now + (this.#settings.refreshTokenLifetimeMs ?? Number.POSITIVE_INFINITY);
    this.#refreshTokens.set(token, { grant, lastUsedAt: now, expiresAt });
    const siblings = [...this.#refreshTokens].filter(([, other]) => sameKey(other.grant, grant));
    for (const [oldest] of siblings.slice(0, Math.max(0, siblings.length - MOST_REFRESH_TOKENS))) {
      this.#refreshTokens.delete(oldest);
    }
    return token;
  }

  /** The grant of a refresh token and its end (epoch ms). Throws OAuthError invalid_grant. */
  useRefreshToken(token: string, clientId: string): { grant: Grant; expiresAt: number } {
    const now = this.#settings.now();
    const found = this.#refreshTokens.get(token);
    if (!found || found.grant.client.clientId !== clientId) {
      throw invalidGrant();
    }
    if (found.expiresAt <= now || found.lastUsedAt + REFRESH_IDLE_MS <= now) {
      this.#refreshTokens.delete(token);
      throw invalidGrant();
    }
    found.lastUsedAt = now;
    return { grant: found.grant, expiresAt: found.expiresAt };
  }

  /** The caller behind an access token; undefined when it is unknown, expired or revoked. */
  findCaller(token: string): Caller | undefined {
    const found = this.#accessTokens.get(token);
    if (!found) {
      return undefined;
    }
    if (found.expiresAt <= this.#settings.now()) {
      this.#accessTokens.delete(token);
      return undefined;
    }
    const { account, client, scopes, serviceAccount } = found.grant;
    return { account, ...client, serviceAccount, scopes: new Set(scopes.map(shortScope)) };
  }

  /** Ends the consent behind a token, and with it every token of that account and client. False for an unknown token. */
  revokeToken(token: string): boolean {
    const grant = (this.#accessTokens.get(token) ?? this.#refreshTokens.get(token))?.grant;
    if (!grant) {
      return false;
    }
    this.revoke(grant.account, grant.client.clientId);
    return true;
  }

  /** Ends the account's consent to one client, or to all. */
  revoke(account: string, clientId?: string): void {
    const isMeant = (grant: Grant): boolean =>
      grant.account === account && (clientId === undefined || grant.client.clientId === clientId);
    for (const tokens of [this.#accessTokens, this.#refreshTokens]) {
      for (const [token, { grant }] of tokens) {
        if (isMeant(grant)) {
          tokens.delete(token);
        }
      }
    }
    for (const key of this.#consents.keys()) {
      if (clientId === undefined ? key.startsWith(`${account} `) : key === keyOf(account, clientId)) {
        this.#consents.delete(key);
      }
    }
  }

  /** Makes every access token end now, as if its time were over. */
  expireAccessTokens(): void {
    this.#accessTokens.clear();
  }
}

function keyOf(account: string, clientId: string): string {
  return `${account} ${clientId}`;
}

function sameKey(one: Grant, other: Grant): boolean {
  return one.account === other.account && one.client.clientId === other.client.clientId;
}
