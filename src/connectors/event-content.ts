import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type CalendarItem, COLOURS, type Presets } from '../model/items.ts';

/** Whose an event's description is: what our last write put there, and what a person wrote beside it. */
export interface DescriptionParts {
  /** What stands in place of ours, as plain text; null where our last write had none. A person may have changed it: then it is all that stands there. */
  ours: string | null;
  /** A person's, in the vendor's own form; '' for nothing. It stays, whatever we write. */
  theirs: string;
}

/** Of an event that is new, or in whose description nobody but us wrote. */
export const NO_DESCRIPTION: DescriptionParts = { ours: null, theirs: '' };

/** How a vendor keeps descriptions. */
type DescriptionFormat = 'plain' | 'html';

/** The line below which a person's text stands, once we write one too. */
const LINE = '--------';

const THEIRS = 'theirs';
const OURS = /^ours\.(\d{1,5})\.([\w-]{11})$/;

/** Longest description in which ours and a person's are separated, and characters that are compared for it: beyond them all counts as a person's. Our choice. */
const LONGEST_SEPARATED = 20_000;
const MOST_COMPARED = 500_000;

/** Tags and entities of HTML are one thing each. */
const TOKENS: Readonly<Record<DescriptionFormat, RegExp>> = { plain: /./gsu, html: /<[^>]*>|&#?\w{1,8};|./gsu };
const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** What an event is stamped with, by which our part of its description is recognised later. @param description ours, plain; null for none */
export function toDescriptionStamp(description: string | null): string {
  if (description === null) return THEIRS;
  const signs = signsOf(description, 'plain').map(({ sign }) => sign);
  return `ours.${signs.length}.${digestOf(signs)}`;
}

/**
 * Tells a description apart. Ours is found wherever it stands, whatever became of its spaces and line breaks; where a person changed it, all is
 * theirs, so that nothing of it is lost.
 * @param text as the vendor gives it
 * @param stamp of our last write; before there were any, every write of ours replaced all
 */
export function readDescription(
  text: string,
  stamp: string | null | undefined,
  form: DescriptionFormat,
): DescriptionParts {
  const signs = text.length > LONGEST_SEPARATED ? [] : signsOf(text, form);
  if (stamp === THEIRS) return { ours: null, theirs: text.trim() === '' ? '' : text };
  const [, count, digest] = OURS.exec(stamp ?? '') ?? [];
  if (count === undefined || Number(count) === 0 || text.trim() === '')
    return { ours: plainOf(text, form), theirs: '' };
  const length = Number(count);
  const lastStart = Math.min(signs.length - length, Math.floor(MOST_COMPARED / length));
  for (let first = 0; first <= lastStart; first += 1) {
    const some = signs.slice(first, first + length);
    if (digestOf(some.map(({ sign }) => sign)) !== digest) continue;
    const [before, after] = [text.slice(0, some[0]!.at), text.slice(some.at(-1)!.end)];
    const theirs = [before, after].map(withoutLine).filter((part) => signsOf(part, form).length > 0);
    if (theirs.length === 0) return { ours: plainOf(text, form), theirs: '' };
    // A space at the end of ours stays with it, as far as the line tells that it is.
    const [space = ''] = /^[^\S\n]*(?=\n-{8}\n)/.exec(after) ?? [];
    const ours = text.slice(before.length, text.length - after.length + space.length);
    return { ours: plainOf(ours, form), theirs: theirs.join('\n') };
  }
  return { ours: plainOf(text, form), theirs: withoutLine(text) };
}

/**
 * The description that is written: ours, and a person's below a line.
 * @param ours in the vendor's form; null for none
 */
export function joinDescription(ours: string | null, { theirs }: Pick<DescriptionParts, 'theirs'>): string {
  if (ours === null || ours === '') return theirs;
  return theirs === '' ? ours : `${ours}\n${LINE}\n${theirs}`;
}

/** Characters that a person's text takes of a description, with the line above it. */
export function lengthOfTheirs({ theirs }: Pick<DescriptionParts, 'theirs'>): number {
  return theirs === '' ? 0 : theirs.length + LINE.length + 2;
}

interface Sign {
  sign: string;
  at: number;
  end: number;
}

/** What of a text is compared: characters that are neither space nor escape nor tag, with their places. */
function signsOf(text: string, form: DescriptionFormat): Sign[] {
  return [...text.matchAll(TOKENS[form])].flatMap(({ 0: token, index: at }) => {
    const sign = ENTITIES[token] ?? token;
    return isTag(token) || /^[\s\\]$/u.test(sign) ? [] : [{ sign, at, end: at + token.length }];
  });
}

function plainOf(text: string, form: DescriptionFormat): string {
  if (form === 'plain') return text;
  return text.replaceAll(TOKENS.html, (token) => {
    if (!isTag(token)) return ENTITIES[token] ?? token;
    return BREAKS.test(token) ? '\n' : '';
  });
}

/** Tags after which HTML shows a new line. */
const BREAKS = /^<(br|\/p|\/div|\/li)\b/i;

function isTag(token: string): boolean {
  return token.length > 1 && token.startsWith('<');
}

/** A part of a description without the space around it, and without the line that we drew at its beginning or end. */
function withoutLine(part: string): string {
  const ended = withoutEnd(part.replace(/^(?:\s|<br\s*\/?>)*(?:-{8}(?=\s|<|$)(?:\s|<br\s*\/?>)*)?/i, ''));
  return /(^|[\s>])-{8}$/.test(ended.slice(-LINE.length - 1)) ? withoutEnd(ended.slice(0, -LINE.length)) : ended;
}

function withoutEnd(part: string): string {
  let trimmed = part.trimEnd();
  while (/<br\s?\/?>$/i.test(trimmed.slice(-6))) trimmed = trimmed.slice(0, trimmed.lastIndexOf('<')).trimEnd();
  return trimmed;
}

function digestOf(signs: readonly string[]): string {
  return createHash('sha256').update(signs.join('')).digest().subarray(0, 8).toString('base64url');
}

const presetsSchema = z.strictObject({
  colour: z.enum(COLOURS).exactOptional(),
  category: z.string().exactOptional(),
  reminderMinutes: z.union([z.number(), z.literal('none')]).exactOptional(),
  pageUrl: z.string().exactOptional(),
  teleVisitUrl: z.string().exactOptional(),
});

/** One of the presets. */
export type PresetName = keyof Presets;

const NAMES = Object.keys(presetsSchema.shape) as PresetName[];

/** The presets of an event: those of our last write, which are stamped on it, and which of all are a person's by now. */
export interface PresetsThere {
  last: Presets;
  theirs: ReadonlySet<PresetName>;
}

/** Of an event that nobody looked at: where there may be presets, a write looks first. */
export const NO_PRESETS: PresetsThere = { last: {}, theirs: new Set() };

/** The presets of an item as the text that its event is stamped with: JSON in base64url, in which nothing needs escaping on any wire. */
export function toPresetsText(presets: Presets): string {
  return Buffer.from(JSON.stringify(presets)).toString('base64url');
}

/** Reads that text; no presets where it is missing, or not one of ours. */
export function fromPresetsText(text: string | null | undefined): Presets {
  if (text === null || text === undefined) return {};
  try {
    return presetsSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).data ?? {};
  } catch {
    return {};
  }
}

