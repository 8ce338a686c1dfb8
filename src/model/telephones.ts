import { createRequire } from 'node:module';
import type * as PhoneNumbers from 'libphonenumber-js/max';
import { plainText } from './text.ts';

/** Loads a package when it is first needed: many installations never need this one. */
const load = createRequire(import.meta.url);

/** A valid telephone number, but of no mailbox. */
export interface Telephone {
  /** In E.164, such as `+393331234567`. */
  number: string;
  /** What kind of line it is; null where the numbering plan does not tell. */
  type: PhoneNumbers.NumberType | null;
}

/** No field of a front desk is longer. */
const LONGEST = 300;
/** A word, and what stands between words. */
const TOKENS = /(?<word>\p{L}[\p{L}\p{M}.'’]*)|(?<text>[^\p{L}]+)/gu;
/** Words before an extension: E.164 can't tell it, and the number without it is another one. */
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
/** Words by which a field says that a number is not to be used: which one they mean is a person's to read. */
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
/** A whole date, such as when a number was checked: its digits would be those of a fixed line. */
const DATE = /(?<![\d/.-])(?:0?[1-9]|[12]\d|3[01])([/.-])(?:0?[1-9]|1[0-2])\1(?:19|20)\d\d(?![\d/.-])/g;
/** Between two numbers in any case: `;`, `|`, a line, `2)`, `(2)`, a plus sign behind a number. */
const APART = /[;|&\\:=\n]|(?:^|(?<=\s))\d\)|(?<=\d[\s.,/-]*)\([1-9]\)|(?<=\d[\s.,)-]*)(?=\+)/;
/** Between two numbers, or within one: 06/1234567. */
const MAYBE_APART = /[/,]|\s-+\s/;
/** No number is written in more parts. */
const MOST_PARTS = 6;
/** A number in brackets beside another one. */
const BRACKETED = /\(((?:[^()\d]*\d){6}[^()]*)\)/g;
/** A bracket whose other one is missing, as where words stand in it. */
const LONE_BRACKET = /\((?![^()]*\))|(?<!\([^()]*)\)/g;
/** The zero that is dialled within the country alone: +44 (0)7700 900123. In Italy fixed lines keep it. */
const TRUNK_ZERO = /^((?:\+|00)[\d\s.-]+?)\s*\(0\)/;
/** Mobile numbers of Mexico were dialled with a 1 before them until 2019. */
const MEXICO_MOBILE = /^(?:\+|00)\s?52[\s.-]*1(?=(?:[\s.-]*\d){10}$)/;
/** Ofcom keeps them for invented persons, so libphonenumber has no plan for them; test patients have them. */
const INVENTED_MOBILE = /^\+447700900\d{3}$/;

/**
 * The valid numbers of a telephone field as a front desk writes it, in order: `tel. 06 1234567 / cell. 333 1234567 (mamma)`.
 * A number that could be read in two ways, or has an extension, is left out.
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

/** The first of them that is a mobile number, else the first. */
export function firstTelephone(written: string, region: string): Telephone | null {
  const all = telephonesIn(written, region);
  return all.find(({ type }) => type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE') ?? all[0] ?? null;
}

/** What stands between words; null when a word says that a number is not to be used. */
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
    // What follows is an extension, the number of a fax, or has a letter for a digit.
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

/** The numbers of a piece without words. */
function numbersIn(piece: string, read: Reader): Telephone[] {
  const clear: Reader = (text) => (endsInChoice(text, read) || holdsAnother(text, read) ? null : read(text));
  const marked = piece.replace(BRACKETED, '/$1/').replace(LONE_BRACKET, '/');
  const parts = marked.split(MAYBE_APART).filter((part) => /\d/.test(part));
  if (parts.some((part, at) => sharesDigits(part, parts[at + 1], read))) return [];
  const alone = parts.map(clear);
  // Digits that are no number may belong to the one behind them (an area code, another prefix), or end the one before.
  const first = alone.slice(0, alone.includes(null) ? alone.indexOf(null) : undefined).flatMap((one) => one ?? []);
  if (parts.length < 2) return first.length === 0 ? severalIn(piece, read) : first;
  const whole = read(parts.join(' '));
  if (whole !== null) return isOnlyOne(parts, whole, clear) ? [whole] : [];
  const isLonger = read(parts.slice(first.length - 1, first.length + 1).join(' ')) !== null;
  return first.length > 0 && first.length < parts.length && isLonger ? first.slice(0, -1) : first;
}

/** Whether no stretch of a number's parts is another number. */
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

/** `12 0664 123000`: one or two digits before what is a number of its own. Three may be the prefix of a mobile number: 347 0587061. */
function holdsAnother(part: string, read: Reader): boolean {
  const [, rest] = /^\s*\d{1,2}\s+(0.*)$/.exec(part) ?? [];
  return rest !== undefined && (read(rest) ?? read(part))?.number !== read(part)?.number;
}

/** `0664 123000 0664/123000`: the last digits of a number may as well begin the one behind the slash. */
function sharesDigits(part: string, next: string | undefined, read: Reader): boolean {
  const [, head = '', tail = ''] = /^(.*\d)\s+(\d+)\s*$/.exec(part) ?? [];
  return next !== undefined && head !== '' && read(head) !== null && read(`${tail} ${next}`) !== null;
}

/** Numbers with nothing but a space or a hyphen between them: each is one alone. */
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
    if (number === undefined || number.ext !== undefined) return null;
    if (INVENTED_MOBILE.test(number.number)) return { number: number.number, type: 'MOBILE' };
    const type = number.getType() ?? null;
    // The mailbox of a mobile line: its number with digits behind, so it may as well be a number with an extension.
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
