import { randomUUID } from 'node:crypto';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT } from '../core/model/backoff.ts';
import { MirrorError } from '../core/model/errors.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { keys } from './keys.ts';
import { pauseFor, type RedisClient } from './redis.ts';
import { redisScript, scoresOf } from './script.ts';

const scripts = {
  take: redisScript<BudgetAnswer>(import.meta.url, 'budget-take'),
  refused: redisScript<null>(import.meta.url, 'budget-refused'),
  accepted: redisScript<null>(import.meta.url, 'budget-accepted'),
  pause: redisScript<[ownMs: number, ofAllMs: number, lastedMs: number]>(import.meta.url, 'budget-pause'),
};

/** Limits of an application at a server. */
export interface BudgetLimits {
  requestsPerMinute: number;
  /** Requests in a burst after an idle time. */
  burst: number;
}

/** Interactive work, with a waiting user, precedes background work. */
export type Priority = 'interactive' | 'background';

/** One participant's access to a shared budget; compatible with `Budget` of the HTTP client. */
export interface BudgetShare {
  take(signal: AbortSignal, units?: number): Promise<void>;
  /** Announces requests that follow soon, of a unit each: the next question asks for all of them. */
  expect(requests: number): void;
  refused(durationMs: number | null): Promise<void>;
  accepted(): Promise<void>;
  /** Returns the pause that blocks the participant, or null. */
  pause(): Promise<BudgetPause | null>;
}

/** Pause after a rate limit refusal. */
export interface BudgetPause {
  /** Time until one trial request. */
  remainingMs: number;
  /** Time since the first of consecutive refusals; 0 if unknown. */
  lastedMs: number;
  /** Whether the pause blocks every participant of the budget. */
  isOfAll: boolean;
}

export interface BudgetWaiting {
  pauseWaitMs?: number | undefined;
  whileInLine?: (<Answer>(wait: () => Promise<Answer>) => Promise<Answer>) | undefined;
}

/** Longest wait of a user before an error is returned. */
const LONGEST_INTERACTIVE_WAIT_MS = 30 * SECOND_MS;
/** Longest pause, requested by the vendor, that work waits for by default; after longer pauses, the job runs again later. */
const PAUSE_WAIT_MS = 30 * SECOND_MS;
/** Time after which one request is tried, even if the vendor requested a longer pause. */
export const LONGEST_PAUSE_MS = LONGEST_RATE_LIMIT_WAIT_MS;
/** Number of refused participants within this time that pauses the whole budget. */
const SEVERAL = 3;
const SHORT_TIME_MS = MINUTE_MS;
/** Time after which another process repeats a trial without result, for example after a crash. */
const TRIAL_MS = 30 * SECOND_MS;
/** Time without a question after which a waiter is considered dead. */
const TICKET_LIFE_MS = 10 * SECOND_MS;
/** Interval for checking the queue: a waiter checks after this time or a quarter of its wait, because earlier waiters may give up. */
const LOOK_EVERY_MS = SECOND_MS;
/**
 * Variation of the time between the grant and the arrival at the server. The server counts requests within its own minute: grants from a
 * slightly longer time may arrive in one minute.
 */
const WAY_VARIES_MS = SECOND_MS;
const UNNAMED = [UNNAMED_WAIT.firstMs, UNNAMED_WAIT.longestMs, UNNAMED_WAIT.growth];
const TIMES = [TICKET_LIFE_MS, TRIAL_MS, LOOK_EVERY_MS, LONGEST_PAUSE_MS];
/**
 * Units granted in advance for likely following requests, because lists are fetched page by page, and for announced ones. A grant is valid
 * for this time, which is part of the transit.
 */
const MOST_AHEAD = 3;
const MOST_ANNOUNCED = 30;
const AHEAD_MS = SECOND_MS / 2;
/** Share of the burst that background work reserves for interactive work. */
const RESERVED_SHARE = 0.1;

/** Participant and priority for a budget. */
export interface BudgetDraw {
  /** Name of the budget: the application's client id. */
  budget: string;
  /** Name of the participant: the tenant. */
  participant: string;
  limits: BudgetLimits;
  priority: Priority;
}

/**
 * Opens one participant's share of a budget for all tenants and replicas of one application. Waiting requests form a queue: later
 * requests wait behind earlier requests, except for participants below their share. Background work waits until its signal aborts;
 * interactive work fails if the wait exceeds half a minute.
 * @param options.pauseWaitMs longest pause for work that would otherwise start from the beginning
 * @param options.whileInLine performs the wait, once per request with a wait
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
  const ahead = new Ahead(intervalMs);
  let isOnTrial = false;

  const ask = (ticket: string, units: number) =>
    ahead.ask(async (next, unused) => {
      const own = [participant, ticket, priority, intervalMs, limits.burst, reserved, units];
      const input = [...own, ...TIMES, next, unused.units, unused.delayMs];
      return answerOf(await scripts.take(redis, [...all, budgetKeys.used], input));
    });

  /** @param first answer to the first question */
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
      if (units === 1 && (ahead.use() || (ahead.isAsking && (await ahead.useAfterAnswer())))) return;
      const ticket = randomUUID();
      // Larger requests are reduced to the burst, because larger grants are impossible.
      const taken = Math.max(1, Math.min(units, limits.burst - reserved));
      try {
        const first = await ask(ticket, taken);
        const isAtOnce = first.waitMs === 0;
        const granted = isAtOnce ? first : await whileInLine(() => untilGranted(first, ticket, taken, signal));
        isOnTrial ||= granted.isTrial;
      } catch (error) {
        // Frees the place immediately; without Redis, the place expires shortly.
        await redis.hdel(budgetKeys.waiting, ticket).catch(() => {});
        throw error;
      }
    },
    expect: (requests) => ahead.expect(requests),
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

