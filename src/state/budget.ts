import { randomUUID } from 'node:crypto';
import { message } from '../messages/message.ts';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT } from '../model/backoff.ts';
import { MirrorError } from '../model/errors.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import { pauseFor, type RedisClient } from './redis.ts';
import { redisScript, scoresOf } from './script.ts';

const scripts = {
  take: redisScript<[waitMs: number, isPause: number, isTrial: number, ahead: number]>(import.meta.url, 'budget-take'),
  refused: redisScript<null>(import.meta.url, 'budget-refused'),
  accepted: redisScript<null>(import.meta.url, 'budget-accepted'),
  pause: redisScript<[ownMs: number, ofAllMs: number, lastedMs: number]>(import.meta.url, 'budget-pause'),
};

/** What an application may ask of a server. */
export interface BudgetLimits {
  requestsPerMinute: number;
  /** Requests that may come at once after a quiet time. */
  burst: number;
}

/** Work that a person waits for goes ahead of work that nobody waits for. */
export type Priority = 'interactive' | 'background';

/** One participant's access to a shared budget; fits `Budget` of the HTTP client. */
export interface BudgetShare {
  take(signal: AbortSignal, units?: number): Promise<void>;
  refused(durationMs: number | null): Promise<void>;
  accepted(): Promise<void>;
  /** Returns the pause that keeps the participant from asking; null for none. */
  pause(): Promise<BudgetPause | null>;
}

/** A pause after a refusal for haste. */
export interface BudgetPause {
  /** Until one request is tried. */
  remainingMs: number;
  /** Since the first of the refusals in a row; 0 where that is not known. */
  lastedMs: number;
  /** Whether every participant of the budget waits. */
  isOfAll: boolean;
}

/** How a participant waits. */
export interface BudgetWaiting {
  pauseWaitMs?: number | undefined;
  whileInLine?: (<Answer>(wait: () => Promise<Answer>) => Promise<Answer>) | undefined;
}

/** A person is told rather than kept waiting for longer. */
const LONGEST_INTERACTIVE_WAIT_MS = 30 * SECOND_MS;
/** A pause that the other side asked for is sat through up to this long, unless told; a longer one is a job that comes back. */
const PAUSE_WAIT_MS = 30 * SECOND_MS;
/** Whatever the other side asks for, one request is tried after this time. */
export const LONGEST_PAUSE_MS = LONGEST_RATE_LIMIT_WAIT_MS;
/** So many participants refused within this time: it is said of all. */
const SEVERAL = 3;
const SHORT_TIME_MS = MINUTE_MS;
/** A trial that nobody answered, as of a process that died, is made by another after this time. */
const TRIAL_MS = 30 * SECOND_MS;
/** A waiter that hasn't asked again for this long is dead. */
const TICKET_LIFE_MS = 10 * SECOND_MS;
/** Somebody ahead may give up: a waiter looks again after this time, or a quarter of its wait. */
const LOOK_EVERY_MS = SECOND_MS;
/**
 * What a request takes from its grant to the server may be longer for one than for another by this much. The server counts what comes
 * within a minute of its own: what was granted in a little more than that may come in it.
 */
const WAY_VARIES_MS = SECOND_MS;
const UNNAMED = [UNNAMED_WAIT.firstMs, UNNAMED_WAIT.longestMs, UNNAMED_WAIT.growth];
const TIMES = [TICKET_LIFE_MS, TRIAL_MS, LOOK_EVERY_MS, LONGEST_PAUSE_MS];
/**
 * Units that are granted for the requests which are likely to follow: a list is asked for page by page. They hold for this long, which counts as
 * a part of their way.
 */
const MOST_AHEAD = 3;
const AHEAD_MS = SECOND_MS / 2;
/** Part of the burst that background work leaves for a person who waits. */
const RESERVED_SHARE = 0.1;

/** Who draws from which budget, and how urgently. */
export interface BudgetDraw {
  /** Names the budget: the application's client id. */
  budget: string;
  /** Names who draws: the tenant. */
  participant: string;
  limits: BudgetLimits;
  priority: Priority;
}

