import type { Logger } from './logger.ts';

/** Options of `limitLines`. */
interface LineLimit {
  /** Returns the code of a limited line; null for other lines. */
  codeOf(data: object): string | null;
  /** Least time between two lines of a code, in milliseconds. Default: a minute. */
  everyMs?: number;
  /** Milliseconds of a monotonic clock. */
  clock?: () => number;
}

/**
 * Writes warnings and errors of one code at most once a minute, with the number of lines left out before (`repeated`). One fault fails
 * every job, thousands of times a minute.
 */
export function limitLines(
  log: Logger,
  { codeOf, everyMs = 60_000, clock = () => performance.now() }: LineLimit,
): Logger {
  const written = new Map<string, { at: number; repeated: number }>();
  function wrap(inner: Logger): Logger {
    const limited = (level: 'warn' | 'error') => (data: object, message: string) => {
      const code = codeOf(data);
      if (code === null) return inner[level](data, message);
      const last = written.get(code);
      if (last !== undefined && clock() - last.at < everyMs) {
        last.repeated += 1;
        return;
      }
      written.set(code, { at: clock(), repeated: 0 });
      inner[level](last === undefined || last.repeated === 0 ? data : { ...data, repeated: last.repeated }, message);
    };
    return {
      debug: (data, message) => inner.debug(data, message),
      info: (data, message) => inner.info(data, message),
      warn: limited('warn'),
      error: limited('error'),
      child: (data) => wrap(inner.child(data)),
    };
  }
  return wrap(log);
}
