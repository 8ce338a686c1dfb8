/** A section of a text. An optional section (in brackets) is omitted if one of its values is missing. */
export interface TextSection<Value extends string> {
  isOptional: boolean;
  parts: readonly (string | { value: Value })[];
}

/** Sections of a text with values in braces, in order. */
export type TextFormat<Value extends string = string> = readonly TextSection<Value>[];

const SECTION = /\[([^[\]]*)\]|([^[\]]+)/gy;
const PART = /\{([^{}]*)\}|([^{}]+)/gy;

/**
 * Parses a format such as `[{agenda}: ]{title}`; null if malformed, without a value, or with another value.
 * @param isValue decides whether a name in braces is a value
 */
export function parseTextFormat<Value extends string>(
  text: string,
  isValue: (name: string) => name is Value,
): TextFormat<Value> | null {
  const sections = allOf(SECTION, text)?.map(([, inner, outer]) => {
    const parts = allOf(PART, inner ?? outer ?? '')?.map(([, value, plain]) => plain ?? { value: value as Value });
    return parts === undefined ? null : { isOptional: inner !== undefined, parts };
  });
  if (sections?.every((section) => section !== null) !== true) return null;
  const values = sections.flatMap(valuesIn);
  return values.length > 0 && values.every(isValue) ? sections : null;
}

/** Returns the values in a format, with repetitions. */
export function valuesOf<Value extends string>(format: TextFormat<Value>): Value[] {
  return format.flatMap(valuesIn);
}

/** Returns the text of one line. @param resolve returns null for a missing value */
export function formatText<Value extends string>(
  format: TextFormat<Value>,
  resolve: (name: Value) => string | null,
): string {
  const text = format.map((section) => {
    if (section.isOptional && valuesIn(section).some((value) => !resolve(value))) return '';
    return section.parts.map((part) => (typeof part === 'string' ? part : (resolve(part.value) ?? ''))).join('');
  });
  return text.join('').replaceAll(/\s+/g, ' ').trim();
}

function valuesIn<Value extends string>({ parts }: TextSection<Value>): Value[] {
  return parts.flatMap((part) => (typeof part === 'string' ? [] : [part.value]));
}

/** Returns the matches if they cover the whole text without gaps, otherwise undefined. */
function allOf(pattern: RegExp, text: string): RegExpMatchArray[] | undefined {
  const matches = [...text.matchAll(pattern)];
  return matches.reduce((sum, [whole]) => sum + whole.length, 0) === text.length ? matches : undefined;
}
