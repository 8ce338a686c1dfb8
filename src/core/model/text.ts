import { message, type Text } from '../../messages/message.ts';
import { shown } from '../../messages/shown.ts';

/** Format characters such as U+200B, U+FEFF and direction marks. */
const INVISIBLE = /\p{Cf}/gu;
/** Hyphens and minus signs other than ASCII: U+2010 to U+2015, U+2212. */
const DASHES = /[\u2010-\u2015\u2212]/g;

/** Returns visible text: without invisible characters, with single spaces and ASCII hyphens and digits. */
export function plainText(text: string): string {
  return text.normalize('NFKC').replace(INVISIBLE, '').replace(DASHES, '-').replace(/\s+/g, ' ').trim();
}

/** Returns a text of another party on one line, with single spaces. */
export function shownLine(text: string): string {
  return shown(text.replace(/[\s\p{Cc}]+/gu, ' '))
    .replace(/ +/g, ' ')
    .trim();
}

/** Longest name of a person in a message or a title, in UTF-16 code units. */
const LONGEST_NAME = 60;

/** Returns a person's name for messages and titles: on one line, short, and without anything that a reader could open as a link. */
export function shownName(name: string): string {
  const line = shownLine(name)
    .replace(/\p{L}[\p{L}\p{N}+.-]*:\/\/+/gu, '')
    .replace(/[\\/]+/g, ' ')
    .replace(/([.@:])(?=[^\s.])/g, '$1 ');
  return shortened(line.replace(/ +/g, ' ').trim(), LONGEST_NAME);
}

/** A visible character: no control, joiner, space or filler (U+2800 is an empty Braille cell). */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

const ELLIPSIS = '…';

/** Decides whether a text contains a visible character. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

/** Shortens a text to at most `most` UTF-16 code units. A shortened text ends with an ellipsis, and visible characters remain whole. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (const { index, segment } of new Intl.Segmenter().segment(text)) {
    if (index + segment.length > most - ELLIPSIS.length) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end).trimEnd()}${ELLIPSIS}`;
}

/** Longest iCalendar line in octets, without its line break (RFC 5545 section 3.1). */
const MAX_LINE_OCTETS = 75;

/** Folds the lines of an iCalendar text without splitting a character. Existing folds are removed first. */
export function foldLines(text: string): string {
  return text.replaceAll('\r\n ', '').split('\r\n').map(foldLine).join('\r\n');
}

function foldLine(line: string): string {
  if (Buffer.byteLength(line) <= MAX_LINE_OCTETS) return line;
  let folded = '';
  let octets = 0;
  for (const character of line) {
    const length = Buffer.byteLength(character);
    if (octets + length > MAX_LINE_OCTETS) {
      folded += '\r\n ';
      octets = 1;
    }
    folded += character;
    octets += length;
  }
  return folded;
}

/** Quotes a word for a shell. */
export function shellWord(word: string): string {
  return /^[\w.@:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Names of tenants, connections, targets and clients. Names become parts of Redis keys and metric labels. */
export const NAME = /^[a-z0-9][a-z0-9-]{0,40}$/;

/** Remedy for a name that does not match {@link NAME}. */
export const NAME_REMEDY = message('settings.name-rule');

/** Returns unknown ids, with similar known ids if any. */
export function withSimilarIds(ids: string, similar: readonly string[]): Text {
  return similar.length === 0 ? ids : message('ids-or-similar', { ids, similar: similar.join(', ') });
}

/** Returns the most similar known word if close enough for a typing error, otherwise null. */
export function didYouMean(written: string, candidates: Iterable<string>): string | null {
  const folded = fold(written);
  let nearest: string | null = null;
  let nearestDistance = Math.max(2, Math.floor(folded.length / 3)) + 1;
  for (const word of candidates) {
    const other = fold(word);
    // The length difference is the minimum distance, so an extremely long word is compared with none.
    const least = Math.abs(folded.length - other.length);
    if (least >= nearestDistance || least >= word.length) continue;
    const distance = editDistance(folded, other);
    if (distance < nearestDistance && distance < word.length) {
      nearest = word;
      nearestDistance = distance;
    }
  }
  return nearest;
}

/** Users confuse case and separators most often: `past_days` is `pastDays`. */
function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ .]/g, '');
}

/** Returns the Levenshtein distance: insertions, deletions and replacements of one character. */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replace = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replace, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[to.length] ?? 0;
}
