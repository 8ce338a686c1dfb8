import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  FactSearch,
  lettersOf,
  type PatientDetails,
  type PatientFact,
  phoneDigitsOf,
} from '../../../src/core/model/patient-facts.ts';

const GIULIA: PatientDetails = {
  firstName: 'Giulia',
  lastName: 'De Nicolò',
  email: 'giulia.denicolo@posta.example',
  phone: '06 1234 5678',
  mobilePhone: '+39 333 123 4567',
  taxCode: 'DNCGLI80E52H501X',
  birthDate: '1980-05-12',
  address: { street: 'Via Appia Nuova 12', postalCode: '00183', city: 'Roma', province: 'RM', country: 'Italia' },
};

function told(
  text: string,
  { own = [], mayReveal = [] }: { own?: string[]; mayReveal?: PatientFact[] } = {},
  who = GIULIA,
) {
  return new FactSearch().revealedIn(who, {
    texts: [text],
    mayReveal: (fact) => mayReveal.includes(fact),
    own: () => own,
  });
}

describe('a text tells', () => {
  test.each([
    ['Busy: Giulia', 'first-name'],
    ['GIULIA.', 'first-name'],
    ['Visita di nicolò', 'last-name'],
    ['Visita di Nicolo', 'last-name'],
    ['{"summary":"Nicol\\u00f2"}', 'last-name'],
    ['https://calendar.example/?q=Nicol%C3%B2', 'last-name'],
    ['tel. 3331234567', 'phone'],
    ['0039 333-123.45.67', 'phone'],
    ['(06) 12345678', 'phone'],
    ['dncgli80e52h501x', 'tax-code'],
    ['nata il 12/05/1980', 'birth-date'],
    ['1980-05-12', 'birth-date'],
    ['born 5/12/1980, 05.12.1980', 'birth-date'],
    ['born 05/12/1980', 'birth-date'],
    ['19800512', 'birth-date'],
    ['1980 05 12', 'birth-date'],
    ['GIULIA.DENICOLO@POSTA.EXAMPLE', 'first-name'],
    ['Roma, via Appia nuova, 12', 'address'],
  ] satisfies [string, PatientFact][])('%s', (text, fact) => {
    expect(told(text)).toBe(fact);
  });

  test('an e-mail address without the name', () => {
    expect(told('to: gdn80@posta.example', {}, { ...GIULIA, email: 'gdn80@posta.example' })).toBe('email');
  });
});

test('letters and digits of two texts are compared, and the last digits of two telephones', () => {
  expect(lettersOf(' É-Große  1!')).toBe('EGROSSE1');
  expect(lettersOf('—')).toBe('');
  expect(phoneDigitsOf('+39 (333) 123-45.67')).toBe('331234567');
  expect(phoneDigitsOf('none')).toBe('');
});

describe('a name that is too short to be recognized', () => {
  const NOBODY: PatientDetails = { firstName: null, lastName: null };
  test.each<[PatientDetails, string, PatientFact | null]>([
    [{ ...NOBODY, phone: '123456' }, '123456', null],
    [{ ...NOBODY, phone: '1234567' }, '123 45-67', 'phone'],
    [{ ...NOBODY, email: 'a@b' }, 'a b', null],
    [{ ...NOBODY, email: 'ab@cd' }, 'ab@cd', 'email'],
    [{ ...NOBODY, taxCode: 'X1' }, 'X1', null],
    [{ ...GIULIA, address: { ...GIULIA.address!, street: 'Via Appia' } }, 'Via Appia', null],
    [{ ...GIULIA, address: { ...GIULIA.address!, street: 'R 1' } }, 'R 1', null],
    [{ ...NOBODY, lastName: '—Neri—' }, 'Neri', 'last-name'],
    [{ ...NOBODY, phone: '333 1234567 / 06 7654321' }, 'call 333-1234567', 'phone'],
    [{ ...NOBODY, phone: '333 1234567 / 06 7654321' }, '06 7654321', 'phone'],
    [{ ...NOBODY, phone: 'no digits' }, 'any text', null],
  ])('%o in "%s": %s', (who, text, fact) => {
    expect(told(text, {}, who)).toBe(fact);
  });
});

describe('a text does not tell', () => {
  test.each([
    'Busy',
    'Appointment 7K2M',
    'G. D.',
    'Giuliana, Nicolòtto',
    'Via Appia Nuova',
    'Roma',
    '2026-11-23T10:00:00+01:00',
    'Room 333, floor 123',
    '',
    '100 %',
    '%zz',
  ])('%s', (text) => {
    expect(told(text)).toBeNull();
  });

  test('a name that the clinic shares, as long as no other value identifies the patient', () => {
    const own = ['Studio Nicolò, Via Giulia 1'];
    expect(told('Studio Nicolò, Via Giulia 1', { own })).toBeNull();
    expect(told('Studio Nicolò 3331234567', { own })).toBe('phone');
  });

  test('an allowed value, also within another allowed value', () => {
    expect(told('Giulia', { mayReveal: ['first-name'] })).toBeNull();
    expect(told('giulia.denicolo@posta.example', { mayReveal: ['email'] })).toBeNull();
    expect(told('Giulia De Nicolò', { mayReveal: ['first-name'] })).toBe('last-name');
  });

  test('a name that is one sign, which is its own initial', () => {
    expect(told('ﷲ.', {}, { firstName: 'ﷲ', lastName: null })).toBeNull();
    expect(told('㈝.', {}, { firstName: null, lastName: '㈝' })).toBeNull();
    expect(told('㈝.', {}, { firstName: '㈝ Rossi', lastName: null })).toBeNull();
    expect(told('㈝ Rossi', {}, { firstName: '㈝ Rossi', lastName: null })).toBe('first-name');
  });

  test('names of three letters, which stand everywhere', () => {
    expect(told('Ada Li, Ada', {}, { firstName: 'Ada', lastName: 'Li' })).toBeNull();
  });
});

test('a name in any text is found, and after its removal it is not', () => {
  const letters = fc.stringMatching(/^[a-zàèìòù]{4,12}$/);
  const signs = fc.constantFrom(' ', ', ', ': ', '\n', '/', '"', '—');
  fc.assert(
    fc.property(letters, fc.array(fc.stringMatching(/^[0-9]{1,6}$/)), signs, (lastName, others, sign) => {
      const who = { firstName: null, lastName };
      const written = [...others, lastName.toUpperCase(), ...others].join(sign);
      const without = others.join(sign);
      expect(told(written, {}, who)).toBe('last-name');
      expect(told(without, {}, who)).toBeNull();
      expect(told(encodeURIComponent(written), {}, who)).toBe('last-name');
    }),
  );
});

test('a search that has seen other patients and texts finds what a new one finds', () => {
  const words = fc.constantFrom('Giulia', 'De Luca', 'Nicolò', 'Appuntamento', 'Via Roma 1', '3331234567', 'Ada');
  const look = fc.record({
    firstName: fc.option(words),
    lastName: fc.option(words),
    texts: fc.array(words),
    own: words,
  });
  fc.assert(
    fc.property(fc.array(look, { maxLength: 30 }), (looks) => {
      const search = new FactSearch();
      for (const { texts, own, ...who } of looks) {
        const leaving = { texts: [texts.join(' ')], mayReveal: () => false, own: () => [own] };
        expect(search.revealedIn(who, leaving)).toBe(new FactSearch().revealedIn(who, leaving));
      }
    }),
  );
});
