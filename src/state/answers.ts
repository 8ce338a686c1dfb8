import { createHash, randomUUID } from 'node:crypto';
import type { Answer } from '../model/reminders.ts';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { countOne, redisScript } from './script.ts';

const endAnswer = redisScript<number>(import.meta.url, 'answer-end');

/** What an address in a reminder is for: ids alone. */
export interface AnswerLink {
  /** The tenant by the name that its state has. */
  tenant: string;
  reminder: string;
  /** Whose appointment it was when the reminder was written. */
  patientId: string | null;
  /** Proves that with the identity key, so that who can write into Redis alone makes no address. */
  proof: string;
}

/** Addresses in reminders, of all tenants, by a hash of their tokens: who reads Redis can't use them. */
export interface AnswerDirectory {
  put(token: string, link: AnswerLink, lifeMs: number): Promise<void>;
  find(token: string): Promise<AnswerLink | null>;
}

/** Opens the directory. */
export function createAnswerDirectory(redis: RedisClient): AnswerDirectory {
  return {
    async put(token, link, lifeMs) {
      await redis.set(keys.answerLink(hashOf(token)), JSON.stringify(link), 'PX', lifeMs);
    },
    async find(token) {
      const value = await redis.get(keys.answerLink(hashOf(token)));
      return value === null ? null : (JSON.parse(value) as AnswerLink);
    },
  };
}

/** What a tenant's patients answered. */
export interface AnswerStore {
  /**
   * Counts a request of this minute for its reminder, for who makes it, and for the tenant. What one of these limits holds back the next
   * ones don't count: whoever asks too often takes nothing from others.
   * @param caller a name of who makes it that tells nothing
   * @returns false when there were too many
   */
  admit(reminder: string, caller: string, now: Instant): Promise<boolean>;
  /** Lets one request at a time carry an answer out. @returns its key, or null while another one does */
  begin(reminder: string): Promise<string | null>;
  /** Ends that, and keeps the answer, the first one for good; null keeps nothing, so that the link may be used again. */
  end(reminder: string, claim: string, answered: { answer: Answer; at: Instant } | null): Promise<void>;
}

/** Longer than the clinic is waited for. */
const CLAIM_MS = 2 * MINUTE_MS;
const PER_REMINDER = 20;
/** More than a household or a company behind one address asks of one clinic, and a third of what the clinic's patients have together. */
const PER_CALLER = 100;
const PER_TENANT = 300;

/** Opens a tenant's answers; they stand in the ledger. */
export function createAnswerStore(redis: RedisClient, tenant: string): AnswerStore {
  const claimKey = (reminder: string) => keys.answerClaim(tenant, reminder);
  return {
    async admit(reminder, caller, now) {
      const minute = Math.floor(now / MINUTE_MS);
      const limit = (name: string, most: number) => ({ key: keys.answersMinute(tenant, minute, name), most });
      const limits = [limit(reminder, PER_REMINDER), limit(`by-${caller}`, PER_CALLER), limit('all', PER_TENANT)];
      return (await countOne(redis, 2 * MINUTE_MS, limits)).waitMs === null;
    },
    async begin(reminder) {
      const claim = randomUUID();
      return (await redis.set(claimKey(reminder), claim, 'PX', CLAIM_MS, 'NX')) === 'OK' ? claim : null;
    },
    async end(reminder, claim, answered) {
      const facts = [claim, answered?.answer ?? '', answered?.at ?? ''];
      await endAnswer(redis, [keys.reminder(tenant, reminder), claimKey(reminder)], facts);
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
