import { hash, randomBytes } from 'node:crypto';
import { type Clock, DAY_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { createSealer, type SealingKey } from './sealing.ts';

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

/** Keeps links by the ticket that stands in them. Those that ended are not there. */
export interface LoginLinks {
  put(ticket: string, link: Omit<LoginLink, 'id'>): Promise<LoginLink>;
  /** Looks, and uses nothing up. */
  find(ticket: string): Promise<LoginLink | null>;
  /** Gives the link once. */
  take(ticket: string): Promise<LoginLink | null>;
  /** Those that nobody has opened, oldest first. */
  list(tenant: string): Promise<LoginLink[]>;
  /** @returns whether it was there */
  withdraw(tenant: string, id: string): Promise<boolean>;
}

/** Longer than any link is good for. */
const TABLE_LIFE_MS = 8 * DAY_MS;

/** Not a tenant's id, which can't hold braces: whose a ticket is is known only once it is open. */
const TICKETS = '{login}';

interface Place {
  tenant: string;
  id: string;
}

/**
 * Opens the links of all tenants. A ticket, of which a hash is kept, tells where its link stands; the link stands with its tenant, and whoever
 * takes it out there, by opening or withdrawing it, is the only one.
 */
export function createLoginLinks(redis: RedisClient, ring: readonly SealingKey[], clock: Clock): LoginLinks {
  const tickets = createSealer(ring, TICKETS);
  const tableOf = (tenant: string) => ({ table: keys.loginLinks(tenant), sealer: createSealer(ring, tenant) });
  const ticketKey = (ticket: string) => keys.loginLink(hash('sha256', ticket, 'base64url'));

  function opened({ tenant, id }: Place, sealed: string | null): LoginLink | null {
    if (sealed === null) return null;
    const { table, sealer } = tableOf(tenant);
    const link = JSON.parse(sealer.open(sealed, `${table} ${id}`)) as LoginLink;
    return clock() < link.endsAt ? link : null;
  }

  async function placeOf(ticket: string): Promise<Place | null> {
    const key = ticketKey(ticket);
    const sealed = await redis.get(key);
    return sealed === null ? null : (JSON.parse(tickets.open(sealed, key)) as Place);
  }

  return {
    async put(ticket, made) {
      const link: LoginLink = { ...made, id: randomBytes(6).toString('hex') };
      const { tenant, id, endsAt } = link;
      const { table, sealer } = tableOf(tenant);
      await redis.hset(table, id, sealer.seal(JSON.stringify(link), `${table} ${id}`));
      await redis.pexpire(table, TABLE_LIFE_MS);
      const key = ticketKey(ticket);
      const place: Place = { tenant, id };
      await redis.set(key, tickets.seal(JSON.stringify(place), key), 'PX', Math.max(1, endsAt - clock()));
      return link;
    },
    async find(ticket) {
      const place = await placeOf(ticket);
      return place === null ? null : opened(place, await redis.hget(keys.loginLinks(place.tenant), place.id));
    },
    async take(ticket) {
      const place = await placeOf(ticket);
      if (place === null) return null;
      const table = keys.loginLinks(place.tenant);
      const link = opened(place, await redis.hget(table, place.id));
      // One that was opened or withdrawn meanwhile is not there any more.
      return (await redis.hdel(table, place.id)) === 1 ? link : null;
    },
    async list(tenant) {
      const all = Object.entries(await redis.hgetall(keys.loginLinks(tenant)));
      const links = all.map(([id, sealed]) => ({ id, link: opened({ tenant, id }, sealed) }));
      const over = links.filter(({ link }) => link === null).map(({ id }) => id);
      if (over.length > 0) await redis.hdel(keys.loginLinks(tenant), ...over);
      return links.flatMap(({ link }) => link ?? []).sort((one, other) => one.madeAt - other.madeAt);
    },
    withdraw: async (tenant, id) => (await redis.hdel(keys.loginLinks(tenant), id)) === 1,
  };
}