/** As a part of an item that may have none. */
export function withPresets(presets: Presets): { presets?: Presets } {
  return hasPresets(presets) ? { presets } : {};
}

/** Whether there is any. */
export function hasPresets(presets: Presets | undefined): boolean {
  return presets !== undefined && Object.keys(presets).length > 0;
}

/**
 * Whose the presets of an event are. One that is not as our last write left it is a person's, removed ones too, until it is so again.
 * @param shown what the event shows of each, in our words where they are ours; absent for nothing
 */
export function presetsThere(last: Presets, shown: Partial<Record<PresetName, unknown>>): PresetsThere {
  return { last, theirs: new Set(NAMES.filter((name) => shown[name] !== last[name])) };
}

/** What a write changes: the presets that are wanted otherwise than before and are nobody's own; null where one is to go. */
export function presetChanges(
  { last, theirs }: PresetsThere,
  wanted: Presets = {},
): { [Name in PresetName]?: Presets[Name] | null } {
  const changed = NAMES.filter((name) => !theirs.has(name) && wanted[name] !== last[name]);
  return Object.fromEntries(changed.map((name) => [name, wanted[name] ?? null]));
}

/**
 * What an event is made to say before it is deleted for good: nothing, at a time of nobody's. Where a vendor keeps deleted events,
 * this is what it keeps.
 */
export const BLANK_ITEM: CalendarItem = {
  title: '',
  description: null,
  location: null,
  time: { kind: 'all-day', startDate: '2000-01-01', endDate: '2000-01-02' },
  busy: false,
};
