const COMMENTS = /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)/gm;
/** As the formatter writes it: ended by the first line that is indented as it is. */
const LEFT_OUT = /^([ \t]*)(?:describe|test|it)(?:\.\w+)*\.(?:skip|todo)\b(?:.*\);$|[\s\S]*?^\1\}?\);$)/gm;
const DECLARED = /^[ \t]*(?:test|it)(?:\.\w+)*[(<`]/gm;

/** How many tests a source declares. What stands in a comment, is left out whatever happens, or is to be written, is none. */
export function testsIn(source: string): number {
  return source.replaceAll(COMMENTS, '').replaceAll(LEFT_OUT, '').match(DECLARED)?.length ?? 0;
}
