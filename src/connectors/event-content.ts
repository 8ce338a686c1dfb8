import { hash } from 'node:crypto';
import { type CalendarItem, type Presets, presetsSchema } from '../core/model/items.ts';
import type { Write } from '../core/model/operations.ts';

/** Parts of an event's description: the text of the last write, and users' text. */
export interface DescriptionParts {
  /**
   * Stored text of clinic-mirror, as plain text; null if the last write had none. If a user changed the text, this is the whole remaining
   * description.
   */
  ours: string | null;
  /** Users' text in the vendor's format; '' for none. Each write keeps this text. */
  theirs: string;
  /** Whole description in the vendor's format, if the event lost its stamp: `ours` may contain users' text. Absent otherwise. */
  unstamped?: string;
  /** `theirs` contains text of another event, so that a write sends it even if clinic-mirror writes no text. */
  isExtended?: true;
}

/** Description of a new event, or without users' text. */
export const NO_DESCRIPTION: DescriptionParts = { ours: null, theirs: '' };

/** Format of a vendor's descriptions. */
type DescriptionFormat = 'plain' | 'html';

/** Separator above users' text if clinic-mirror writes a text too. */
const LINE = '--------';
/** The separator in a description of either format. */
const FROM_LINE = /(?:^|\n|<br\s?\/?>)[^\S\n]*-{8}[^\S\n]*(?:$|\n|<br\s?\/?>)/i;

const THEIRS = 'theirs';
const OURS = /^ours\.(\d{1,5})\.([\w-]{11})$/;

/**
 * Longest description whose parts are separated, and largest number of compared characters: at most four milliseconds for an event, since
 * a list may have a thousand such events. Above these limits, the whole description belongs to users. Own choice.
 */
const LONGEST_SEPARATED = 20_000;
const MOST_COMPARED = 100_000;
/** Cost of one comparison in characters, apart from its text. */
const COMPARISON = 100;
/** Largest number of compared lines of an event without a stamp. Each comparison errs once in 262,144 times. Own choice. */
const MOST_LINES = 100;

/**
 * Characters between spaces and escapes are one token, as is each HTML tag or entity. A tag contains no `<`, so that tags without end need
 * one pass.
 */
const TOKENS: Readonly<Record<DescriptionFormat, RegExp>> = {
  plain: /[^\s\\]+/gu,
  html: /<[^<>]*>|&#?\w{1,8};|[^\s\\<&]+|[<&]/gu,
};
const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/**
 * Returns the stamp of an event that later identifies clinic-mirror's part of the description. @param description plain text of
 * clinic-mirror; null for none
 */
export function toDescriptionStamp(description: string | null): string {
  if (description === null) return THEIRS;
  const { joined, at } = signsOf(description, 'plain');
  return `ours.${at.length}.${digestOf(joined)}`;
}

/**
 * Separates the parts of a description. The text of clinic-mirror is found at any position and with any changes of spaces and line breaks.
 * If a user changed the text, the whole description belongs to the user, so that nothing is lost.
 * @param text in the vendor's form
 * @param stamp of the last write; without a stamp, the text below a separator belongs to users, and {@link recoveredParts} decides about
 * the rest before a write
 */
export function readDescription(
  text: string,
  stamp: string | null | undefined,
  form: DescriptionFormat,
): DescriptionParts {
  if (stamp === THEIRS) return { ours: null, theirs: text.trim() === '' ? '' : text };
  const [, count, digest] = OURS.exec(stamp ?? '') ?? [];
  if (Number(count) === 0 || text.trim() === '') return { ours: plainOf(text, form), theirs: '' };
  if (count === undefined) return unstampedParts(text, form);
  const length = Number(count);
  const signs = signsOf(text.length > LONGEST_SEPARATED ? '' : text, form);
  const { joined, starts, at, end } = signs;
  let compared = 0;
  for (const first of wordsFirst(signs, at.length - length)) {
    compared += length + COMPARISON;
    if (compared > MOST_COMPARED) break;
    if (digestOf(joined.slice(starts[first], starts[first + length])) !== digest) continue;
    const [before, after] = [text.slice(0, at[first]), text.slice(end[first + length - 1])];
    const theirs = [before, after].map(withoutLine).filter((part) => signsOf(part, form).at.length > 0);
    if (theirs.length === 0) return { ours: plainOf(text, form), theirs: '' };
    // A space at the end of clinic-mirror's text belongs to the text, if the separator shows its end.
    const [space = ''] = /^[^\S\n]*(?=\n-{8}\n)/.exec(after) ?? [];
    const ours = text.slice(before.length, text.length - after.length + space.length);
    return { ours: plainOf(ours, form), theirs: theirs.join('\n') };
  }
  return { ours: plainOf(text, form), theirs: withoutLine(text) };
}

