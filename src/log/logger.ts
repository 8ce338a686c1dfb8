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
