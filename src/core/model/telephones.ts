import { createRequire } from 'node:module';
import type * as PhoneNumbers from 'libphonenumber-js/max';
import { plainText } from './text.ts';

/** Loads a package at first use, because many installations never need the package. */
const load = createRequire(import.meta.url);

/** A valid telephone number other than a mailbox. */
export interface Telephone {
  /** In E.164, such as `+393331234567`. */
  number: string;
  /** Kind of line; null if the numbering plan does not define one. */
  type: PhoneNumbers.NumberType | null;
}

/** Front-desk fields are shorter. */
const LONGEST = 300;
/** A word, or the text between words. */
const TOKENS = /(?<word>\p{L}[\p{L}\p{M}.'’]*)|(?<text>[^\p{L}]+)/gu;
/** Words before an extension. E.164 has no extensions, and the number without its extension is a different number. */
const EXTENSION = new Set([
  'int',
  'interno',
  'ext',
  'extension',
  'x',
  'est',
  'app',
  'poste',
  'anexo',
  'ram',
  'durchwahl',
]);
/** Words that forbid the use of a number. Only a human can decide which number is meant. */
const DENIED = new Set([
  ...[
    'no',
    'non',
    'not',
    'vecchio',
    'vecchia',
    'errato',
    'errata',
    'sbagliato',
    'sbagliata',
    'inesistente',
    'inattivo',
  ],
  ...['disattivo', 'disattivato', 'old', 'wrong', 'invalid', 'ex'],
]);
/** A whole date, such as the time of a check: its digits resemble a fixed line. */
const DATE = /(?<![\d/.-])(?:0?[1-9]|[12]\d|3[01])([/.-])(?:0?[1-9]|1[0-2])\1(?:19|20)\d\d(?![\d/.-])/g;
/** Certain separators of two numbers: `;`, `|`, a line, `2)`, `(2)`, a plus sign after a number. */
const APART = /[;|&\\:=\n]|(?:^|(?<=\s))\d\)|(?<=\d[\s.,/-]*)\([1-9]\)|(?<=\d[\s.,)-]*)(?=\+)/;
/** Separators between two numbers or within one: 06/1234567. */
const MAYBE_APART = /[/,]|\s-+\s/;
/** Numbers are written in at most this many parts. */
const MOST_PARTS = 6;
/** A second number in brackets. */
const BRACKETED = /\(((?:[^()\d]*\d){6}[^()]*)\)/g;
/** An unmatched bracket, for example around words. */
const LONE_BRACKET = /\((?![^()]*\))|(?<!\([^()]*)\)/g;
/** The zero for domestic calls only: +44 (0)7700 900123. Fixed lines in Italy keep the zero. */
const TRUNK_ZERO = /^((?:\+|00)[\d\s.-]+?)\s*\(0\)/;
/** Until 2019, callers dialled 1 before mobile numbers of Mexico. */
const MEXICO_MOBILE = /^(?:\+|00)\s?52[\s.-]*1(?=(?:[\s.-]*\d){10}$)/;
/** Plus sign and digits of the longest number (ITU-T E.164). libphonenumber also accepts longer toll-free numbers of Germany. */
const LONGEST_NUMBER = 16;
/** Ofcom reserves these numbers for fiction, so libphonenumber has no plan for them. Test patients use the numbers. */
const INVENTED_MOBILE = /^\+447700900\d{3}$/;

/**
 * Returns the valid numbers of a front-desk field in order: `tel. 06 1234567 / cell. 333 1234567 (mamma)`. Ambiguous numbers and numbers
 * with an extension are omitted.
 * @param region ISO 3166 country of numbers without an international prefix
 */
export function telephonesIn(written: string, region: string): Telephone[] {
  if (written.length > LONGEST) return [];
  const lines = written
    .split(/[\r\n\u2028\u2029]+/)
    .map(plainText)
    .join('\n');
  const pieces = piecesOf(lines.replace(/tel:/i, '').replace(DATE, ';'));
  return pieces === null ? [] : pieces.flatMap((piece) => numbersIn(piece, readerFor(region)));
}

