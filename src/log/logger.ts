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
