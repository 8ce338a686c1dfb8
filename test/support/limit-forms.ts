import { HOUR_MS } from '../../src/core/model/time.ts';

export const BEGIN = Date.UTC(2026, 5, 15, 8);
export const LIMIT_MS = 20_000;
const httpDate = (at: number) => new Date(at).toUTCString();
const leftS = (now: number) => Math.max(1, Math.ceil((BEGIN + LIMIT_MS - now) / 1_000));
const epochS = Math.ceil((BEGIN + LIMIT_MS) / 1_000);

/** Headers of a refusal, by the time of the server, whose clock may differ. */
export const FORMS: Record<string, (now: number) => Record<string, string>> = {
  'Retry-After in seconds': (now) => ({ 'retry-after': String(leftS(now)) }),
  'Retry-After in epoch seconds': () => ({ 'retry-after': String(epochS) }),
  'Retry-After in epoch ms': () => ({ 'retry-after': String(epochS * 1_000) }),
  'a date': () => ({ 'retry-after': httpDate(epochS * 1_000) }),
  'a date, clock 3 h ahead': (now) => ahead(now, 3 * HOUR_MS),
  'a date, clock 3 h behind': (now) => ahead(now, -3 * HOUR_MS),
  'Retry-After: 0': () => ({ 'retry-after': '0' }),
  'Retry-After: -1': () => ({ 'retry-after': '-1' }),
  'Retry-After of years': () => ({ 'retry-after': '99999999' }),
  'a date that has passed': (now) => ({ 'retry-after': httpDate(now - HOUR_MS) }),
  'RateLimit-Reset': (now) => ({ 'ratelimit-reset': String(leftS(now)) }),
  'X-RateLimit-Reset in seconds': (now) => ({ 'x-ratelimit-reset': String(leftS(now)) }),
  'X-RateLimit-Reset in epoch seconds': () => ({ 'x-ratelimit-reset': String(epochS) }),
  'X-RateLimit-Reset in epoch ms': () => ({ 'x-ratelimit-reset': String(epochS * 1_000) }),
  'X-Rate-Limit-Reset': (now) => ({ 'x-rate-limit-reset': String(leftS(now)) }),
  'RateLimit, older': (now) => ({ ratelimit: `limit=10, remaining=0, reset=${leftS(now)}` }),
  'RateLimit, newer': (now) => ({ ratelimit: `"default";r=0;t=${leftS(now)}` }),
  'no header': () => ({}),
};

function ahead(now: number, ms: number): Record<string, string> {
  return { date: httpDate(now + ms), 'retry-after': httpDate(epochS * 1_000 + ms) };
}

/** Behaviour of one client under a limit of 20 seconds. */
export interface Lasted {
  refused: number;
  /** From the end of the limit to the next request. */
  lateMs: number;
}

/** Maximum over all attempts of a client, by form of the header; printed if `LIMITS_TABLE` is set (`npm run limits`). */
export class LimitTable {
  readonly #rows = new Map<string, Record<string, string>>();

  note(form: string, side: string, lasted: readonly Lasted[]): void {
    const refused = Math.max(...lasted.map((each) => each.refused));
    const lateS = Math.max(...lasted.map(({ lateMs }) => lateMs)) / 1_000;
    this.#rows.set(form, { ...this.#rows.get(form), [side]: `${refused}, ${lateS.toFixed(1)} s` });
  }

  print(): void {
    if (process.env.LIMITS_TABLE !== undefined) console.table(Object.fromEntries(this.#rows));
  }
}
