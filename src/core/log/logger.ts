/**
 * Log interface of modules: constant messages with separate data. pino's logger implements the interface. Data contains ids, codes and
 * numbers; never names, contents, tokens or URLs with credentials.
 */
export interface Logger {
  debug(data: object, message: string): void;
  info(data: object, message: string): void;
  warn(data: object, message: string): void;
  error(data: object, message: string): void;
  child(data: object): Logger;
}

/** Discards all lines. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child() {
    return silentLogger;
  },
};

/** Longest text of a library that is kept: the rest is stack traces. Our choice. */
const LONGEST = 200;

/**
 * Redirects console output of libraries to the log, and logs each text once: BullMQ warns on every connection about a Redis that is already
 * checked. Lines are identified only by the library's words, which pass the log's redaction like all data.
 * @returns a function that restores the console
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
    log.warn({ words }, 'library reported a warning');
  };
  Object.assign(console, { warn: once, error: once });
  return () => void Object.assign(console, { warn, error });
}

/** Attributes of a span: configuration ids, codes, counts and constant words. Never contents, names or URLs. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  /** Direction of the call (OpenTelemetry's SpanKind). Default: `internal`. */
  kind?: 'internal' | 'server' | 'client' | 'consumer';
  facts?: SpanFacts;
  /** `traceparent` (W3C Trace Context) of a parent in a different process. Absent or null: the current span. */
  parent?: string | null;
}

/** Span in progress. */
export interface OpenSpan {
  /** Parent for work that continues elsewhere; null without tracing. */
  readonly traceparent: string | null;
  addFacts(facts: SpanFacts): void;
  /** Makes this span the parent of `work`, including later asynchronous work. */
  within<Result>(work: () => Result): Result;
  /** @param error the failure, of which only the code is recorded; absent: success */
  end(error?: unknown): void;
}

/** Records durations of work. `core/telemetry/` provides the daemon's implementation if configured. */
export interface Spans {
  begin(name: string, start?: SpanStart): OpenSpan;
  /** Returns the `traceparent` of the current span; null without tracing. */
  traceparent(): string | null;
}

const NO_SPAN: OpenSpan = { traceparent: null, addFacts() {}, within: (work) => work(), end() {} };

/** Records no spans. */
export const noSpans: Spans = { begin: () => NO_SPAN, traceparent: () => null };

/** Runs work inside a span. @throws errors of the work */
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