function unstampedParts(text: string, form: DescriptionFormat): DescriptionParts {
  const lineAt = FROM_LINE.exec(text)?.index ?? text.length;
  return { ours: plainOf(text.slice(0, lineAt), form), theirs: withoutLine(text.slice(lineAt)), unstamped: text };
}

/**
 * Separates the description of an event without a stamp for a write. The last write's text shows the part of clinic-mirror, otherwise the
 * text to write, if the description contains it. If nothing shows the part, the whole description belongs to users, so that no note is lost.
 */
export function recoveredParts(parts: DescriptionParts, form: DescriptionFormat, operation: Write): DescriptionParts {
  const { unstamped: text } = parts;
  if (text === undefined) return parts;
  const hadDescription = operation.kind === 'update' ? operation.hadDescription : undefined;
  const isShort = text.length <= LONGEST_SEPARATED;
  const last = isShort && hadDescription && outerParts(plainOf(text, form)).find(hadDescription);
  return readDescription(text, toDescriptionStamp(last || operation.item.description), form);
}

/**
 * Returns the texts that the last write may have been: first or last lines of each part between separators. The shortest come first, and all
 * together have at most {@link MOST_COMPARED} characters: a longer one is mostly users' text.
 */
function outerParts(text: string): string[] {
  const blocks: string[][] = [[]];
  for (const line of text.split('\n', MOST_LINES).map((each) => each.trim())) {
    if (line === LINE) blocks.push([]);
    else if (line !== '') blocks.at(-1)!.push(line);
  }
  const texts = blocks.flatMap((lines) =>
    lines.flatMap((_, index) => [lines.slice(0, index + 1).join('\n'), lines.slice(index).join('\n')]),
  );
  let compared = 0;
  return texts
    .toSorted((one, other) => one.length - other.length)
    .filter(({ length }) => {
      compared += length + COMPARISON;
      return compared <= MOST_COMPARED;
    });
}

/** Whether a description contains users' text, or may contain it: then a write without a fetch would lose this text. */
export function mayHoldTheirs({ theirs, unstamped }: DescriptionParts): boolean {
  return theirs !== '' || unstamped !== undefined;
}

/**
 * Returns the description to write: the text of clinic-mirror, and users' text below a separator.
 * @param ours in the vendor's form; null for none
 */
export function joinDescription(ours: string | null, { theirs }: Pick<DescriptionParts, 'theirs'>): string {
  if (ours === null || ours === '') return theirs;
  return theirs === '' ? ours : `${ours}\n${LINE}\n${theirs}`;
}

/** Adds users' text of another event to a description, unless the description contains it already. */
export function withTheirs<Parts extends DescriptionParts>(parts: Parts, added: string): Parts {
  if (added === '' || parts.theirs.includes(added)) return parts;
  return { ...parts, theirs: parts.theirs === '' ? added : `${parts.theirs}\n${added}`, isExtended: true };
}

/**
 * Whether an event has only users' text, before and after a write: then the write sends no description, and the text keeps its form.
 * @param ours text of clinic-mirror to write; null for none
 */
export function isTheirsAlone(ours: string | null, parts: DescriptionParts): boolean {
  return ours === null && parts.ours === null && parts.theirs !== '' && parts.isExtended !== true;
}

/** Returns the length of users' text in a description, including the separator. */
export function lengthOfTheirs({ theirs }: Pick<DescriptionParts, 'theirs'>): number {
  return theirs === '' ? 0 : theirs.length + LINE.length + 2;
}

/** The compared characters of a text, without spaces, escapes and tags. Lists of numbers, since a text has thousands of them. */
interface Signs {
  /** All signs as one text, and the position of each in it, with the end of the last. */
  joined: string;
  starts: number[];
  /** Position of each sign in the text, and position after it. */
  at: number[];
  end: number[];
}

function signsOf(text: string, form: DescriptionFormat): Signs {
  const parts: string[] = [];
  const [starts, at, end]: [number[], number[], number[]] = [[0], [], []];
  let length = 0;
  const add = (sign: number, from: number, to: number) => {
    length += sign;
    starts.push(length);
    at.push(from);
    end.push(to);
  };
  for (const { 0: token, index } of text.matchAll(TOKENS[form])) {
    const isMarkup = form === 'html' && /^[<&]/.test(token);
    if (isMarkup && isTag(token)) continue;
    const signs = isMarkup ? [ENTITIES[token] ?? token] : token;
    let from = index;
    for (const sign of signs) {
      const to = isMarkup ? index + token.length : from + sign.length;
      add(sign.length, from, to);
      from = to;
    }
    parts.push(...(isMarkup ? signs : [token]));
  }
  return { joined: parts.join(''), starts, at, end };
}

