import type { Caller } from './call.ts';
import { type GraphError, throttled } from './errors.ts';
import type { Mailbox, World } from './world.ts';

/** When requests came within the last `lengthMs`, exactly. */
class SlidingWindow {
  #times: number[] = [];
  #first = 0;

  /** Notes a request and says how many the window now holds, and when its oldest came. */
  note(now: number, lengthMs: number): { count: number; oldest: number } {
    this.#times.push(now);
    while (this.#times[this.#first]! <= now - lengthMs) {
      this.#first += 1;
    }
    if (this.#first > 1000) {
      this.#times = this.#times.slice(this.#first);
      this.#first = 0;
    }
    return { count: this.#times.length - this.#first, oldest: this.#times[this.#first]! };
  }
}

/** The limits of one application at one mailbox (concepts/throttling-limits, Outlook). */
export class Throttling {
  readonly #world: World;
  readonly #windows = new Map<string, SlidingWindow>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Counts a request; refused ones count too. Throws GraphError 429 ApplicationThrottled above the limit. */
  spend(caller: Caller, mailbox: Mailbox): void {
    const { requestsPerWindow, windowMs } = this.#world.settings;
    const key = `${caller.clientId} ${mailbox.id}`;
    const window = this.#windows.get(key) ?? new SlidingWindow();
    this.#windows.set(key, window);
    const now = this.#world.now();
    const { count, oldest } = window.note(now, windowMs);
    if (count > requestsPerWindow) {
      this.#world.counts.add('throttled');
      const waitMs = oldest + windowMs - now;
      throw throttled('Application is over its request limit for this mailbox.', Math.max(1, Math.ceil(waitMs / 1000)));
    }
  }

  /** Takes one of the mailbox’s places; a `refusal` when all are taken. `leave` is called once, in either case. */
  enter(mailbox: Mailbox): { leave: () => void; refusal: GraphError | undefined } {
    const { counts, settings } = this.#world;
    const key = concurrencyKey(mailbox);
    const leave = counts.enter(key);
    if (counts.inFlight(key) <= settings.mailboxConcurrency) {
      return { leave, refusal: undefined };
    }
    counts.add('concurrencyRefusals');
    const refusal = throttled('Application is over its MailboxConcurrency limit.', 1, settings.concurrencyStatus);
    return { leave, refusal };
  }
}

/** The name of a mailbox's in-flight figure. */
export function concurrencyKey(mailbox: Mailbox): string {
  return `mailbox:${mailbox.id}`;
}