/**
 * Opens one participant's share of a budget that all tenants and replicas of one application draw from. A wait has a place of its own:
 * whoever asks later goes later, but for those who had less than their share. Background work waits for its place as long as its signal
 * lets it; a person is told when it takes more than half a minute.
 * @param options.pauseWaitMs the longest pause that is sat through, for work that would have to begin from its start again
 * @param options.whileInLine does the waiting where there is any, once for each time that something is taken
 */
export function openBudgetShare(
  redis: RedisClient,
  { budget, participant, limits, priority }: BudgetDraw,
  { pauseWaitMs = PAUSE_WAIT_MS, whileInLine = (wait) => wait() }: BudgetWaiting = {},
): BudgetShare {
  const budgetKeys = keys.budget(budget);
  const all = [budgetKeys.budget, budgetKeys.waiting, budgetKeys.shares, budgetKeys.refused];
  const intervalMs = intervalOf(limits);
  const reserved = priority === 'interactive' ? 0 : Math.floor(limits.burst * RESERVED_SHARE);
  const longestPauseMs = priority === 'interactive' ? Math.min(pauseWaitMs, LONGEST_INTERACTIVE_WAIT_MS) : pauseWaitMs;
  const ahead = new Ahead();
  let isOnTrial = false;

  async function ask(ticket: string, units: number): Promise<Answer> {
    const { next, unused, sentAt } = ahead.question();
    const input = [participant, ticket, priority, intervalMs, limits.burst, reserved, units, ...TIMES, next, unused];
    const answer = answerOf(await scripts.take(redis, [...all, budgetKeys.used], input));
    if (answer.waitMs === 0) ahead.granted(answer.ahead, { unused, sentAt });
    return answer;
  }

  /** @param first what was answered to the first question */
  async function untilGranted(first: Answer, ticket: string, units: number, signal: AbortSignal): Promise<Answer> {
    const startedAt = performance.now();
    let answer = first;
    while (answer.waitMs > 0) {
      const { waitMs, isPause } = answer;
      if (isPause && waitMs > longestPauseMs) throw paused(waitMs);
      const waitedMs = performance.now() - startedAt;
      if (priority === 'interactive' && waitedMs + waitMs > LONGEST_INTERACTIVE_WAIT_MS) throw exhausted(waitMs);
      await pauseFor(Math.min(waitMs, Math.max(LOOK_EVERY_MS, waitMs / 4)), signal);
      answer = await ask(ticket, units);
    }
    return answer;
  }

  return {
    async take(signal, units = 1) {
      if (units === 1 && ahead.use()) return;
      const ticket = randomUUID();
      // More than fits at once is taken as what fits: it could never be had otherwise.
      const taken = Math.max(1, Math.min(units, limits.burst - reserved));
      try {
        const first = await ask(ticket, taken);
        const isAtOnce = first.waitMs === 0;
        const granted = isAtOnce ? first : await whileInLine(() => untilGranted(first, ticket, taken, signal));
        isOnTrial ||= granted.isTrial;
      } catch (error) {
        // The place is free at once; where Redis is away it is in a little while.
        await redis.hdel(budgetKeys.waiting, ticket).catch(() => {});
        throw error;
      }
    },
    async refused(durationMs) {
      ahead.drop();
      isOnTrial = false;
      const pauseMs = durationMs === null ? '' : Math.min(durationMs, LONGEST_PAUSE_MS);
      await scripts.refused(redis, all, [participant, pauseMs, SEVERAL, SHORT_TIME_MS, ...UNNAMED]);
    },
    async accepted() {
      if (!isOnTrial) return;
      isOnTrial = false;
      await scripts.accepted(redis, all, [participant]);
    },
    pause: () => readPause(redis, budgetKeys.budget, participant),
  };
}

async function readPause(redis: RedisClient, budget: string, participant: string): Promise<BudgetPause | null> {
  const [own, ofAll, lastedMs] = await scripts.pause(redis, [budget], [participant, LONGEST_PAUSE_MS]);
  const remainingMs = Math.max(own, ofAll);
  return remainingMs === 0 ? null : { remainingMs, lastedMs, isOfAll: ofAll > own };
}

/** Grants for requests that are likely to follow at once: as many as have followed so far, up to a few. */
class Ahead {
  #units = 0;
  #untilAt = 0;
  /** How many were granted by the last question. */
  #last = 0;
  /** Granted and not used in time. */
  #unused = 0;

