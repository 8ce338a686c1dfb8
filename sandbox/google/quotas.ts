import type { Caller } from './call.ts';
import { type ApiError, rateLimited } from './errors.ts';
import type { World } from './world.ts';

const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

/** The units spent within the last `lengthMs`, exactly. */
class SlidingWindow {
  readonly #lengthMs: number;
  #spent: { at: number; units: number }[] = [];
  #first = 0;
  #sum = 0;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  sum(now: number): number {
    while (this.#first < this.#spent.length && this.#spent[this.#first]!.at <= now - this.#lengthMs) {
      this.#sum -= this.#spent[this.#first]!.units;
      this.#first += 1;
    }
    if (this.#first > 1000) {
      this.#spent = this.#spent.slice(this.#first);
      this.#first = 0;
    }
    return this.#sum;
  }

  spend(now: number, units: number): void {
    this.#spent.push({ at: now, units });
    this.#sum += units;
  }
}

/** The two quota layers of the API and the write limit of one calendar, in sliding windows. */
export class Quotas {
  readonly #world: World;
  readonly #windows = new Map<string, SlidingWindow>();

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Charges units to the project's and the user's minute, both or none. Accepted units are added to the counts.
   * @throws ApiError rateLimitExceeded or userRateLimitExceeded
   */
  spend(caller: Caller, quotaUser: string | undefined, units: number): void {
    const { quotaPerProjectPerMinute, quotaPerUserPerMinute } = this.#world.settings;
    const user = caller.serviceAccount === undefined ? caller.account : (quotaUser ?? caller.serviceAccount);
    const ofProject = this.#window(`project ${caller.project}`, MINUTE_MS);
    const ofUser = this.#window(`user ${caller.project} ${user}`, MINUTE_MS);
    const now = this.#world.now();
    if (ofProject.sum(now) + units > quotaPerProjectPerMinute) {
      throw this.#refusal('rateLimitExceeded');
    }
    if (ofUser.sum(now) + units > quotaPerUserPerMinute) {
      throw this.#refusal('userRateLimitExceeded');
    }
    ofProject.spend(now, units);
    ofUser.spend(now, units);
    this.#world.counts.add('quotaUnits', units);
    this.#world.counts.add(`quotaUnits:${user}`, units);
  }

  /** Notes one write to a calendar. Throws ApiError rateLimitExceeded when writes come too fast. */
  write(calendarId: string): void {
    const limit = this.#world.settings.calendarWritesPerSecond;
    if (limit === Number.POSITIVE_INFINITY) {
      return;
    }
    const window = this.#window(`writes ${calendarId}`, SECOND_MS);
    const now = this.#world.now();
    if (window.sum(now) + 1 > limit) {
      throw this.#refusal('rateLimitExceeded');
    }
    window.spend(now, 1);
  }

  #refusal(reason: 'rateLimitExceeded' | 'userRateLimitExceeded'): ApiError {
    this.#world.counts.add('quotaRefusals');
    return rateLimited(reason, this.#world.settings.rateLimitStatus);
  }

  #window(key: string, lengthMs: number): SlidingWindow {
    let window = this.#windows.get(key);
    if (!window) {
      window = new SlidingWindow(lengthMs);
      this.#windows.set(key, window);
    }
    return window;
  }
}
