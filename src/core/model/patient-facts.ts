import { lazily, remembered } from './cache.ts';
import type { Patient } from './records.ts';

/** A patient fact that a text can reveal. */
export type PatientFact = 'first-name' | 'last-name' | 'email' | 'phone' | 'tax-code' | 'birth-date' | 'address';

/** Known data of a patient at the time of sending. */
export type PatientDetails = Pick<Patient, 'firstName' | 'lastName'> &
  Partial<Pick<Patient, 'email' | 'phone' | 'mobilePhone' | 'taxCode' | 'birthDate' | 'address'>>;

/** Outgoing texts, and the patient facts that they may reveal. */
export interface Leaving {
  texts: readonly (string | null)[];
  mayReveal(fact: PatientFact): boolean;
  /**
   * Other allowed texts, from the clinic and the operator. A name in such a text, for example of a patient with a doctor's name, does not
   * count as revealed. Called only if a match is found.
   */
  own(): readonly (string | null | undefined)[];
}

/** Shorter words identify no one: they match other words by chance. */
const FEWEST = 4;
/** Final digits that identify a telephone with any country prefix. */
const PHONE_DIGITS = 9;
const FEWEST_PHONE_DIGITS = 7;
/** Between two numbers of one field: 333 1234567 / 06 1234567. */
const BETWEEN_NUMBERS = /[^\d\s().+-]+/;

/** Cache size for texts and fact spellings, because most records share them. */
const REMEMBERED = 5_000;

/** Searches outgoing texts for patient facts, and caches repeated texts and names. */
export class FactSearch {
  readonly #contentOf = remembered(REMEMBERED, (text) => new Content(text));
  readonly #phrasesOf: Readonly<Record<PatientFact, (written: string) => readonly string[]>>;

  constructor() {
    const phrases = FACTS.map((fact) => [fact, remembered(REMEMBERED, (text) => phrasesOf(fact, text))] as const);
    this.#phrasesOf = Object.fromEntries(phrases) as Record<PatientFact, (written: string) => readonly string[]>;
  }

  /**
   * Returns the first patient fact that the texts reveal without permission, or null. Matches whole words of any case and accents, also in
   * JSON or URL escapes.
   */
  revealedIn(patient: PatientDetails, { texts, mayReveal, own }: Leaving): PatientFact | null {
    const leaving = lazily(() => this.#contentsOf(texts));
    const legitimate = lazily(() => {
      const open = FACTS.filter(mayReveal).flatMap((fact) => writingsOf(fact, patient));
      return this.#contentsOf([...own(), ...open]);
    });
    for (const fact of FACTS) {
      if (mayReveal(fact)) continue;
      for (const written of writingsOf(fact, patient)) {
        if (written == null) continue;
        for (const phrase of this.#phrasesOf[fact](written)) {
          if (
            leaving().some((text) => text.reveals(fact, phrase)) &&
            !legitimate().some((text) => text.reveals(fact, phrase))
          )
            return fact;
        }
      }
    }
    return null;
  }

  #contentsOf(texts: readonly (string | null | undefined)[]): Content[] {
    return texts.flatMap((text) => (text == null || text === '' ? [] : [this.#contentOf(text)]));
  }
}

/** Returns letters and digits without case, accents and signs, so that two texts with only such differences are equal. */
export function lettersOf(text: string): string {
  return folded(text.toUpperCase())
    .toUpperCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');
}

/** Returns the digits that identify a telephone with any country prefix; empty for none. */
export function phoneDigitsOf(text: string): string {
  return text.replaceAll(/\D/g, '').slice(-PHONE_DIGITS);
}

/** A text prepared for phrase search. Each form is created at first use, because most texts contain no patient facts. */
class Content {
  readonly #read: string;
  readonly #folded: string;
  /** Letters and digits, with a space before and after each word. */
  readonly #words = lazily(() => wordsOf(this.#read));
  /** Digits; signs and spaces between digits are removed. */
  readonly #digits = lazily(() => this.#read.replaceAll(/(?<=\d)[\s().+/-]+(?=\d)/g, ''));

  constructor(text: string) {
    this.#read = unescaped(text);
    this.#folded = folded(this.#read);
  }

  reveals(fact: PatientFact, phrase: string): boolean {
    if (fact === 'phone') return this.#digits().includes(phrase);
    const [, word = ''] = phrase.split(' ', 2);
    return this.#folded.includes(word) && this.#words().includes(phrase);
  }
}

const FACTS: readonly PatientFact[] = [
  'last-name',
  'first-name',
  'tax-code',
  'phone',
  'email',
  'birth-date',
  'address',
];

/** Returns the clinic's spellings of a fact. */
function writingsOf(fact: PatientFact, patient: PatientDetails): readonly (string | null | undefined)[] {
  switch (fact) {
    case 'first-name':
      return [patient.firstName];
    case 'last-name':
      return [patient.lastName];
    case 'email':
      return [patient.email];
    case 'phone':
      return [patient.phone, patient.mobilePhone];
    case 'tax-code':
      return [patient.taxCode];
    case 'birth-date':
      return [patient.birthDate];
    case 'address':
      return [patient.address?.street];
  }
}

/** Returns the phrases of a fact to find in {@link Content}: words between spaces, or telephone digits. */
function phrasesOf(fact: PatientFact, written: string): readonly string[] {
  switch (fact) {
    case 'first-name':
    case 'last-name':
      return nameParts(written);
    case 'phone':
      return [...new Set([written, ...written.split(BETWEEN_NUMBERS)].map(phoneDigitsOf))].filter(
        ({ length }) => length >= FEWEST_PHONE_DIGITS,
      );
    case 'birth-date':
      return datesOf(written);
    case 'address':
      // A street without its number identifies no one.
      return [wordsOf(written)].filter((street) => /\d/.test(street) && isLong(street));
    default:
      return [wordsOf(written)].filter(isLong);
  }
}

/**
 * Returns the identifying words of a name: of "De Luca" only the second. Length counts as written, because a single sign that expands to
 * several letters is still an initial.
 */
function nameParts(name: string): string[] {
  return name
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => [...word].length >= FEWEST)
    .flatMap((word) => wordsOf(word).split(' '))
    .flatMap((word) => (isLong(word) ? [` ${word} `] : []));
}

function datesOf(date: string): string[] {
  const [year = '', month = '', day = ''] = date.split('-');
  return [[year, month, day], [day, month, year], [month, day, year], [`${year}${month}${day}`]].map(
    (parts) => ` ${parts.join(' ')} `,
  );
}

function isLong(phrase: string): boolean {
  return phrase.replaceAll(' ', '').length >= FEWEST;
}

/** A name that is already one plain word, as most are. */
const PLAIN_WORD = /^[a-z\d]+$/i;

function wordsOf(text: string): string {
  if (PLAIN_WORD.test(text)) return ` ${text.toLowerCase()} `;
  return ` ${folded(text)
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

/** Returns lower case without accents. */
function folded(text: string): string {
  const plain = /^[\n\x20-\x7e]*$/.test(text) ? text : text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return plain.toLowerCase();
}

/** Decodes the escapes that a receiver decodes: `Nicol\u00f2` in JSON, `Nicol%C3%B2` in a URL. */
function unescaped(text: string): string {
  const plain = text.includes('\\u')
    ? text.replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text;
  if (!plain.includes('%')) return plain;
  try {
    return `${plain} ${decodeURIComponent(plain)}`;
  } catch {
    return plain;
  }
}
