import { lazily } from './lazily.ts';
import type { Patient } from './records.ts';

/** Something of a patient that a text may tell. */
export type PatientFact = 'first-name' | 'last-name' | 'email' | 'phone' | 'tax-code' | 'birth-date' | 'address';

/** As much of a patient as is known where something leaves. */
export type KnownPatient = Pick<Patient, 'firstName' | 'lastName'> &
  Partial<Pick<Patient, 'email' | 'phone' | 'mobilePhone' | 'taxCode' | 'birthDate' | 'address'>>;

/** What is about to leave, and what of a patient it may tell. */
export interface Leaving {
  texts: readonly (string | null)[];
  mayTell(fact: PatientFact): boolean;
  /**
   * What else may be in it: texts of the clinic and of the operator. A name that stands in them too, as of a patient who is called as the
   * doctor is, is not told of the patient. Asked for when there is something to weigh.
   */
  own(): readonly (string | null | undefined)[];
}

/** Letters and digits below which a word tells of nobody: it stands in other words' places by chance. */
const FEWEST = 4;
/** Digits at the end of a number by which telephones are told apart, however their country is written. */
const PHONE_DIGITS = 9;
const FEWEST_PHONE_DIGITS = 7;

/**
 * The first fact of a patient that stands in texts which may not tell it; null when none does. Words count whole, whatever their case and
 * accents, also where they are escaped as JSON or addresses escape them.
 */
export function factToldIn(patient: KnownPatient, { texts, mayTell, own }: Leaving): PatientFact | null {
  const leaving = lazily(() => new Content(texts));
  const legitimate = lazily(() => {
    const open = FACTS.filter(mayTell).flatMap((fact) => writingsOf(fact, patient));
    return new Content([...own(), ...open]);
  });
  for (const fact of FACTS) {
    if (mayTell(fact)) continue;
    const written = writingsOf(fact, patient);
    if (written.length === 0) continue;
    for (const phrase of phrasesOf(fact, written)) {
      if (leaving().tells(fact, phrase) && !legitimate().tells(fact, phrase)) return fact;
    }
  }
  return null;
}

/**
 * Letters and digits of a text, whatever its case, accents and signs: two texts in which a mapping changed no more than these are equal so.
 */
export function lettersOf(text: string): string {
  return folded(text.toUpperCase())
    .toUpperCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');
}

/** Digits by which a telephone is told apart, however its country is written; '' for none. */
export function phoneDigitsOf(text: string): string {
  return text.replaceAll(/\D/g, '').slice(-PHONE_DIGITS);
}

/** Texts as phrases are looked for in them. Most are looked at once and hold nothing, so each form is made when it is asked for. */
class Content {
  readonly #read: readonly string[];
  readonly #folded: string;
  /** Words of letters and digits, a space before and after each. */
  readonly #words = lazily(() => this.#read.map(wordsOf));
  /** Digits, those together that only signs and spaces part. */
  readonly #digits = lazily(() => this.#read.map((text) => text.replaceAll(/(?<=\d)[\s().+/-]+(?=\d)/g, '')));

  constructor(texts: readonly (string | null | undefined)[]) {
    this.#read = texts.flatMap((text) => (text == null || text === '' ? [] : [unescaped(text)]));
    this.#folded = folded(this.#read.join('\n'));
  }

  tells(fact: PatientFact, phrase: string): boolean {
    if (fact === 'phone') return this.#digits().some((digits) => digits.includes(phrase));
    const [, word = ''] = phrase.split(' ', 2);
    return this.#folded.includes(word) && this.#words().some((words) => words.includes(phrase));
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
function writingsOf(fact: PatientFact, patient: KnownPatient): string[] {
  switch (fact) {
    case 'first-name':
      return known(patient.firstName);
    case 'last-name':
      return known(patient.lastName);
    case 'email':
      return known(patient.email);
    case 'phone':
      return [...known(patient.phone), ...known(patient.mobilePhone)];
    case 'tax-code':
      return known(patient.taxCode);
    case 'birth-date':
      return known(patient.birthDate);
    case 'address':
      return known(patient.address?.street);
  }
}

function known(text: string | null | undefined): string[] {
  return text == null ? [] : [text];
}

/** What is looked for of a fact, as it stands in {@link Content}: words with a space before and after each, of telephones digits. */
function phrasesOf(fact: PatientFact, written: readonly string[]): string[] {
  switch (fact) {
    case 'first-name':
    case 'last-name':
      return written.flatMap(nameParts);
    case 'phone':
      return written.flatMap((number) => {
        const digits = phoneDigitsOf(number);
        return digits.length < FEWEST_PHONE_DIGITS ? [] : [digits];
      });
    case 'birth-date':
      return written.flatMap(datesOf);
    case 'address':
      // A street alone, without its number, may be anybody's.
      return written.map(wordsOf).filter((street) => /\d/.test(street) && isLong(street));
    default:
      return written.map(wordsOf).filter(isLong);
  }
}

/** Each word of a name that tells of somebody: of "De Luca" the second. */
function nameParts(name: string): string[] {
  return wordsOf(name)
    .split(' ')
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

function wordsOf(text: string): string {
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
