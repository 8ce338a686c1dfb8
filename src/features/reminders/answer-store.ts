import { createHash, randomUUID } from 'node:crypto';
import { z } from 'zod';
import { clientShares } from '../../core/model/client-shares.ts';
import type { Answer } from '../../core/model/reminders.ts';
import { type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { openPlain } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { countOne, redisScript } from '../../state/script.ts';
import { reminderKeys } from './keys.ts';

const endAnswer = redisScript<number>(import.meta.url, 'answer-end');

const answerLink = z.object({
  /** Tenant, by the name in its state. */
  tenant: z.string(),
  reminder: z.string(),
  /** Patient of the appointment when the reminder was written. */
  patientId: z.string().nullable(),
  /** Proof by the identity key, so that an attacker with mere write access to Redis cannot create links. */
  proof: z.string(),
});
/** Subject of an answer link in a reminder: only ids. */
export type AnswerLink = z.infer<typeof answerLink>;

/** Answer links of all tenants, by hashes of their tokens: a reader of Redis cannot use the links. */
export interface AnswerDirectory {
  put(token: string, link: AnswerLink, lifeMs: number): Promise<void>;
  find(token: string): Promise<AnswerLink | null>;
}

export function createAnswerDirectory(redis: RedisClient): AnswerDirectory {
  return {
    async put(token, link, lifeMs) {
      await redis.set(reminderKeys.answerLink(hashOf(token)), JSON.stringify(link), 'PX', lifeMs);
    },
    async find(token) {
      return answerLinkIn(await redis.get(reminderKeys.answerLink(hashOf(token))));
    },
  };
}

/** Returns a stored link; null for none. */
export function answerLinkIn(stored: string | null): AnswerLink | null {
  return openPlain(stored, { owner: '{answers}', kind: 'reminders' }, answerLink);
}

/** Answers of a tenant's patients. */
export interface AnswerStore {
  /**
   * Counts a request in this minute for its reminder, its caller and the tenant. Requests refused by one limit are not counted by the
   * following limits, so that one caller's excess does not affect others.
   * @param caller client of the request
   * @returns false if a limit is exceeded
   */
  admit(reminder: string, caller: string, now: Instant): Promise<boolean>;
  /** Admits one request at a time to process an answer. @returns the request's key, or null while another request is in progress */
  begin(reminder: string): Promise<string | null>;
  /** Ends the processing and stores the answer; the first answer is final. Null stores no answer, so that the link stays usable. */
  end(reminder: string, claim: string, answered: { answer: Answer; at: Instant } | null): Promise<void>;
}

/** Longer than the longest wait for the clinic. */
const CLAIM_MS = 2 * MINUTE_MS;
const PER_REMINDER = 20;
/** More than a household or company behind one IP needs for one clinic, and a third of the limit of all patients of the clinic. */
const PER_CALLER = 100;
const PER_TENANT = 300;

/** Opens a tenant's answers, which are part of the ledger. @param nameOf returns a name that reveals no caller */
export function createAnswerStore(redis: RedisClient, tenant: string, nameOf: (caller: string) => string): AnswerStore {
  const claimKey = (reminder: string) => reminderKeys.answerClaim(tenant, reminder);
  return {
    async admit(reminder, caller, now) {
      const minute = Math.floor(now / MINUTE_MS);
      const limit = (name: string, most: number) => ({ key: reminderKeys.answersMinute(tenant, minute, name), most });
      const ofCaller = clientShares(caller, PER_CALLER).map(({ name, most }) => limit(`by-${nameOf(name)}`, most));
      const limits = [limit(reminder, PER_REMINDER), ...ofCaller, limit('all', PER_TENANT)];
      return (await countOne(redis, 2 * MINUTE_MS, limits)).waitMs === null;
    },
    async begin(reminder) {
      const claim = randomUUID();
      return (await redis.set(claimKey(reminder), claim, 'PX', CLAIM_MS, 'NX')) === 'OK' ? claim : null;
    },
    async end(reminder, claim, answered) {
      const facts = [claim, answered?.answer ?? '', answered?.at ?? ''];
      await endAnswer(redis, [reminderKeys.reminder(tenant, reminder), claimKey(reminder)], facts);
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
