import { createHash } from 'node:crypto';
import { MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { createSealer, type SealingKey } from './sealing.ts';

/** How long a person has to finish a login (RFC 6819 section 5.1.5.3: state and codes live shortly). */
const LOGIN_TTL_MS = 10 * MINUTE_MS;

/** Not a tenant's id, which can't hold braces: which tenant a login belongs to is known only once it is open. */
const LOGIN_SEAL_TENANT = '{login}';

/** Logins that persons have begun and not finished, by their state, or links to begin them. `Login` is plain data. */
export interface LoginStore<Login> {
  /** @param lifeMs default: ten minutes */
  put(state: string, login: Login, lifeMs?: number): Promise<void>;
  /** Looks, and leaves it there; null as below. */
  find(state: string): Promise<Login | null>;
  /** Gives the login once; null when it is unknown, too old or was taken before. */
  take(state: string): Promise<Login | null>;
}

/**
 * Opens the store of logins under way, of all tenants. A login is sealed, since it holds the code verifier; the key's name
 * holds a hash of the state, so that reading the names of Redis' keys doesn't let one finish somebody's login.
 * @param keyOf the key of a hash: what one store holds opens in no other
 */
export function createLoginStore<Login>(
  redis: RedisClient,
  ring: readonly SealingKey[],
  keyOf: (hash: string) => string = keys.login,
): LoginStore<Login> {
  const sealer = createSealer(ring, LOGIN_SEAL_TENANT);
  const opened = (sealed: string | null, key: string) =>
    sealed === null ? null : (JSON.parse(sealer.open(sealed, key)) as Login);
  return {
    async put(state, login, lifeMs = LOGIN_TTL_MS) {
      const key = keyOf(hashOf(state));
      await redis.set(key, sealer.seal(JSON.stringify(login), key), 'PX', lifeMs);
    },
    async find(state) {
      const key = keyOf(hashOf(state));
      return opened(await redis.get(key), key);
    },
    async take(state) {
      const key = keyOf(hashOf(state));
      return opened(await redis.getdel(key), key);
    },
  };
}

function hashOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url');
}
