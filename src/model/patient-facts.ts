import { lazily, remembered } from './cache.ts';
import type { Patient } from './records.ts';

/** Something of a patient that a text may tell. */
export type PatientFact = 'first-name' | 'last-name' | 'email' | 'phone' | 'tax-code' | 'birth-date' | 'address';

/** As much of a patient as is known where something leaves. */
export type PatientDetails = Pick<Patient, 'firstName' | 'lastName'> &
  Partial<Pick<Patient, 'email' | 'phone' | 'mobilePhone' | 'taxCode' | 'birthDate' | 'address'>>;

/** What is about to leave, and what of a patient it may tell. */
export interface Leaving {
  texts: readonly (string | null)[];
  mayReveal(fact: PatientFact): boolean;
  /**
   * What else may be in it: texts of the clinic and of the operator. A name that stands in them too, as of a patient who is called as the
   * doctor is, is not told of the patient. Asked for when there is something to weigh.
   */
  own(): readonly (string | null | undefined)[];
}

/** Letters and digits below which a word tells of nobody: it stands in other words' places by chance. */
const FEWEST = 4;
/** Digits at the end of a number by which telephones are recognised, however their country is written. */
const PHONE_DIGITS = 9;
const FEWEST_PHONE_DIGITS = 7;

/** Texts, and writings of facts, that are remembered at once: most records share theirs with others. */
const REMEMBERED = 5_000;

/** Looks for facts of patients in what is about to leave, and remembers how texts and names that repeat are looked at. */
export class FactSearch {
  readonly #contentOf = remembered(REMEMBERED, (text) => new Content(text));
  readonly #phrasesOf: Readonly<Record<PatientFact, (written: string) => readonly string[]>>;

  constructor() {
    const phrases = FACTS.map((fact) => [fact, remembered(REMEMBERED, (text) => phrasesOf(fact, text))] as const);
    this.#phrasesOf = Object.fromEntries(phrases) as Record<PatientFact, (written: string) => readonly string[]>;
  }

  /**
   * The first fact of a patient that stands in texts which may not tell it; null when none does. Words count whole, whatever their case and
   * accents, also where they are escaped as JSON or addresses escape them.
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

/**
 * Letters and digits of a text, whatever its case, accents and signs: two texts in which a mapping changed no more than these are equal so.
 */
export function lettersOf(text: string): string {
  return folded(text.toUpperCase())
    .toUpperCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');
}

/** Digits by which a telephone is recognised, however its country is written; '' for none. */
export function phoneDigitsOf(text: string): string {
  return text.replaceAll(/\D/g, '').slice(-PHONE_DIGITS);
}

/** A text as phrases are looked for in it. Most hold nothing of a patient, so each form is made when it is asked for. */
class Content {
  readonly #read: string;
  readonly #folded: string;
  /** Letters and digits, a space before and after each word. */
  readonly #words = lazily(() => wordsOf(this.#read));
  /** Digits, those together that only signs and spaces part. */
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

/** How the clinic writes a fact. */
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

/** What is looked for of a fact, as it stands in {@link Content}: words with a space before and after each, of telephones digits. */
function phrasesOf(fact: PatientFact, written: string): readonly string[] {
  switch (fact) {
    case 'first-name':
    case 'last-name':
      return nameParts(written);
    case 'phone': {
      const digits = phoneDigitsOf(written);
      return digits.length < FEWEST_PHONE_DIGITS ? [] : [digits];
    }
    case 'birth-date':
      return datesOf(written);
    case 'address':
      // A street alone, without its number, may be anybody's.
      return [wordsOf(written)].filter((street) => /\d/.test(street) && isLong(street));
    default:
      return [wordsOf(written)].filter(isLong);
  }
}

/**
 * Each word of a name that tells of somebody: of "De Luca" the second. It counts as it is written: a single sign may stand for a word of
 * several letters, and is an initial all the same.
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

/** What most names are, and what is one word as it stands. */
const PLAIN_WORD = /^[a-z\d]+$/i;

function wordsOf(text: string): string {
  if (PLAIN_WORD.test(text)) return ` ${text.toLowerCase()} `;
  return ` ${folded(text)
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

/** In lower case, without accents. */
function folded(text: string): string {
  const plain = /^[\n\x20-\x7e]*$/.test(text) ? text : text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return plain.toLowerCase();
}

/** As it is read at the other end: `Nicol\u00f2` of JSON, `Nicol%C3%B2` of an address. */
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
