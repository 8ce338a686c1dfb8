import { createRequire } from 'node:module';
import { pino } from 'pino';
import type * as PinoPretty from 'pino-pretty';
import type { Logger } from './logger.ts';
import { redact } from './redact.ts';

/** Loads a package when it is first needed: many installations never need this one. */
const load = createRequire(import.meta.url);

/** Where lines go. */
export interface LogDestination {
  write(line: string): unknown;
}

/** Where lines go beside the log, in the same redaction. */
export interface LineMirror {
  /**
   * Ids of what is under way, for each line.
   * @see https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/
   */
  ids(): { trace_id?: string; span_id?: string };
  /** @param data with what stands on every line of the logger that wrote it */
  take(level: LogOptions['level'], data: Record<string, unknown>, message: string): void;
}

/** What {@link createLogger} needs. */
export interface LogOptions {
  /** The least level that is written. */
  level: 'debug' | 'info' | 'warn' | 'error';
  /** Default: standard output. */
  destination?: LogDestination;
  /** Lines for people instead of JSON. Default: only when the destination is a terminal. */
  readable?: boolean;
  /** Default: they go nowhere else. */
  mirror?: LineMirror;
}

/**
 * The daemon's log: one JSON object a line, or readable lines in a terminal. Messages are constant; all data passes
 * {@link redact}, a second layer below the rule that no secret and no patient data is handed to a log. An error goes in as
 * `{ error }`.
 */
export function createLogger(options: LogOptions): Logger {
  const destination = options.destination ?? process.stdout;
  const readable = options.readable ?? (destination === process.stdout && process.stdout.isTTY);
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const { mirror = null } = options;
  return wrap(pino(settings, readable ? readableDestination(destination) : destination), mirror, {});
}

/** Formats in this process and unbuffered, so that the last line before a crash is seen. */
function readableDestination(destination: LogDestination): LogDestination {
  const { prettyFactory } = load('pino-pretty') as typeof PinoPretty;
  const format = prettyFactory({ colorize: destination === process.stdout, translateTime: 'SYS:HH:MM:ss' });
  return { write: (line) => destination.write(format(line)) };
}

/** @param bound what stands on every line */
function wrap(logger: pino.Logger, mirror: LineMirror | null, bound: Record<string, unknown>): Logger {
  function writer(level: LogOptions['level']) {
    return (data: object, message: string): void => {
      if (!logger.isLevelEnabled(level)) return;
      const shown = redact(data);
      logger[level](mirror === null ? shown : { ...shown, ...mirror.ids() }, message);
      mirror?.take(level, { ...bound, ...shown }, message);
    };
  }
  return {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    child(data) {
      const shown = redact(data);
      return wrap(logger.child(shown), mirror, { ...bound, ...shown });
    },
  };
}
