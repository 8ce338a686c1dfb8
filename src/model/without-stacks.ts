/**
 * Runs a parser whose every complaint is an Error: a text that is no YAML may have one in each of its characters, and recording
 * the stack of each takes most of the time.
 */
export function withoutStacks<T>(parse: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return parse();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
