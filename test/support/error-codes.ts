/** Forms in which a code appears directly: `code: 'x'`, `code: condition ? 'x' : 'y'`, `const MISSING_SCOPES = 'x'`. */
const CODE_PROPERTY = /\bcode(?:: | = )(?:[^,;{}\n]*\? )?'([a-z]+(?:-[a-z0-9]+)*)'(?: : '([a-z]+(?:-[a-z0-9]+)*)')?/g;
/** A row of a table of errors by their codes. */
const CODE_ROW = /^ +'?([a-z]+(?:-[a-z0-9]+)*)'?: \{ actor: '/gm;
/** Functions that make an error of a code that they are given. */
const CODE_PARAMETER = /\b(\w+)(?: = )?\([^()]*\bcode: (?:string\b|'[a-z-]+' \|)/g;
/** Reasons for an expired or incomplete connection; they become codes. */
const REASONS = /(?:\bMISSING_SCOPES = |\bendLogin\([^;]*?\? )'([a-z-]+)'/g;
/** Functions whose `code` is not an error code of clinic-mirror. */
const OTHER_CODES = new Set(['libraryError', 'unknownError', 'printable', 'exit']);
/** zod's code for a custom check; only the settings read it. */
const NO_CODES = new Set(['custom']);

/** Every error code that the sources can give, sorted. */
export function errorCodesIn(sources: readonly string[]): string[] {
  const makers = new Set(
    sources.flatMap((source) => [...source.matchAll(CODE_PARAMETER)].map((match) => match[1] ?? '')),
  );
  const codes = sources.flatMap((source) => [
    ...[...source.matchAll(CODE_PROPERTY)].flatMap(([, one, other]) => [one, other]),
    ...[...source.matchAll(CODE_ROW)].map(([, code]) => code),
    ...[...source.matchAll(REASONS)].map(([, reason]) => reason),
    ...[...makers].filter((name) => !OTHER_CODES.has(name)).flatMap((name) => codesGivenTo(name, source)),
  ]);
  return [...new Set(codes)]
    .filter((code) => code !== undefined)
    .filter((code) => !NO_CODES.has(code))
    .sort();
}

/** The first argument that has the form of a code, in each call of the function. */
function codesGivenTo(name: string, source: string): string[] {
  const calls = source.matchAll(new RegExp(`\\b${name}\\(([^;]*?);`, 'g'));
  return [...calls].flatMap(([, rest = '']) => {
    const [code] = [...rest.matchAll(/'([^']*)'/g)].map((match) => match[1] ?? '').filter(isCode);
    return code === undefined ? [] : [code];
  });
}

function isCode(text: string): boolean {
  return /^[a-z]+(-[a-z0-9]+)+$/.test(text);
}