/** Returns the first mobile number, otherwise the first number. */
export function firstTelephone(written: string, region: string): Telephone | null {
  const all = telephonesIn(written, region);
  return all.find(({ type }) => type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE') ?? all[0] ?? null;
}

/** Returns the texts between words; null if a word forbids the use of a number. */
function piecesOf(lines: string): string[] | null {
  const pieces: string[] = [];
  let isOpen = true;
  for (const { groups: { word, text = '' } = {}, index } of lines.matchAll(TOKENS)) {
    if (word === undefined) {
      if (isOpen) pieces.push(...text.split(APART));
      isOpen = true;
      continue;
    }
    const name = word.replace(/[.'’]/g, '').toLowerCase();
    if (DENIED.has(name)) return null;
    const touchesDigit = /\d/.test(lines[index - 1] ?? '');
    if (EXTENSION.has(name) || touchesDigit) pieces.splice(pieces.findLastIndex((piece) => /\d/.test(piece)));
    // An extension, a fax number, or a number with a letter for a digit follows.
    isOpen = !(
      EXTENSION.has(name) ||
      name === 'fax' ||
      touchesDigit ||
      (name.length === 1 && isDigit(lines, index + 1))
    );
  }
  return pieces;
}

function isDigit(text: string, at: number): boolean {
  return /\d/.test(text[at] ?? '');
}

type Reader = (written: string) => Telephone | null;

/** Returns the numbers of a piece without words. */
function numbersIn(piece: string, read: Reader): Telephone[] {
  const clear: Reader = (text) => (endsInChoice(text, read) || holdsAnother(text, read) ? null : read(text));
  const marked = piece.replace(BRACKETED, '/$1/').replace(LONE_BRACKET, '/');
  const parts = marked.split(MAYBE_APART).filter((part) => /\d/.test(part));
  if (parts.some((part, at) => sharesDigits(part, parts[at + 1], read))) return [];
  const alone = parts.map(clear);
  // Invalid digits possibly belong to the next number (area code, prefix) or end the previous one.
  const first = alone.slice(0, alone.includes(null) ? alone.indexOf(null) : undefined).flatMap((one) => one ?? []);
  if (parts.length < 2) return first.length === 0 ? severalIn(piece, read) : first;
  const whole = read(parts.join(' '));
  if (whole !== null) return isOnlyOne(parts, whole, clear) ? [whole] : [];
  const isLonger = read(parts.slice(first.length - 1, first.length + 1).join(' ')) !== null;
  return first.length > 0 && first.length < parts.length && isLonger ? first.slice(0, -1) : first;
}

/** Checks that no part of the number is another number. */
function isOnlyOne(parts: readonly string[], whole: Telephone, clear: Reader): boolean {
  if (parts.length > MOST_PARTS || clear(parts.join(' ')) === null) return false;
  const joined = parts.flatMap((_, from) =>
    parts.slice(from).map((_, to) => parts.slice(from, from + to + 1).join(' ')),
  );
  return joined.every((stretch) => (clear(stretch)?.number ?? whole.number) === whole.number);
}

/** `06 1234567-8` means two numbers, or one with an extension. */
function endsInChoice(part: string, read: Reader): boolean {
  const [, before] = /^(.*\d)-\d{1,2}\D*$/.exec(part) ?? [];
  return before !== undefined && read(before) !== null;
}

/** `12 0664 123000`: one or two digits before another number. Three digits are possibly a mobile prefix: 347 0587061. */
function holdsAnother(part: string, read: Reader): boolean {
  const [, rest] = /^\s*\d{1,2}\s+(0.*)$/.exec(part) ?? [];
  return rest !== undefined && (read(rest) ?? read(part))?.number !== read(part)?.number;
}

/** `0664 123000 0664/123000`: the last digits possibly begin the number after the slash. */
function sharesDigits(part: string, next: string | undefined, read: Reader): boolean {
  const [, head = '', tail = ''] = /^(.*\d)\s+(\d+)\s*$/.exec(part) ?? [];
  return next !== undefined && head !== '' && read(head) !== null && read(`${tail} ${next}`) !== null;
}

/** Returns numbers separated only by a space or hyphen. */
function severalIn(piece: string, read: Reader): Telephone[] {
  const parts = piece.trim().split(/[\s-]+/);
  const found = parts.flatMap((part) => read(part) ?? []);
  return parts.length > 1 && found.length === parts.length ? found : [];
}

function readerFor(region: string): Reader {
  const { isSupportedCountry, parsePhoneNumberFromString } = load('libphonenumber-js/max') as typeof PhoneNumbers;
  const country: PhoneNumbers.CountryCode | undefined = isSupportedCountry(region) ? region : undefined;
  const options = country === undefined ? { extract: false } : { defaultCountry: country, extract: false };
  const parse = (plain: string): Telephone | null => {
    const number = parsePhoneNumberFromString(plain, options);
    if (number === undefined || number.ext !== undefined || number.number.length > LONGEST_NUMBER) return null;
    if (INVENTED_MOBILE.test(number.number)) return { number: number.number, type: 'MOBILE' };
    const type = number.getType() ?? null;
    // A voicemail number is a mobile number with more digits, so an extension is also possible.
    return number.isValid() && type !== 'VOICEMAIL' ? { number: number.number, type } : null;
  };
  return (written) => {
    if (/[#*]/.test(written)) return null;
    const trimmed = written.trim();
    const bare = (text: string) => text.replace(/[()]/g, ' ').replace(MEXICO_MOBILE, '+52 ').trim();
    if (!TRUNK_ZERO.test(trimmed)) return parse(bare(trimmed));
    const [withZero, dropped] = ['$1 0', '$1 '].map((prefix) => parse(bare(trimmed.replace(TRUNK_ZERO, prefix))));
    if (withZero == null || dropped == null) return withZero ?? dropped ?? null;
    return withZero.number === dropped.number ? withZero : null;
  };
}
