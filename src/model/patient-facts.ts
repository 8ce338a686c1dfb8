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
  const leaving = lazily(() => texts.map(contentOf));
  const legitimate = lazily(() => {
    const open = FACTS.filter(mayTell).flatMap((fact) => writingsOf(fact, patient).map(String));
    return [...own(), ...open].map((text) => contentOf(text ?? null));
  });
  for (const fact of FACTS) {
    if (mayTell(fact)) continue;
    for (const phrase of phrasesOf(fact, patient)) {
      const isIn = ({ words, digits }: Content) => (fact === 'phone' ? digits : words).includes(phrase);
      if (leaving().some(isIn) && !legitimate().some(isIn)) return fact;
    }
  }
  return null;
}

/** A text as phrases are looked for in it. */
interface Content {
  /** Words of letters and digits in lower case without accents, a space before and after each. */
  words: string;
  /** Digits, those together that only signs and spaces part. */
  digits: string;
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
  const { firstName, lastName, email, phone, mobilePhone, taxCode, birthDate, address } = patient;
  const written: Record<PatientFact, (string | null | undefined)[]> = {
    'first-name': [firstName],
    'last-name': [lastName],
    email: [email],
    phone: [phone, mobilePhone],
    'tax-code': [taxCode],
    'birth-date': [birthDate],
    address: [address?.street],
  };
  return written[fact].filter((text) => text != null);
}

/** What is looked for of a fact, as it stands in {@link Content}. */
function phrasesOf(fact: PatientFact, patient: KnownPatient): string[] {
  const written = writingsOf(fact, patient);
  switch (fact) {
    case 'first-name':
    case 'last-name':
      return written.flatMap((name) => nameParts(wordsOf(name)));
    case 'phone':
      return written.flatMap((number) => {
        const digits = number.replaceAll(/\D/g, '').slice(-PHONE_DIGITS);
        return digits.length < FEWEST_PHONE_DIGITS ? [] : [digits];
      });
    case 'birth-date':
      return written.flatMap((date) => {
        const [year = '', month = '', day = ''] = date.split('-');
        return [
          ` ${year} ${month} ${day} `,
          ` ${day} ${month} ${year} `,
          ` ${month} ${day} ${year} `,
          ` ${year}${month}${day} `,
        ];
      });
    case 'address':
      // A street alone, without its number, may be anybody's.
      return written.map(wordsOf).filter((street) => /\d/.test(street) && isLong(street));
    default:
      return written.map(wordsOf).filter(isLong);
  }
}

/** Each word of a name that tells of somebody: of "De Luca" the second. */
function nameParts(name: string): string[] {
  return name
    .split(' ')
    .map((word) => ` ${word} `)
    .filter(isLong);
}

function isLong(phrase: string): boolean {
  return phrase.replaceAll(' ', '').length >= FEWEST;
}

function contentOf(text: string | null): Content {
  const read = unescaped(text ?? '');
  return { words: wordsOf(read), digits: read.replaceAll(/(?<=\d)[\s().+/-]+(?=\d)/g, '') };
}

function wordsOf(text: string): string {
  const plain = /^[\x20-\x7e]*$/.test(text) ? text : text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return ` ${plain
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
}

/** As it is read at the other end: `Nicol\u00f2` of JSON, `Nicol%C3%B2` of an address. */
function unescaped(text: string): string {
  const plain = text.replaceAll(/\\u([0-9a-f]{4})/gi, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  if (!plain.includes('%')) return plain;
  try {
    return `${plain} ${decodeURIComponent(plain)}`;
  } catch {
    return plain;
  }
}
