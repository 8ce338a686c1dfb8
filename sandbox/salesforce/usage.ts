import { ApiError } from './errors.ts';
import type { World } from './world.ts';

const DAY_MS = 86_400_000;

/** The org's API calls of the last 24 hours, including calls of other integrations. */
export class Usage {
  readonly #world: World;
  #spent: { at: number; calls: number }[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * Counts one call. Throws ApiError 403 if the daily limit or the limit of concurrent calls is reached; the refused call is not counted.
   * Both limits have the same error code (github.com/SalesforceLabs/OrgCheck issues 181 and 432).
   */
  spendOne(): void {
    if (this.#world.settings.concurrentCalls <= 0) {
      throw new ApiError(403, 'REQUEST_LIMIT_EXCEEDED', 'ConcurrentRequests (Concurrent API Requests) Limit exceeded.');
    }
    if (this.used() >= this.#world.settings.dailyApiCalls) {
      throw new ApiError(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.');
    }
    this.spend(1);
    this.#world.counts.add('apiCalls');
  }

  /** Adds calls of other integrations. */
  spend(calls: number): void {
    const at = this.#world.now();
    const last = this.#spent.at(-1);
    if (last?.at === at) {
      last.calls += calls;
    } else {
      this.#spent.push({ at, calls });
    }
  }

  used(): number {
    const since = this.#world.now() - DAY_MS;
    this.#spent = this.#spent.filter(({ at }) => at > since);
    return this.#spent.reduce((sum, { calls }) => sum + calls, 0);
  }

  /** Returns the limit header, which every answer carries. */
  header(): Record<string, string> {
    return { 'sforce-limit-info': `api-usage=${this.used()}/${this.#world.settings.dailyApiCalls}` };
  }

  /** Returns the answer of `/limits`, with the limits that the sandbox enforces. */
  limits(): object {
    const { dailyApiCalls } = this.#world.settings;
    return { DailyApiRequests: { Max: dailyApiCalls, Remaining: Math.max(0, dailyApiCalls - this.used()) } };
  }
}