/** Granted units that were not used in time. */
interface Unused {
  units: number;
  /** Time by which they still delay the budget's next grants, at most. */
  delayMs: number;
}

/** Advance grants for announced requests, or else for as many as followed each other, up to a limit. */
class Ahead {
  readonly #intervalMs: number;
  #units = 0;
  #untilAt = 0;
  /** Number of grants from the last question. */
  #last = 0;
  /** Announced requests that neither came nor are part of a question. */
  #announced = 0;
  #announcedUntilAt = 0;
  /** Question that asks for announced requests; those wait for its answer. */
  #asking: Promise<unknown> | null = null;
  /** Time at which the budget has its whole burst again if the remaining units of the last grant are not used. */
  #wholeAt = 0;
  /** Granted but not used in time, and not yet part of a question: of several questions at once, one returns the units. */
  #unused = 0;
  /** Time at which the budget would have its whole burst again without them. */
  #wholeWithoutAt = 0;
  /** Units that questions without an answer return. */
  #returning = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  expect(requests: number): void {
    this.#announced = Math.min(requests, MOST_ANNOUNCED);
    this.#announcedUntilAt = performance.now() + AHEAD_MS;
  }

  /** @returns whether a grant was available */
  use(): boolean {
    if (performance.now() >= this.#untilAt) this.drop();
    if (this.#units === 0) return false;
    this.#units -= 1;
    this.#wholeAt += this.#intervalMs;
    this.#announced -= 1;
    return true;
  }

  /** Whether a question that includes announced requests has no answer yet. */
  get isAsking(): boolean {
    return this.#asking !== null;
  }

  /** Waits for the answer to a question that includes announced requests. @returns whether it brought a grant */
  async useAfterAnswer(): Promise<boolean> {
    while (this.#asking !== null) {
      await this.#asking;
      if (this.use()) return true;
    }
    return false;
  }

  /** @param send asks for `next` units in advance and returns `unused` earlier ones */
  async ask(send: (next: number, unused: Unused) => Promise<Answer>): Promise<Answer> {
    const next = this.#likelyNext();
    const asked = this.#ask(send, next.units);
    if (next.isAnnounced) {
      const end = () => {
        this.#asking = null;
      };
      this.#asking = asked.then(end, end);
    }
    return await asked;
  }

  #likelyNext(): { units: number; isAnnounced: boolean } {
    const isFollowing = performance.now() < this.#untilAt && this.#units === 0;
    const announced = performance.now() < this.#announcedUntilAt ? this.#announced - 1 : 0;
    this.#announced = 0;
    if (announced > 0) return { units: announced, isAnnounced: true };
    return { units: isFollowing ? Math.min(2 * this.#last + 1, MOST_AHEAD) : 0, isAnnounced: false };
  }

  async #ask(send: (next: number, unused: Unused) => Promise<Answer>, next: number): Promise<Answer> {
    const sentAt = performance.now();
    this.drop();
    const [units, wholeAt] = [this.#unused, this.#wholeWithoutAt];
    this.#unused = 0;
    this.#returning += units;
    let isCounted = false;
    try {
      const delayMs = units * this.#intervalMs - Math.max(0, sentAt - wholeAt);
      const answer = await send(next, { units, delayMs: Math.max(0, delayMs) });
      isCounted = answer.waitMs === 0;
      if (isCounted) this.#grant(answer, sentAt, this.#returning - units);
      return answer;
    } finally {
      this.#returning -= units;
      if (!isCounted) this.#addUnused(units, wholeAt);
    }
  }

  /** @param returning units that other questions return, and that delay this answer's grants perhaps */
  #grant({ ahead, delayMs }: Answer, sentAt: number, returning: number): void {
    this.#last = ahead;
    this.#wholeAt = sentAt + delayMs + this.#intervalMs * (1 - this.#units - returning);
    this.#units += ahead;
    // The server's grant is never older than the question, even if the answer is read late.
    this.#untilAt = sentAt + AHEAD_MS;
  }

  drop(): void {
    this.#addUnused(this.#units, this.#wholeAt);
    this.#units = 0;
  }

  #addUnused(units: number, wholeAt: number): void {
    if (units === 0) return;
    this.#wholeWithoutAt = this.#unused === 0 ? wholeAt : Math.min(this.#wholeWithoutAt, wholeAt);
    this.#unused += units;
  }
}

/** Rate at which no minute of the server contains more than `requestsPerMinute` plus `burst`, with any transit time. */
function intervalOf({ requestsPerMinute }: BudgetLimits): number {
  return Math.max(MINUTE_MS / requestsPerMinute, (MINUTE_MS + WAY_VARIES_MS + AHEAD_MS) / (requestsPerMinute + 1));
}

interface Answer {
  waitMs: number;
  isPause: boolean;
  isTrial: boolean;
  /** Units granted in advance. */
  ahead: number;
  /** Time by which earlier grants delay the budget. */
  delayMs: number;
}

type BudgetAnswer = [waitMs: number, isPause: number, isTrial: number, ahead: number, delayMs: number];

function answerOf([waitMs, isPause, isTrial, ahead, delayMs]: BudgetAnswer): Answer {
  return { waitMs, isPause: isPause === 1, isTrial: isTrial === 1, ahead, delayMs };
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

/** Granted units of a budget. */
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
 * Estimates the use within the last hour and day. Units are counted per clock hour and day; the previous period is counted in proportion,
 * as if its units were spread evenly.
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

/** Returns the share of a clock period within the last period. */
function shareWithin(number: number, spanMs: number, now: Instant): number {
  const current = Math.floor(now / spanMs);
  if (number === current) return 1;
  return number === current - 1 ? 1 - (now % spanMs) / spanMs : 0;
}
