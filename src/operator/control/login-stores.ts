import { hash, randomBytes } from 'node:crypto';
import type { LoginLink } from '../../core/model/acts.ts';
import { type Clock, DAY_MS, MINUTE_MS } from '../../core/model/time.ts';
import type { RedisClient } from '../../state/redis.ts';
import { createSealer, type SealingKey, sealedTable, sealedValue } from '../../state/sealing.ts';
import { controlKeys } from './keys.ts';

/** Time for completing an authorization (RFC 6819 section 5.1.5.3: short lifetime of state and codes). */
const LOGIN_TTL_MS = 10 * MINUTE_MS;

/** Never a tenant's id, which cannot contain braces: the tenant of an authorization or ticket is known only after decryption. */
const NO_TENANT = '{login}';

/** Pending authorizations by state, or links for starting authorizations. `Login` is plain data. */
export type LoginStore<Login> = ReturnType<typeof createLoginStore<Login>>;

/**
 * Opens the store of pending authorizations of all tenants. An authorization is encrypted because of its code verifier. The key name
 * contains a hash of the state, so that reading key names is not enough to complete an authorization.
 * @param keyOf returns the key of a hash; stores do not share values
 */
export function createLoginStore<Login>(
  redis: RedisClient,
  ring: readonly SealingKey[],
  keyOf: (hash: string) => string = controlKeys.login,
) {
  const options = { redis, sealer: createSealer(ring, NO_TENANT), kind: 'logins' } as const;
  const loginOf = (state: string) => sealedValue<Login>(keyOf(digestOf(state)), options);
  return {
    /** @param lifeMs default: ten minutes */
    put: (state: string, login: Login, lifeMs = LOGIN_TTL_MS) => loginOf(state).setFor(lifeMs, login),
    /** Returns the authorization without consuming it, or null as for `take`. */
    find: (state: string) => loginOf(state).get(),
    /** Returns and removes the authorization; null if unknown, expired or already taken. */
    take: (state: string) => loginOf(state).take(),
  };
}

/** Longer than the longest lifetime of a link. */
const TABLE_LIFE_MS = 8 * DAY_MS;

/** Links by ticket, without expired links. */
export type LoginLinks = ReturnType<typeof createLoginLinks>;

/**
 * Opens the links of all tenants. The hash of a ticket locates the link in its tenant's table. Opening or withdrawing removes the link
 * atomically, so only one caller succeeds.
 */
export function createLoginLinks(redis: RedisClient, ring: readonly SealingKey[], clock: Clock) {
  const tickets = { redis, sealer: createSealer(ring, NO_TENANT), kind: 'logins' } as const;
  const ticketOf = (ticket: string) =>
    sealedValue<Pick<LoginLink, 'tenant' | 'id'>>(controlKeys.loginLink(digestOf(ticket)), tickets);
  const linksOf = (tenant: string) =>
    sealedTable<LoginLink>(controlKeys.loginLinks(tenant), {
      redis,
      sealer: createSealer(ring, tenant),
      kind: 'logins',
    });
  const isOver = ({ endsAt }: LoginLink) => endsAt <= clock();

  /** Returns the link without consuming it. */
  async function find(ticket: string): Promise<LoginLink | null> {
    const found = await ticketOf(ticket).get();
    const link = found === null ? null : await linksOf(found.tenant).get(found.id);
    return link === null || isOver(link) ? null : link;
  }

  /** @returns whether the link existed */
  const withdraw = async (tenant: string, id: string) => (await linksOf(tenant).remove([id])) === 1;

  return {
    find,
    withdraw,
    async put(ticket: string, made: Omit<LoginLink, 'id'>): Promise<LoginLink> {
      const link: LoginLink = { ...made, id: randomBytes(6).toString('hex') };
      const { tenant, id, endsAt } = link;
      await linksOf(tenant).set(id, link);
      await redis.pexpire(controlKeys.loginLinks(tenant), TABLE_LIFE_MS);
      await ticketOf(ticket).setFor(Math.max(1, endsAt - clock()), { tenant, id });
      return link;
    },
    /** Returns and removes the link. */
    async take(ticket: string): Promise<LoginLink | null> {
      const link = await find(ticket);
      // A link that was opened or withdrawn meanwhile is absent.
      return link !== null && (await withdraw(link.tenant, link.id)) ? link : null;
    },
    /** Lists unopened links, oldest first. */
    async list(tenant: string): Promise<LoginLink[]> {
      const links = await linksOf(tenant).prune(isOver);
      return [...links.values()].sort((one, other) => one.madeAt - other.madeAt);
    },
  };
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url');
}
