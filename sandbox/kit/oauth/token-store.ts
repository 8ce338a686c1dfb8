import { randomBytes, randomUUID } from 'node:crypto';
import type { Grant, RefreshRules, TokenForm, TokenRules } from './vendor.ts';

/** The state of a token. `expiresAt` is epoch ms; undefined for a token that never expires. */
export interface KnownToken<G extends Grant> {
  use: 'access_token' | 'refresh_token';
  grant: G;
  expiresAt: number | undefined;
}

interface AccessToken<G> {
  grant: G;
  /** The full grant of the consent; `grant` may be a part of this grant. */
  agreed: G;
  expiresAt: number;
}

interface RefreshToken<G> {
  grant: G;
  /** Grants are numbered as they come: the oldest has the lowest. */
  serial: number;
  grantedAt: number;
  usedAt: number;
}

/** A new token of this form. */
export function newToken({ prefix, chance }: TokenForm): string {
  return prefix + (chance === 'uuid' ? randomUUID() : randomBytes(chance).toString('base64url'));
}

/** All tokens of one authorization server. */
export class TokenStore<G extends Grant> {
  readonly #rules: TokenRules<G>;
  readonly #access = new Map<string, AccessToken<G>>();
  readonly #refresh = new Map<string, RefreshToken<G>>();
  #serial = 0;

  constructor(rules: TokenRules<G>) {
    this.#rules = rules;
  }

  /** @param agreed the full grant, if `grant` is only a part of it */
  issueAccess(grant: G, agreed: G = grant): { token: string; lifetimeMs: number } {
    const { access, now } = this.#rules;
    const token = newToken(access);
    const lifetimeMs = access.lifetimeMs();
    this.#access.set(token, { grant, agreed, expiresAt: now() + lifetimeMs });
    return { token, lifetimeMs };
  }

  issueRefresh(grant: G): string {
    const at = this.#rules.now();
    this.#serial += 1;
    const token = newToken(this.#rules.refresh);
    this.#refresh.set(token, { grant, serial: this.#serial, grantedAt: at, usedAt: at });
    this.#endTheOldest(grant);
    return token;
  }

  /** Returns the grant of a refresh token of this client, and whether the token has expired; undefined for an unknown token. */
  findRefresh(token: string, clientId: string): { grant: G; isOver: boolean } | undefined {
    const found = this.#refresh.get(token);
    return found?.grant.client.clientId === clientId ? { grant: found.grant, isOver: this.#isOver(found) } : undefined;
  }

  /** Notes the use of a refresh token. `current` is good from now on, `told` what the answer says. Throws Error for an unknown one. */
  useRefresh(token: string): { current: string; told: string | undefined } {
    const found = this.#refresh.get(token);
    if (found === undefined) throw new Error('The sandbox does not have this refresh token');
    found.usedAt = this.#rules.now();
    switch (this.#rulesOf(found).rotation) {
      case 'kept':
        return { current: token, told: undefined };
      case 'repeated':
        return { current: token, told: token };
      case 'added': {
        const added = this.issueRefresh(found.grant);
        return { current: added, told: added };
      }
      case 'replaced': {
        const replacement = newToken(this.#rules.refresh);
        this.#refresh.delete(token);
        this.#refresh.set(replacement, found);
        return { current: replacement, told: replacement };
      }
    }
  }

  /** How long a refresh token lives at most; undefined without an end. */
  refreshLeftMs(token: string): number | undefined {
    const found = this.#refresh.get(token);
    const lifetimeMs = found && this.#rulesOf(found).lifetimeMs;
    return lifetimeMs === undefined ? undefined : found!.grantedAt + lifetimeMs - this.#rules.now();
  }

  /** A live access token or a refresh token; undefined for anything else. */
  find(token: string): KnownToken<G> | undefined {
    const refresh = this.#refresh.get(token);
    if (refresh) return { use: 'refresh_token', grant: refresh.grant, expiresAt: undefined };
    const grant = this.findAccess(token);
    return grant && { use: 'access_token', grant, expiresAt: this.#access.get(token)?.expiresAt };
  }

  /** Returns the grant of a live access token and records the use; undefined for any other token. */
  findAccess(token: string): G | undefined {
    const { access, now } = this.#rules;
    const found = this.#access.get(token);
    if (!found || found.expiresAt <= now()) return undefined;
    if (access.isProlonged) found.expiresAt = now() + access.lifetimeMs();
    return found.grant;
  }

  /** Returns when an access token expired (epoch ms); undefined when the token is unknown or live. */
  accessEndedAt(token: string): number | undefined {
    const expiresAt = this.#access.get(token)?.expiresAt;
    return expiresAt !== undefined && expiresAt <= this.#rules.now() ? expiresAt : undefined;
  }

  /** How many live refresh tokens there are of such grants. */
  countRefresh(fits: (grant: G) => boolean): number {
    return [...this.#refresh.values()].filter((each) => fits(each.grant) && !this.#isOver(each)).length;
  }

  /** Ends one token and nothing else. */
  end(token: string): void {
    this.#access.delete(token);
    this.#refresh.delete(token);
  }

  /** Ends the refresh tokens of such grants, and with `all` their access tokens. */
  endGrants(fits: (grant: G) => boolean, which: 'all' | 'refresh' = 'all'): void {
    for (const [token, { grant }] of this.#refresh) {
      if (fits(grant)) this.#refresh.delete(token);
    }
    if (which === 'refresh') return;
    for (const [token, { agreed }] of this.#access) {
      if (fits(agreed)) this.#access.delete(token);
    }
  }

  /** All access tokens are over by now. */
  expireAccess(): void {
    const at = this.#rules.now();
    for (const access of this.#access.values()) access.expiresAt = Math.min(access.expiresAt, at);
  }

  #rulesOf({ grant }: RefreshToken<G>): RefreshRules {
    return this.#rules.refresh.rules(grant);
  }

  #isOver(token: RefreshToken<G>): boolean {
    const { idleMs = Number.POSITIVE_INFINITY, lifetimeMs = Number.POSITIVE_INFINITY } = this.#rulesOf(token);
    const at = this.#rules.now();
    return at >= token.usedAt + idleMs || at >= token.grantedAt + lifetimeMs;
  }

  #endTheOldest(grant: G): void {
    const { most } = this.#rules.refresh.rules(grant);
    if (most === undefined) return;
    const siblings = [...this.#refresh]
      .filter(([, { grant: other }]) => isSibling(grant, other))
      .toSorted(([, one], [, other]) => one.serial - other.serial);
    for (const [token, { grant: oldest }] of siblings.slice(0, Math.max(0, siblings.length - most.count))) {
      if (most.ends === 'token') this.end(token);
      else this.endGrants((each) => each === oldest);
    }
  }
}

function isSibling(one: Grant, other: Grant): boolean {
  return one.account === other.account && one.client.clientId === other.client.clientId;
}
