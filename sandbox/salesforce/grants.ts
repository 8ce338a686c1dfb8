import { randomBytes } from 'node:crypto';
import { ApiError } from './errors.ts';
import { invalidGrant } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';

/** What a user agreed to (or an administrator, for flows without a person), with the tokens that came of it. */
export interface Grant {
  username: string;
  application: Application;
  scopes: string[];
  /** Epoch ms. */
  grantedAt: number;
  lastRefreshAt: number;
  /** The one that is good; undefined for flows and scopes without. */
  refreshToken: string | undefined;
}

interface Session {
  grant: Grant;
  lastUsedAt: number;
}

/** Grants, sessions, and users whose refreshes are refused. */
export class Grants {
  readonly #settings: Settings;
  #grants: Grant[] = [];
  readonly #sessions = new Map<string, Session>();
  readonly #refusals = new Map<string, string>();

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** A new grant. One too many for this user and application ends the oldest. Throws OAuthError for a refused user. */
  add(username: string, application: Application, scopes: string[], withRefreshToken: boolean): Grant {
    this.#checkUser(username);
    const at = this.#settings.now();
    const refreshToken = withRefreshToken ? newToken('5Aep') : undefined;
    const grant = { username, application, scopes, grantedAt: at, lastRefreshAt: at, refreshToken };
    this.#grants.push(grant);
    const same = this.live(username).filter((each) => each.application === application && each.refreshToken);
    for (const old of same.slice(0, Math.max(0, same.length - this.#settings.grantsPerUser))) {
      this.#end(old);
    }
    return grant;
  }

  /** The grant of a refresh token; where tokens rotate, it carries a new one already. Throws OAuthError. */
  refresh(token: string, application: Application): Grant {
    const grant = this.#grants.find((each) => each.refreshToken === token && each.application === application);
    if (!grant) {
      throw invalidGrant();
    }
    this.#checkUser(grant.username);
    const at = this.#settings.now();
    const { refreshTokenIdleMs, refreshTokenLifetimeMs, rotateRefreshTokens } = application;
    const isIdle = refreshTokenIdleMs !== undefined && at - grant.lastRefreshAt >= refreshTokenIdleMs;
    const isOld = refreshTokenLifetimeMs !== undefined && at - grant.grantedAt >= refreshTokenLifetimeMs;
    if (isIdle || isOld) {
      this.#end(grant);
      throw invalidGrant();
    }
    grant.lastRefreshAt = at;
    grant.refreshToken = rotateRefreshTokens ? newToken('5Aep') : token;
    return grant;
  }

  openSession(grant: Grant): string {
    const token = newToken('00D5g!AQ');
    this.#sessions.set(token, { grant, lastUsedAt: this.#settings.now() });
    return token;
  }

  /** Ends what a token stands for: a session, or a grant with all its sessions. False when it stands for nothing. */
  revoke(token: string): boolean {
    const grant = this.#grants.find((each) => each.refreshToken === token);
    if (grant) {
      this.#end(grant);
    }
    return this.#sessions.delete(token) || grant !== undefined;
  }

  revokeUser(username: string): void {
    for (const grant of this.live(username)) {
      this.#end(grant);
    }
  }

  /** The live grants of a user, the oldest first. */
  live(username: string): Grant[] {
    return this.#grants.filter((each) => each.username === username);
  }

  /** Ends all sessions; grants stay. */
  endSessions(): void {
    this.#sessions.clear();
  }

  /** Refuses the user's logins and refreshes with this description, e.g. `inactive user`; undefined: not any more. */
  refuse(username: string, description: string | undefined): void {
    if (description === undefined) {
      this.#refusals.delete(username);
    } else {
      this.#refusals.set(username, description);
    }
  }

  /** The grant behind an Authorization header. Throws ApiError 401 INVALID_SESSION_ID. */
  requireSession(authorization: string | string[] | undefined): Grant {
    const grant = this.findSession(authorization);
    if (!grant) {
      throw new ApiError(401, 'INVALID_SESSION_ID', 'Session expired or invalid');
    }
    if (!grant.scopes.includes('api') && !grant.scopes.includes('full')) {
      throw new ApiError(401, 'INVALID_SESSION_ID', 'This session is not valid for use with the REST API');
    }
    return grant;
  }

  /** The grant behind an Authorization header; using a session prolongs it. */
  findSession(authorization: string | string[] | undefined): Grant | undefined {
    const token = /^(?:Bearer|OAuth) (\S+)$/i.exec(String(authorization ?? ''))?.[1] ?? '';
    const session = this.#sessions.get(token);
    const at = this.#settings.now();
    if (!session || at - session.lastUsedAt >= this.#settings.sessionTimeoutMs) {
      return undefined;
    }
    session.lastUsedAt = at;
    return session.grant;
  }

  #end(grant: Grant): void {
    this.#grants = this.#grants.filter((each) => each !== grant);
    for (const [token, session] of this.#sessions) {
      if (session.grant === grant) {
        this.#sessions.delete(token);
      }
    }
  }

  #checkUser(username: string): void {
    const refusal = this.#refusals.get(username);
    if (refusal !== undefined) {
      throw invalidGrant(refusal);
    }
  }
}

function newToken(prefix: string): string {
  return prefix + randomBytes(60).toString('base64url');
}
