import type { Adapter, AdapterPayload } from './engine.ts';

/** How long expired artefacts are kept for `expired_token` and reuse answers, before a sweep deletes them. */
const KEEP_EXPIRED_SECONDS = 3600;

/** Writes between two sweeps. */
const SWEEP_EVERY = 2000;

/** The data that the sandbox needs about a bearer token. */
export interface BearerToken {
  sub: string;
  clientId: string;
  scopes: ReadonlySet<string>;
  grantId: string;
}

/** Tokens, codes, grants and sessions in memory: they die with the process. */
export interface TokenStore {
  /** The storage of one model, in the form that the authorization server requires. */
  adapter(model: string): Adapter;
  /** The live access token behind a bearer value; undefined when unknown, revoked or expired. */
  accessToken(value: string): BearerToken | undefined;
  /** The payload of one artefact, for the polling rules. */
  payload(model: string, id: string): AdapterPayload | undefined;
  /** Ends a grant with everything issued under it. */
  revokeGrant(grantId: string): void;
  /** Ends every grant that fits. */
  revokeGrants(fits: (grant: { accountId: string; clientId: string }) => boolean): void;
  /** Reduces the tokens of a client for an account to these scopes, refresh tokens included. */
  reduceScopes(of: { accountId: string; clientId: string }, scopes: ReadonlySet<string>): void;
  /** Gives a stored artefact a new life from now on. */
  extend(model: string, id: string, lifetimeSeconds: number): void;
}

export function createTokenStore(): TokenStore {
  return new MemoryTokens();
}

class MemoryTokens implements TokenStore {
  readonly #models = new Map<string, Map<string, AdapterPayload>>();
  #writes = 0;

  #of(model: string): Map<string, AdapterPayload> {
    let entries = this.#models.get(model);
    if (entries === undefined) {
      entries = new Map();
      this.#models.set(model, entries);
    }
    return entries;
  }

  #noteWrite(): void {
    this.#writes += 1;
    if (this.#writes % SWEEP_EVERY === 0) this.#sweep();
  }

  #sweep(): void {
    const limit = nowSeconds() - KEEP_EXPIRED_SECONDS;
    for (const entries of this.#models.values()) {
      for (const [id, payload] of entries) {
        if (payload.exp !== undefined && payload.exp < limit) entries.delete(id);
      }
    }
  }

  revokeGrant(grantId: string): void {
    for (const entries of this.#models.values()) {
      for (const [id, payload] of entries) {
        if (payload.grantId === grantId) entries.delete(id);
      }
    }
    this.#of('Grant').delete(grantId);
  }

  adapter(model: string): Adapter {
    const entries = this.#of(model);
    const noteWrite = () => this.#noteWrite();
    return {
      async upsert(id, payload) {
        entries.set(id, payload);
        noteWrite();
      },
      find: async (id) => entries.get(id),
      findByUserCode: async (userCode) => [...entries.values()].find((payload) => payload.userCode === userCode),
      findByUid: async (uid) => [...entries.values()].find((payload) => payload.uid === uid),
      async consume(id) {
        const payload = entries.get(id);
        if (payload !== undefined) payload.consumed = nowSeconds();
      },
      destroy: async (id) => void entries.delete(id),
      async revokeByGrantId(grantId) {
        for (const [id, payload] of entries) {
          if (payload.grantId === grantId) entries.delete(id);
        }
      },
    };
  }

  accessToken(value: string): BearerToken | undefined {
    const payload = this.#of('AccessToken').get(value);
    if (payload === undefined || (payload.exp ?? 0) <= Date.now() / 1000) return undefined;
    const { accountId, clientId, grantId, scope } = payload;
    if (accountId === undefined || clientId === undefined || grantId === undefined) return undefined;
    return { sub: accountId, clientId, grantId, scopes: new Set(scope?.split(' ')) };
  }

  revokeGrants(fits: Parameters<TokenStore['revokeGrants']>[0]): void {
    for (const [grantId, { accountId = '', clientId = '' }] of [...this.#of('Grant')]) {
      if (fits({ accountId, clientId })) this.revokeGrant(grantId);
    }
  }

  reduceScopes({ accountId, clientId }: { accountId: string; clientId: string }, scopes: ReadonlySet<string>): void {
    for (const entries of this.#models.values()) {
      for (const payload of entries.values()) {
        if (payload.accountId !== accountId || payload.clientId !== clientId || payload.scope === undefined) continue;
        payload.scope = payload.scope
          .split(' ')
          .filter((scope) => scopes.has(scope))
          .join(' ');
      }
    }
  }

  extend(model: string, id: string, lifetimeSeconds: number): void {
    const payload = this.#of(model).get(id);
    if (payload !== undefined) payload.exp = nowSeconds() + lifetimeSeconds;
  }

  payload(model: string, id: string): AdapterPayload | undefined {
    return this.#of(model).get(id);
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
