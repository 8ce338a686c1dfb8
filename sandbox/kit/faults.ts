import { seededRandom } from './random.ts';

/** Faults that the kit itself plays on the wire. */
export type WireFault =
  | { kind: 'status'; status: number; body?: unknown; headers?: Record<string, string> }
  /** Waits `ms` plus up to `jitterMs` before the handler; adds up with other rules. */
  | { kind: 'latency'; ms: number; jitterMs?: number }
  /** The socket is destroyed before the handler runs. */
  | { kind: 'cut' }
  /** The handler runs and commits, then the socket is destroyed. */
  | { kind: 'lost-answer' }
  /** The handler runs; status, headers and half of the body are sent, then the socket is destroyed. */
  | { kind: 'cut-body' }
  /** 200 with the HTML page of a captive portal. */
  | { kind: 'html' }
  | { kind: 'garbage'; body: string; contentType?: string };

/** A fault that one sandbox gives its own meaning. */
export interface VendorFault {
  kind: string;
  [detail: string]: unknown;
}

/** What a rule does to a request. */
export type Fault = WireFault | VendorFault;

/** One line of the plan. Every part of `match` that is given must fit; without `match` it fits every request. */
export interface FaultRule {
  /** Given by the plan when missing. */
  id?: string;
  match?: {
    method?: string;
    /** Source of a regular expression over path and query. */
    path?: string;
    client?: string;
  };
  /** Spent after so many applications. */
  times?: number;
  /** Share of the matching requests, 0..1, from a separate seeded generator. */
  rate?: number;
  /** Skips the first `after` matches. */
  after?: number;
  fault: Fault;
}

/** What a rule is matched against. `path` includes the query. */
export interface FaultableRequest {
  method: string;
  path: string;
  client?: string | undefined;
}

/** A rule as listed: with its id and how often it matched and was applied. */
export interface FaultRuleState extends FaultRule {
  id: string;
  matched: number;
  applied: number;
}

const WIRE_KINDS: ReadonlySet<string> = new Set<WireFault['kind']>([
  'status',
  'latency',
  'cut',
  'lost-answer',
  'cut-body',
  'html',
  'garbage',
]);

/** True for the faults that the kit plays itself; any other kind is the sandbox's own. */
export function isWireFault(fault: Fault): fault is WireFault {
  return WIRE_KINDS.has(fault.kind);
}

/** An ordered list of rules that can be changed while the server runs. */
export class FaultPlan {
  readonly #seed: number;
  #serial = 0;
  #entries: PlanEntry[] = [];

  constructor(seed = 1) {
    this.#seed = seed;
  }

  /** Adds rules at the end and returns their ids. Throws TypeError when a rule is malformed. */
  add(...rules: FaultRule[]): string[] {
    return rules.map((rule) => this.#addOne(rule));
  }

  /** Removes one rule; false when there is none with this id. */
  remove(id: string): boolean {
    const before = this.#entries.length;
    this.#entries = this.#entries.filter((entry) => entry.rule.id !== id);
    return this.#entries.length < before;
  }

  clear(): void {
    this.#entries = [];
  }

  list(): FaultRuleState[] {
    return this.#entries.map((entry) => ({ ...entry.rule, matched: entry.matched, applied: entry.applied }));
  }

  /**
   * The wire faults for this request, used up by the call: every latency that applies, up to and including the first
   * other fault. Pass `kinds` to look only at some kinds (e.g. for one part of a batch).
   */
  next(request: FaultableRequest, kinds: ReadonlySet<string> = WIRE_KINDS): Fault[] {
    const faults: Fault[] = [];
    for (const entry of this.#entries) {
      if (!kinds.has(entry.rule.fault.kind) || !applies(entry, request)) {
        continue;
      }
      faults.push(entry.rule.fault);
      if (entry.rule.fault.kind !== 'latency') {
        break;
      }
    }
    return faults;
  }

  /** The first fault of this (vendor-specific) kind for the request, used up by the call; undefined when there is none. */
  active(kind: string, request: FaultableRequest): Fault | undefined {
    return this.next(request, new Set([kind]))[0];
  }

  #addOne(rule: FaultRule): string {
    if (typeof rule?.fault?.kind !== 'string') {
      throw new TypeError('A fault rule needs fault.kind');
    }
    this.#serial += 1;
    const id = rule.id ?? `fault-${this.#serial}`;
    this.remove(id);
    this.#entries.push({
      rule: { ...rule, id },
      path: rule.match?.path === undefined ? undefined : new RegExp(rule.match.path),
      random: seededRandom(this.#seed + this.#serial),
      matched: 0,
      applied: 0,
    });
    return id;
  }
}

interface PlanEntry {
  rule: FaultRule & { id: string };
  path: RegExp | undefined;
  random: () => number;
  matched: number;
  applied: number;
}

function applies(entry: PlanEntry, request: FaultableRequest): boolean {
  const { match, times, rate, after } = entry.rule;
  if (times !== undefined && entry.applied >= times) {
    return false;
  }
  if (match?.method !== undefined && match.method.toUpperCase() !== request.method.toUpperCase()) {
    return false;
  }
  if (match?.client !== undefined && match.client !== request.client) {
    return false;
  }
  if (entry.path !== undefined && !entry.path.test(request.path)) {
    return false;
  }
  entry.matched += 1;
  if (entry.matched <= (after ?? 0)) {
    return false;
  }
  if (rate !== undefined && entry.random() >= rate) {
    return false;
  }
  entry.applied += 1;
  return true;
}
