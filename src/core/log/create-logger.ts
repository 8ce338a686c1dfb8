import { createRequire } from 'node:module';
import type * as Pino from 'pino';
import type * as PinoPretty from 'pino-pretty';
import type { Logger } from './logger.ts';
import { redact } from './redact.ts';

/** Loads a package on first use: few commands write logs, and many installations never write readable lines. */
const load = createRequire(import.meta.url);

export interface LogDestination {
  write(line: string): unknown;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Additional destination for log lines, after redaction. */
export interface LineMirror {
  /**
   * Returns ids of the current span, for each line.
   * @see https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/
   */
  ids(): { trace_id?: string; span_id?: string };
  /** @param data including the bound data of the logger */
  take(level: Level, data: Record<string, unknown>, message: string): void;
}

export interface LogOptions {
  /** Lowest level that is written. */
  level: Level;
  /** Default: standard output. */
  destination?: LogDestination;
  /** Readable lines instead of JSON. Default: only on a terminal. */
  readable?: boolean;
  /** Default: no additional destination. */
  mirror?: LineMirror;
}

/**
 * Creates the daemon's log: one JSON object per line, or readable lines on a terminal. Messages are constant. All data passes {@link
 * redact}, a second layer below the rule that no secret and no patient data is logged. Errors are passed as `{ error }`.
 */
export function createLogger({ level, destination = process.stdout, ...options }: LogOptions): Logger {
  const readable = options.readable ?? (destination === process.stdout && process.stdout.isTTY);
  return wrap(
    level,
    once(() => {
      const { pino } = load('pino') as typeof Pino;
      const settings = {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label: string) => ({ level: label }) },
      };
      return pino(settings, readable ? readableDestination(destination) : destination);
    }),
    { mirror: options.mirror ?? null, bound: {} },
  );
}

/** Formats in this process without a buffer, so that the last line before a crash is visible. */
function readableDestination(destination: LogDestination): LogDestination {
  const { prettyFactory } = load('pino-pretty') as typeof PinoPretty;
  const format = prettyFactory({ colorize: destination === process.stdout, translateTime: 'SYS:HH:MM:ss' });
  return { write: (line) => destination.write(format(line)) };
}

function once(make: () => Pino.Logger): () => Pino.Logger {
  let made: Pino.Logger | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

/** Ordered by severity. */
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** Additional destination, and data for every line. */
interface LoggerExtras {
  mirror: LineMirror | null;
  bound: Record<string, unknown>;
}

/** Keys that pino adds to each line (https://github.com/pinojs/pino/blob/main/docs/api.md, `messageKey`, `timestamp`, `level`). */
const RESERVED = ['level', 'time', 'msg'];

/** Renames data that would repeat a key of the line. */
function unreserved(data: Record<string, unknown>): Record<string, unknown> {
  if (!RESERVED.some((key) => key in data)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [RESERVED.includes(key) ? `${key}_` : key, value]),
  );
}

/** @param made returns the underlying logger for the first line */
function wrap(least: Level, made: () => Pino.Logger, { mirror, bound }: LoggerExtras): Logger {
  function writer(level: Level) {
    const isWritten = LEVELS.indexOf(level) >= LEVELS.indexOf(least);
    return (data: object, message: string): void => {
      if (!isWritten) return;
      // Merged here: pino writes a key of a child and of a line twice, and readers of JSON disagree about the value.
      const line = { ...bound, ...unreserved(redact(data)) };
      made()[level](mirror === null ? line : { ...line, ...mirror.ids() }, message);
      mirror?.take(level, line, message);
    };
  }
  return {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    child(data) {
      return wrap(least, made, { mirror, bound: { ...bound, ...unreserved(redact(data)) } });
    },
  };
}
