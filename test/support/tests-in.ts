const COMMENTS = /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)/gm;
/** Relies on the formatter: the first line with equal indentation ends a test. */
const LEFT_OUT = /^([ \t]*)(?:describe|test|it)(?:\.\w+)*\.(?:skip|todo)\b(?:.*\);$|[\s\S]*?^\1\}?\);$)/gm;
const DECLARED = /^[ \t]*(?:test|it)(?:\.\w+)*[(<`]/gm;

/** Returns the number of tests that a source declares, without tests in comments, skipped tests and `todo`. */
export function testsIn(source: string): number {
  return source.replaceAll(COMMENTS, '').replaceAll(LEFT_OUT, '').match(DECLARED)?.length ?? 0;
}
