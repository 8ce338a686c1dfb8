import type { Instant } from '../../model/time.ts';
import { Mutex } from '../mutex.ts';
import { errors } from './errors.ts';
import { ADDRESS_RENEWAL_MS, API_LIMIT_PAUSE_MS, USED_UP_SHARE } from './limits.ts';

/** What all targets in one org share, whichever login leads there: they take turns, and know its count of API calls. */
export class Org {
  #usage: { share: number; at: Instant } | null = null;
  #addressSoughtAt: Instant | null = null;

  /** Writes that overlap would lock each other's parents out. */
  readonly turns = new Mutex();

  /** Takes note of the org's count in `Sforce-Limit-Info` (REST API Developer Guide, Limit Info Header). */
  noteUsage(headers: Headers, now: Instant): void {
    const [, used, limit] = /(?:^|[;,\s])api-usage=(\d+)\/(\d+)/.exec(headers.get('sforce-limit-info') ?? '') ?? [];
    if (used !== undefined && Number(limit) > 0) this.#usage = { share: Number(used) / Number(limit), at: now };
  }

  /**
   * Whether another call may be made. What was told an hour ago counts no more: a call then finds out.
   * @throws MirrorError `remote`, code `api-limit-near`, with the rest to keep
   */
  requireCalls(stopAtShare: number, now: Instant): void {
    if (this.#usage === null || now - this.#usage.at >= API_LIMIT_PAUSE_MS) return;
    if (this.#usage.share >= stopAtShare)
      throw errors.make('api-limit-near', { names: [`${Math.floor(stopAtShare * 100)} %`] });
  }

  /** Whether the API calls of 24 hours are nearly all used, as far as the org told in the last hour. */
  isUsedUp(now: Instant): boolean {
    return this.#usage !== null && now - this.#usage.at < API_LIMIT_PAUSE_MS && this.#usage.share >= USED_UP_SHARE;
  }

  /** Whether the login may be asked for another address, since the known one does not answer. */
  maySeekAddress(now: Instant): boolean {
    if (this.#addressSoughtAt !== null && now - this.#addressSoughtAt < ADDRESS_RENEWAL_MS) return false;
    this.#addressSoughtAt = now;
    return true;
  }
}
