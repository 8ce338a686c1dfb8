import { createRequire } from 'node:module';
import type * as Pino from 'pino';
import type * as PinoPretty from 'pino-pretty';
import type { Logger } from './logger.ts';
import { redact } from './redact.ts';

/** Loads a package when it is first needed: few commands write a line, and many installations never a readable one. */
const load = createRequire(import.meta.url);

/** Where lines go. */
export interface LogDestination {
  write(line: string): unknown;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Where lines go beside the log, in the same redaction. */
export interface LineMirror {
  /**
   * Ids of what is under way, for each line.
   * @see https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/
   */
  ids(): { trace_id?: string; span_id?: string };
  /** @param data with what stands on every line of the logger that wrote it */
  take(level: Level, data: Record<string, unknown>, message: string): void;
}

/** What {@link createLogger} needs. */
export interface LogOptions {
  /** The least level that is written. */
  level: Level;
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

/** Formats in this process and unbuffered, so that the last line before a crash is seen. */
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

/** In the order of their weight. */
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** Where lines go beside the log, and what stands on every line. */
interface LoggerExtras {
  mirror: LineMirror | null;
  bound: Record<string, unknown>;
}

/** @param made gives the logger behind, when a line is first written */
function wrap(least: Level, made: () => Pino.Logger, { mirror, bound }: LoggerExtras): Logger {
  function writer(level: Level) {
    const isWritten = LEVELS.indexOf(level) >= LEVELS.indexOf(least);
    return (data: object, message: string): void => {
      if (!isWritten) return;
      const shown = redact(data);
      made()[level](mirror === null ? shown : { ...shown, ...mirror.ids() }, message);
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
      return wrap(
        least,
        once(() => made().child(shown)),
        { mirror, bound: { ...bound, ...shown } },
      );
    },
  };
}