  /** @returns whether there was one */
  use(): boolean {
    if (performance.now() >= this.#untilAt) this.drop();
    if (this.#units === 0) return false;
    this.#units -= 1;
    return true;
  }

  /** What the next question asks for beside, and how many of before were not used. */
  question(): { next: number; unused: number; sentAt: number } {
    const sentAt = performance.now();
    const isFollowing = sentAt < this.#untilAt && this.#units === 0;
    this.drop();
    return { next: isFollowing ? Math.min(2 * this.#last + 1, MOST_AHEAD) : 0, unused: this.#unused, sentAt };
  }

  granted(units: number, { unused, sentAt }: { unused: number; sentAt: number }): void {
    this.#unused -= unused;
    this.#last = units;
    this.#units += units;
    // The server's grant is no older than the question, however late its answer is read.
    this.#untilAt = sentAt + AHEAD_MS;
  }

  drop(): void {
    this.#unused += this.#units;
    this.#units = 0;
  }
}

/** The rate at which no minute of the server's has one more than `requestsPerMinute` and `burst`, whichever way its requests took. */
function intervalOf({ requestsPerMinute }: BudgetLimits): number {
  return Math.max(MINUTE_MS / requestsPerMinute, (MINUTE_MS + WAY_VARIES_MS + AHEAD_MS) / (requestsPerMinute + 1));
}

interface Answer {
  waitMs: number;
  isPause: boolean;
  isTrial: boolean;
  /** Units that were granted beside. */
  ahead: number;
}

function answerOf([waitMs, isPause, isTrial, ahead]: readonly [number, number, number, number]): Answer {
  return { waitMs, isPause: isPause === 1, isTrial: isTrial === 1, ahead };
}

function exhausted(waitMs: number): MirrorError {
  return new MirrorError(message('budget-exhausted'), {
    actor: 'remote',
    code: 'budget-exhausted',
    retry: 'later',
    retryAfterMs: waitMs,
    remedy: message('budget-exhausted.remedy', { time: inWords(waitMs) }),
  });
}

function paused(waitMs: number): MirrorError {
  return new MirrorError(message('budget-paused'), {
    actor: 'remote',
    code: 'budget-paused',
    retry: 'later',
    retryAfterMs: waitMs,
    remedy: message('budget-paused.remedy', { time: inWords(waitMs) }),
  });
}

function inWords(durationMs: number): string {
  const seconds = Math.ceil(durationMs / SECOND_MS);
  return seconds <= 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

const readUse = redisScript<[now: number, counts: string[]]>(import.meta.url, 'budget-use');

/** Units that were granted of a budget. */
export interface BudgetUse {
  /** In the last hour. */
  lastHour: number;
  /** In the last 24 hours, by participant. */
  lastDay: ReadonlyMap<string, number>;
}

/** Returns the units granted of a budget, by the clock of Redis that they were counted by. */
export async function readBudgetUse(redis: RedisClient, budget: string): Promise<BudgetUse> {
  const [now, counts] = await readUse(redis, [keys.budget(budget).used]);
  return budgetUse(scoresOf(counts), now);
}

/**
 * Units are counted by hours and days of the clock, so that of the one that has begun and the one before is taken as much as would fill
 * the whole, as if they were spread evenly over it.
 */
export function budgetUse(counts: Iterable<readonly [field: string, units: number]>, now: Instant): BudgetUse {
  const lastDay = new Map<string, number>();
  let lastHour = 0;
  for (const [field, units] of counts) {
    const [, kind, number = '', who = ''] = /^(hour|day):(\d+)(?::(.+))?$/.exec(field) ?? [];
    const counted = units * shareWithin(Number(number), kind === 'hour' ? HOUR_MS : DAY_MS, now);
    if (kind === 'hour') lastHour += counted;
    if (kind === 'day') lastDay.set(who, (lastDay.get(who) ?? 0) + counted);
  }
  return { lastHour, lastDay };
}

/** How much of a span of the clock lies within the last such time. */
function shareWithin(number: number, spanMs: number, now: Instant): number {
  const current = Math.floor(now / spanMs);
  if (number === current) return 1;
  return number === current - 1 ? 1 - (now % spanMs) / spanMs : 0;
}
