import { message, type Text } from '../messages/message.ts';

/** Format characters such as U+200B, U+FEFF and the marks of writing direction. */
const INVISIBLE = /\p{Cf}/gu;
/** Hyphens and minus signs that are not the one of ASCII: U+2010 to U+2015, U+2212. */
const DASHES = /[\u2010-\u2015\u2212]/g;

/** A text as a reader sees it: no invisible characters, single spaces, with the hyphens and digits of ASCII. */
export function plainText(text: string): string {
  return text.normalize('NFKC').replace(INVISIBLE, '').replace(DASHES, '-').replace(/\s+/g, ' ').trim();
}

/** Any character that leaves a trace on a screen: none that controls, joins, spaces or fills (U+2800 is an empty Braille cell). */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

const ELLIPSIS = '…';

/** Whether a person sees anything of a text. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

/**
 * A text of at most so many UTF-16 code units. One that is cut ends with an ellipsis, and no character that a person sees as one is cut
 * in two.
 */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (const { index, segment } of new Intl.Segmenter().segment(text)) {
    if (index + segment.length > most - ELLIPSIS.length) break;
    end = index + segment.length;
  }
  return `${text.slice(0, end).trimEnd()}${ELLIPSIS}`;
}

/** Longest line of iCalendar in octets, without its line break (RFC 5545 section 3.1). */
const MAX_LINE_OCTETS = 75;

/** A text of iCalendar with its lines folded so that none is too long and no character is cut; they may be folded otherwise before. */
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

/** A word of a command as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w.@:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Names that people choose: tenants, connections, targets, clients. They become parts of Redis keys and metric labels. */
export const NAME = /^[a-z0-9][a-z0-9-]{0,40}$/;

/** What to do about a name that does not match {@link NAME}. */
export const NAME_REMEDY = message('settings.name-rule');

/** Unknown ids, with the question whether similar ones are meant, if there are any. */
export function withSimilarIds(ids: string, similar: readonly string[]): Text {
  return similar.length === 0 ? ids : message('ids-or-similar', { ids, similar: similar.join(', ') });
}

/** The known word nearest to the one that was written, when it is near enough to be a slip; else null. */
export function didYouMean(written: string, candidates: Iterable<string>): string | null {
  const folded = fold(written);
  let nearest: string | null = null;
  let nearestDistance = Math.max(2, Math.floor(folded.length / 3)) + 1;
  for (const word of candidates) {
    const other = fold(word);
    // No fewer changes than one is longer than the other: a word without end is compared with none.
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

/** Case and separators are what people get wrong most: `past_days` is `pastDays`. */
function fold(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ .]/g, '');
}

/** Levenshtein's distance: insertions, deletions and replacements of one character. */
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
