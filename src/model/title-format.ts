/** What a title may be put together of: the title of the target's level, and what its `fields` allow. */
export const TITLE_VALUES = ['title', 'location', 'agenda', 'treatment', 'status'] as const;

/** One of {@link TITLE_VALUES}. */
export type TitleValue = (typeof TITLE_VALUES)[number];

/** A piece of a title: it is left out where it is in brackets and one of its values is missing. */
export interface TitleSection {
  isOptional: boolean;
  parts: readonly (string | { value: TitleValue })[];
}

/** What a title is put together of, in the order of its text. */
export type TitleFormat = readonly TitleSection[];

const SECTION = /\[([^[\]]*)\]|([^[\]]+)/gy;
const PART = /\{([^{}]*)\}|([^{}]+)/gy;

/** Reads a format such as `[{agenda}: ]{title}`; null where it is none. At least one value must be in it. */
export function parseTitleFormat(text: string): TitleFormat | null {
  const sections = allOf(SECTION, text)?.map(([, inner, outer]) => {
    const parts = allOf(PART, inner ?? outer ?? '')?.map(([, value, plain]) => plain ?? { value: value as TitleValue });
    return parts === undefined ? null : { isOptional: inner !== undefined, parts };
  });
  if (sections?.every((section) => section !== null) !== true) return null;
  const values = sections.flatMap(valuesIn);
  return values.length > 0 && values.every((value) => TITLE_VALUES.includes(value)) ? sections : null;
}

/** The values that a format names, each as often as it stands there. */
export function valuesOf(format: TitleFormat): TitleValue[] {
  return format.flatMap(valuesIn);
}

/** @param resolve gives null where there is nothing to tell */
export function formatTitle(format: TitleFormat, resolve: (name: TitleValue) => string | null): string {
  const text = format.map((section) => {
    if (section.isOptional && valuesIn(section).some((value) => !resolve(value))) return '';
    return section.parts.map((part) => (typeof part === 'string' ? part : (resolve(part.value) ?? ''))).join('');
  });
  return text.join('').replaceAll(/\s+/g, ' ').trim();
}

function valuesIn({ parts }: TitleSection): TitleValue[] {
  return parts.flatMap((part) => (typeof part === 'string' ? [] : [part.value]));
}

/** Matches that follow each other from the beginning to the end; undefined where something lies between them. */
function allOf(expression: RegExp, text: string): RegExpMatchArray[] | undefined {
  const matches = [...text.matchAll(expression)];
  return matches.reduce((sum, [whole]) => sum + whole.length, 0) === text.length ? matches : undefined;
}
