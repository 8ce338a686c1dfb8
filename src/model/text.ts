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
export const NAME_REMEDY = 'use lower-case letters, digits and hyphens, at most 41, not beginning with a hyphen';

/** Asks, after what is said of unknown ids, whether known ones are meant; empty for none. */
export function oneOfThese(ids: readonly string[]): string {
  return ids.length === 0 ? '' : `; is one of these meant: ${ids.join(', ')}?`;
}
