import { seededRandom } from '../kit/random.ts';
import type { Settings } from './options.ts';
import { type Field, type KeptWith, Table } from './tables.ts';

/** The records of one sandbox, by the kind's name in the API. */
export class World {
  readonly settings: Settings;
  readonly tables = new Map<string, Table>();
  readonly token: string;
  /** Number of records on which the account's workflows ran. */
  automationsRun = 0;
  readonly #random: () => number;
  #serial = 0;
  #times: number[] = [];

  constructor(settings: Settings) {
    this.settings = settings;
    this.#random = seededRandom(settings.seed);
    this.token = this.hex(32);
  }

  addTable(name: string, fields: Record<string, Field>, newId: () => string, keptWith: readonly KeptWith[] = []): void {
    this.tables.set(name, new Table(fields, newId, this.settings, keptWith));
  }

  /** Returns a new whole number for each call. */
  nextNumber(): number {
    this.#serial += 1;
    return this.#serial;
  }

  hex(length: number): string {
    return Array.from({ length }, () => Math.floor(this.#random() * 16).toString(16)).join('');
  }

  uuid(): string {
    return [8, 4, 4, 4, 12].map((length) => this.hex(length)).join('-');
  }

  /** Counts a request. If the limit of the minute is reached, returns the seconds to wait instead. */
  throttle(): number | null {
    const at = this.settings.now();
    this.#times = this.#times.filter((time) => time > at - 60_000);
    const [oldest = at] = this.#times;
    if (this.#times.length >= this.settings.requestsPerMinute) return Math.ceil((oldest + 60_000 - at) / 1_000);
    this.#times.push(at);
    return null;
  }
}
