import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ActFacts, ActVerb, Principal } from '../model/acts.ts';
import { derivedKey } from '../model/derived-key.ts';
import type { Clock, Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** What one person wants and a second one has to want too. */
export interface ApprovalRequest {
  /** Keyed digest of what exactly is wanted: asked for anew, it is the same. */
  id: string;
  verb: ActVerb;
  what: ActFacts;
  by: Principal;
  at: Instant;
  expiresAt: Instant;
}

/** Requests of one tenant that wait for a second person. */
export interface ApprovalStore {
  /** Those that have not expired and are as they were written, oldest first. */
  list(): Promise<ApprovalRequest[]>;
  /** Keeps a request; one for the same stays as it is. */
  put(request: ApprovalRequest): Promise<void>;
  /** Ends a request. @returns whether it was still there: of several who take it, one has it */
  take(id: string): Promise<boolean>;
}

const MAC_LENGTH = 43;

/** Opens the requests of a tenant. A request has a MAC: who can write into Redis alone can't stand for the first person. */
export function createApprovalStore(
  redis: RedisClient,
  tenant: string,
  identityKey: Uint8Array,
  clock: Clock,
): ApprovalStore {
  const key = derivedKey(identityKey, tenant, 'approvals');
  const table = keys.approvals(tenant);
  const macOf = (id: string, text: string) => createHmac('sha256', key()).update(`${id} ${text}`).digest('base64url');

  function genuine(id: string, stored: string): ApprovalRequest | null {
    const [mac, text] = [Buffer.from(stored.slice(0, MAC_LENGTH)), stored.slice(MAC_LENGTH)];
    const expected = Buffer.from(macOf(id, text));
    if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return null;
    return JSON.parse(text) as ApprovalRequest;
  }

  async function list(): Promise<ApprovalRequest[]> {
    const found = Object.entries(await redis.hgetall(table)).map(([id, stored]) => ({
      id,
      request: genuine(id, stored),
    }));
    const now = clock();
    const over = found.filter(({ request }) => request === null || request.expiresAt <= now).map(({ id }) => id);
    if (over.length > 0) await redis.hdel(table, ...over);
    return found
      .flatMap(({ id, request }) => (request === null || over.includes(id) ? [] : request))
      .sort((one, other) => one.at - other.at);
  }

  return {
    list,
    async put(request) {
      const text = JSON.stringify(request);
      await redis.hsetnx(table, request.id, macOf(request.id, text) + text);
    },
    take: async (id) => (await redis.hdel(table, id)) === 1,
  };
}
