/**
 * What modules need of a log: constant messages, data beside them. pino's logger fits.
 * Data holds ids, codes and numbers; never names, contents, tokens or addresses with credentials.
 */
export interface Logger {
  debug(data: object, message: string): void;
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
  error(data: object, message: string): void;
  child(data: object): Logger;
}

/** A log that keeps nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child() {
    return silentLogger;
  },
};

/** As much of what a library writes is kept: the rest is stacks. Our choice. */
const LONGEST = 200;

/**
 * Has libraries that write to the console by themselves do so into the log, and each thing once: BullMQ says of every connection what it thinks of
 * a Redis that was looked at already. Told by the library's words alone, which pass the log's second layer as all data do.
 * @returns puts the console back
 */
export function takeLibraryWords(
  log: Logger,
  console: Pick<Console, 'warn' | 'error'> = globalThis.console,
): () => void {
  const { warn, error } = console;
  const logged = new Set<string>();
  const once = (...parts: unknown[]) => {
    const [first = ''] = parts.map(String).join(' ').split('\n');
    const words = first.slice(0, LONGEST);
    if (logged.has(words)) return;
    logged.add(words);
    log.warn({ words }, 'a library warns');
  };
  Object.assign(console, { warn: once, error: once });
  return () => void Object.assign(console, { warn, error });
}

/** What a span holds beside its name: ids of the configuration, codes, counts and constant words. Never contents, names or addresses. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

/** How a span begins. */
export interface SpanStart {
  /** Who asked whom (OpenTelemetry's SpanKind). Default: `internal`. */
  kind?: 'internal' | 'server' | 'client' | 'consumer';
  facts?: SpanFacts;
  /** `traceparent` (W3C Trace Context) of what it belongs to, where that is another process's. Absent or null: what is under way here. */
  parent?: string | null;
}

/** A piece of work under way. */
export interface OpenSpan {
  /** Of it, for whoever goes on with the work elsewhere; null where nothing is traced. */
  readonly traceparent: string | null;
  addFacts(facts: SpanFacts): void;
  /** What is done by `work`, later too, belongs to it. */
  within<Result>(work: () => Result): Result;
  /** @param error what it failed by, of which the code alone is told; absent: it went well */
  end(error?: unknown): void;
}

/** Where it is told what takes how long. The daemon's own is opened by `telemetry/`, where that is configured. */
export interface Spans {
  begin(name: string, start?: SpanStart): OpenSpan;
  /** `traceparent` of what is under way; null where nothing is traced. */
  traceparent(): string | null;
}

const NO_SPAN: OpenSpan = { traceparent: null, addFacts() {}, within: (work) => work(), end() {} };

/** Nothing is told to anybody. */
export const noSpans: Spans = { begin: () => NO_SPAN, traceparent: () => null };

/** Does work as one span, which ends with it. @throws what the work throws */
export async function spanned<Result>(
  spans: Spans,
  name: string,
  start: SpanStart,
  work: (span: OpenSpan) => Promise<Result>,
): Promise<Result> {
  const span = spans.begin(name, start);
  try {
    const result = await span.within(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}
