import type { Caller } from './caller.ts';
import { HubSpotError } from './errors.ts';
import type { ObjectType } from './object-types.ts';
import type { World } from './world.ts';

const TEN_SECONDS_MS = 10_000;
const SECOND_MS = 1000;
/** Duration of a lock after fast upserts (developers.hubspot.com, error handling, 423). */
const LOCK_MS = 2000;

/** Limits of the account: calls per ten seconds and per day, searches, locks and migrations. */
export class Limits {
  readonly #world: World;
  /** Times of calls, by the group of callers that shares a limit. */
  readonly #calls = new Map<string, number[]>();
  readonly #days = new Map<string, { day: string; used: number }>();
  /** Cached, because creating one takes longer than the rest of a call. */
  readonly #datesIn = new Map<string, Intl.DateTimeFormat>();
  readonly #lockedUntil = new Map<string, number>();
  readonly #rows = new Map<string, { at: number; rows: number }[]>();
  #migratesUntil = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Counts a call. Returns the headers of its answer. Throws HubSpotError 429 or 477. */
  spend(caller: Caller, isSearch: boolean): Record<string, string> {
    const { settings, counts } = this.#world;
    const now = this.#world.now();
    if (this.#migratesUntil > now) {
      const seconds = String(Math.ceil((this.#migratesUntil - now) / SECOND_MS));
      const message = 'This account is being moved to another data hosting location.';
      throw new HubSpotError(477, 'MIGRATION_IN_PROGRESS', message, { headers: { 'retry-after': seconds } });
    }
    if (isSearch && this.#windowOf('search', SECOND_MS).length >= settings.searchesPerSecond) {
      counts.add('throttled');
      throw this.#tooMany('SECONDLY', 'You have reached your secondly limit.', SECOND_MS);
    }
    const isOAuth = caller.kind === 'oauth';
    const most = isOAuth ? settings.tenSecondlyOAuth : settings.tenSecondlyPrivate;
    const window = this.#windowOf(`${caller.kind} ${caller.clientId}`, TEN_SECONDS_MS);
    const daily = isOAuth ? settings.dailyOAuth : settings.dailyPrivate;
    const day = this.#dayOf(caller.kind);
    if (day.used >= daily) {
      counts.add('throttledDaily');
      throw this.#tooMany('DAILY', 'You have reached your daily limit.', undefined);
    }
    if (window.length >= most) {
      counts.add('throttled');
      const waitMs = (window[0] ?? now) + TEN_SECONDS_MS - now;
      throw this.#tooMany('TEN_SECONDLY_ROLLING', 'You have reached your ten_secondly_rolling limit.', waitMs);
    }
    window.push(now);
    day.used += 1;
    if (isSearch) {
      this.#windowOf('search', SECOND_MS).push(now);
      return {};
    }
    return {
      'x-hubspot-ratelimit-max': String(most),
      'x-hubspot-ratelimit-remaining': String(most - window.length),
      'x-hubspot-ratelimit-interval-milliseconds': String(TEN_SECONDS_MS),
      ...(isOAuth
        ? {}
        : {
            'x-hubspot-ratelimit-daily': String(daily),
            'x-hubspot-ratelimit-daily-remaining': String(daily - day.used),
          }),
    };
  }

  /** Counts rows of an upsert. Throws HubSpotError 423 while the object type is locked. */
  spendRows(type: ObjectType, rows: number): void {
    const now = this.#world.now();
    if ((this.#lockedUntil.get(type.name) ?? 0) > now) {
      this.#world.counts.add('locked');
      throw new HubSpotError(423, undefined, 'This resource is locked because of too many writes at once.');
    }
    const recent = (this.#rows.get(type.name) ?? []).filter(({ at }) => at > now - SECOND_MS);
    recent.push({ at: now, rows });
    this.#rows.set(type.name, recent);
    if (recent.reduce((total, each) => total + each.rows, 0) > this.#world.settings.rowsBeforeLock) {
      this.lock(type, LOCK_MS);
    }
  }

  /** Answers 423 to upserts of an object type for `lengthMs`. */
  lock(type: ObjectType, lengthMs: number): void {
    this.#lockedUntil.set(type.name, this.#world.now() + lengthMs);
  }

  /** Answers 477 to every call for `lengthMs`. */
  migrate(lengthMs: number): void {
    this.#migratesUntil = this.#world.now() + lengthMs;
  }

  #tooMany(policyName: string, message: string, waitMs: number | undefined): HubSpotError {
    const seconds = String(Math.max(1, Math.ceil((waitMs ?? SECOND_MS) / SECOND_MS)));
    return new HubSpotError(429, 'RATE_LIMITS', message, {
      fields: { errorType: 'RATE_LIMIT', policyName },
      ...(this.#world.settings.retryAfterOn429 && waitMs !== undefined ? { headers: { 'retry-after': seconds } } : {}),
    });
  }

  /** Returns the times of the calls of the last `lengthMs`. */
  #windowOf(key: string, lengthMs: number): number[] {
    const oldest = this.#world.now() - lengthMs;
    const times = this.#calls.get(key) ?? [];
    const gone = times.findIndex((at) => at > oldest);
    times.splice(0, gone === -1 ? times.length : gone);
    this.#calls.set(key, times);
    return times;
  }

  /** All private apps of an account share one daily limit. */
  #dayOf(kind: Caller['kind']): { day: string; used: number } {
    const { timeZone } = this.#world.settings;
    const dates = this.#datesIn.get(timeZone) ?? new Intl.DateTimeFormat('en-CA', { timeZone });
    this.#datesIn.set(timeZone, dates);
    const day = dates.format(this.#world.now());
    const found = this.#days.get(kind);
    const current = found?.day === day ? found : { day, used: 0 };
    this.#days.set(kind, current);
    return current;
  }
}