/** Returns the positions up to a last one, the starts of words first: there, a text of clinic-mirror mostly begins. */
function* wordsFirst({ at, end }: Signs, last: number): Generator<number> {
  const isWord = (first: number) => end[first - 1] !== at[first];
  for (let first = 0; first <= last; first += 1) if (isWord(first)) yield first;
  for (let first = 0; first <= last; first += 1) if (!isWord(first)) yield first;
}

function plainOf(text: string, form: DescriptionFormat): string {
  if (form === 'plain') return text;
  return text.replaceAll(TOKENS.html, (token) => {
    if (!isTag(token)) return ENTITIES[token] ?? token;
    return BREAKS.test(token) ? '\n' : '';
  });
}

/** HTML tags that end a line. */
const BREAKS = /^<(br|\/p|\/div|\/li)\b/i;

function isTag(token: string): boolean {
  return token.length > 1 && token.startsWith('<');
}

/** Removes outer space, and the separator before or after a part. */
function withoutLine(part: string): string {
  const ended = withoutEnd(part.replace(/^(?:\s|<br\s*\/?>)*(?:-{8}(?=\s|<|$)(?:\s|<br\s*\/?>)*)?/i, ''));
  return /(^|[\s>])-{8}$/.test(ended.slice(-LINE.length - 1)) ? withoutEnd(ended.slice(0, -LINE.length)) : ended;
}

function withoutEnd(part: string): string {
  let trimmed = part.trimEnd();
  while (/<br\s?\/?>$/i.test(trimmed.slice(-6))) trimmed = trimmed.slice(0, trimmed.lastIndexOf('<')).trimEnd();
  return trimmed;
}

function digestOf(text: string): string {
  return hash('sha256', text, 'buffer').subarray(0, 8).toString('base64url');
}

export type PresetName = keyof Presets;

const NAMES = Object.keys(presetsSchema.shape) as PresetName[];

/** Presets of an event: the stamped presets of the last write, and the names of presets that belong to users. */
export interface PresetsThere {
  last: Presets;
  theirs: ReadonlySet<PresetName>;
}

/** Presets of an event that was not fetched: if presets may exist, a write fetches the event first. */
export const NO_PRESETS: PresetsThere = { last: {}, theirs: new Set() };

/** Returns the stamp for presets: JSON in base64url, which needs no escaping in any format. */
export function toPresetsText(presets: Presets): string {
  return Buffer.from(JSON.stringify(presets)).toString('base64url');
}

/** Parses a stamp; a missing or invalid stamp means no presets. */
export function fromPresetsText(text: string | null | undefined): Presets {
  if (text === null || text === undefined) return {};
  try {
    return presetsSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).data ?? {};
  } catch {
    return {};
  }
}

/** Returns the presets as an optional part of an item. */
export function withPresets(presets: Presets): { presets?: Presets } {
  return hasPresets(presets) ? { presets } : {};
}

export function hasPresets(presets: Presets | undefined): boolean {
  return presets !== undefined && Object.keys(presets).length > 0;
}

/**
 * Separates the presets of clinic-mirror from users' presets. A preset that differs from the last write belongs to users, including a
 * removed preset, until it equals the last write again.
 * @param shown the event's presets, in clinic-mirror's form if possible; absent for none
 */
export function presetsThere(last: Presets, shown: Partial<Record<PresetName, unknown>>): PresetsThere {
  return { last, theirs: new Set(NAMES.filter((name) => shown[name] !== last[name])) };
}

/** Returns the presets that a write changes: presets with a new value that do not belong to users; null for removal. */
export function presetChanges(
  { last, theirs }: PresetsThere,
  wanted: Presets = {},
): { [Name in PresetName]?: Presets[Name] | null } {
  const changed = NAMES.filter((name) => !theirs.has(name) && wanted[name] !== last[name]);
  return Object.fromEntries(changed.map((name) => [name, wanted[name] ?? null]));
}

/**
 * Content of an event before its permanent deletion: no text, at a fixed time. A vendor that keeps deleted events keeps only this content.
 */
export const BLANK_ITEM: CalendarItem = {
  title: '',
  description: null,
  location: null,
  time: { kind: 'all-day', startDate: '2000-01-01', endDate: '2000-01-02' },
  busy: false,
};

/** Before the version tag of an event with additions that a write of single fields keeps, and a deletion loses. */
const ADDED = '+';

/** Marks the version tag of an event with additions of users. */
export function tagWithAdditions(tag: string | null): string | null {
  return tag === null ? null : ADDED + tag;
}

/** Returns the version tag of an event for a write of single fields without a fetch; null if it must be fetched first. */
export function writableTag(tag: string | null): string | null {
  return tag?.startsWith(ADDED) === true ? tag.slice(ADDED.length) : tag;
}

/** Returns the version tag of an event for a deletion without a fetch; null if it must be fetched first. */
export function deletableTag(tag: string | null): string | null {
  return tag?.startsWith(ADDED) === true ? null : tag;
}
