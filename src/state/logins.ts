import { hash, randomBytes } from 'node:crypto';
import { type Clock, DAY_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { createSealer, type Sealer, type SealingKey, sealedTable, sealedValue } from './sealing.ts';

/** How long a person has to finish a login (RFC 6819 section 5.1.5.3: state and codes live shortly). */
const LOGIN_TTL_MS = 10 * MINUTE_MS;

/** Not a tenant's id, which can't hold braces: which tenant a login or a ticket belongs to is known only once it is open. */
const NO_TENANT = '{login}';

/** Logins that persons have begun and not finished, by their state, or links to begin them. `Login` is plain data. */
export type LoginStore<Login> = ReturnType<typeof createLoginStore<Login>>;

/**
 * Opens the store of logins under way, of all tenants. A login is sealed, since it holds the code verifier; the key's name
 * holds a hash of the state, so that reading the names of Redis' keys doesn't let one finish somebody's login.
 * @param keyOf the key of a hash: what one store holds opens in no other
 */
export function createLoginStore<Login>(
  redis: RedisClient,
  ring: readonly SealingKey[],
  keyOf: (hash: string) => string = keys.login,
) {
  const options = { redis, sealer: createSealer(ring, NO_TENANT), throwsForged: true };
  const loginOf = (state: string) => sealedValue<Login>(keyOf(digestOf(state)), options);
  return {
    /** @param lifeMs default: ten minutes */
    put: (state: string, login: Login, lifeMs = LOGIN_TTL_MS) => loginOf(state).setFor(lifeMs, login),
    /** Returns the login without consuming it, or null as `take`. */
    find: (state: string) => loginOf(state).get(),
    /** Gives the login once; null when it is unknown, too old or was taken before. */
    take: (state: string) => loginOf(state).take(),
  };
}

/** A link by which a person begins a login in a browser anywhere, once. */
export interface LoginLink {
  /** Names it to those who made it; it opens nothing. */
  id: string;
  tenant: string;
  connection: string;
  /** Who made it, as the system calls them. */
  by: string;
  madeAt: Instant;
  endsAt: Instant;
}

/** Longer than any link is good for. */
const TABLE_LIFE_MS = 8 * DAY_MS;

/** Keeps links by the ticket that stands in them. Those that ended are not there. */
export type LoginLinks = ReturnType<typeof createLoginLinks>;

/**
 * Opens the links of all tenants. A ticket, of which a hash is kept, tells where its link stands; the link stands with its tenant, and whoever
 * takes it out there, by opening or withdrawing it, is the only one.
 */
export function createLoginLinks(redis: RedisClient, ring: readonly SealingKey[], clock: Clock) {
  const tickets = { redis, sealer: createSealer(ring, NO_TENANT), throwsForged: true };
  const ticketOf = (ticket: string) =>
    sealedValue<Pick<LoginLink, 'tenant' | 'id'>>(keys.loginLink(digestOf(ticket)), tickets);
  const linksOf = (tenant: string) =>
    sealedTable<LoginLink>(keys.loginLinks(tenant), { redis, sealer: createSealer(ring, tenant), throwsForged: true });
  const isOver = ({ endsAt }: LoginLink) => endsAt <= clock();

  /** Returns the link without consuming it. */
  async function find(ticket: string): Promise<LoginLink | null> {
    const found = await ticketOf(ticket).get();
    const link = found === null ? null : await linksOf(found.tenant).get(found.id);
    return link === null || isOver(link) ? null : link;
  }

  /** @returns whether it was there */
  const withdraw = async (tenant: string, id: string) => (await linksOf(tenant).remove([id])) === 1;

  return {
    find,
    withdraw,
    async put(ticket: string, made: Omit<LoginLink, 'id'>): Promise<LoginLink> {
      const link: LoginLink = { ...made, id: randomBytes(6).toString('hex') };
      const { tenant, id, endsAt } = link;
      await linksOf(tenant).set(id, link);
      await redis.pexpire(keys.loginLinks(tenant), TABLE_LIFE_MS);
      await ticketOf(ticket).setFor(Math.max(1, endsAt - clock()), { tenant, id });
      return link;
    },
    /** Gives the link once. */
    async take(ticket: string): Promise<LoginLink | null> {
      const link = await find(ticket);
      // One that was opened or withdrawn meanwhile is not there any more.
      return link !== null && (await withdraw(link.tenant, link.id)) ? link : null;
    },
    /** Those that nobody has opened, oldest first. */
    async list(tenant: string): Promise<LoginLink[]> {
      const links = await linksOf(tenant).prune(isOver);
      return [...links.values()].sort((one, other) => one.madeAt - other.madeAt);
    },
  };
}

/**
 * Opens the binding of a tenant to the clinic's own id of it: set by its first login or cycle, then the only one that it works in.
 * @param sealer seals with the identity key, so that nobody who can write into Redis alone has another clinic's appointments read
 */
export function createClinicTenantStore(redis: RedisClient, tenant: string, sealer: Sealer) {
  const bound = sealedValue<string>(keys.clinicTenant(tenant), { redis, sealer });
  return {
    /** Null before the first time, and where what stands there was not put in by us. */
    read: bound.get,
    /**
     * Binds to a tenant.
     * @param replace the operator chose it; else what another process was bound to meanwhile stays
     * @returns the one that is bound to now
     */
    async bind(id: string, replace: boolean): Promise<string> {
      for (;;) {
        const { value, sealed } = await bound.read();
        if (value !== null && !replace) return value;
        if (await bound.replace(sealed, id)) return id;
      }
    },
  };
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url');
}
