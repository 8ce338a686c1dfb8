import fc from 'fast-check';
import { type CountryCode, getCountries, getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples' with { type: 'json' };
import { describe, expect, test } from 'vitest';
import { firstTelephone, telephonesIn } from '../../../src/core/model/telephones.ts';
import { mobileNumber } from '../../../src/features/reminders/content.ts';

const numbersIn = (written: string, region = 'IT') => telephonesIn(written, region).map(({ number }) => number);

describe('a telephone field as a front desk writes it', () => {
  test.each([
    ['333 1234567 / 06 1234567', ['+393331234567', '+39061234567']],
    ['333 1234567 - 347 7654321', ['+393331234567', '+393477654321']],
    ['333 1234567 o 347 7654321', ['+393331234567', '+393477654321']],
    ['333 1234567 oppure 347 7654321 e 06 1234567', ['+393331234567', '+393477654321', '+39061234567']],
    ['333 1234567;347 7654321', ['+393331234567', '+393477654321']],
    ['333 1234567, 347 7654321', ['+393331234567', '+393477654321']],
    ['333 1234567\n347 7654321', ['+393331234567', '+393477654321']],
    ['333.1234567/347.7654321', ['+393331234567', '+393477654321']],
    ['3331234567 3477654321', ['+393331234567', '+393477654321']],
    ['+393331234567+393477654321', ['+393331234567', '+393477654321']],
    ['1) 333 1234567 2) 347 7654321', ['+393331234567', '+393477654321']],
    ['tel. 06 1234567 cell. 333 1234567', ['+39061234567', '+393331234567']],
    ['333 1234567 (06 1234567)', ['+393331234567', '+39061234567']],
    ['333 1234567 (mamma)', ['+393331234567']],
    ['333 1234567 dopo le 18', ['+393331234567']],
    ['333 1234567 / 12', ['+393331234567']],
    ['casa: 06/1234567', ['+39061234567']],
    ['nuovo dal 01/12/2026: 06 1234567', ['+39061234567']],
    ['06 1234567 (01.12.2026)', ['+39061234567']],
    ['06-05-2024 333 1234567', ['+393331234567']],
    ['fax 06 1234567 tel 06 7654321', ['+39067654321']],
    ['+39 (0) 333 1234567', ['+393331234567']],
    ['+39 (0)6 1234567', ['+39061234567']],
    ['+44 (0)7700 900123', ['+447700900123']],
    ['+44 (0)7400 123456', ['+447400123456']],
    ['+52 1 55 1234 5678', ['+525512345678']],
    ['393331234567', ['+393331234567']],
    ['tel:+39-333-1234567', ['+393331234567']],
    ['\u202a+39\u00a0333\u20111234567\u202c', ['+393331234567']],
  ])('%j is read', (written, expected) => {
    expect(numbersIn(written)).toEqual(expected);
  });

  test.each([
    ['has an extension', '333 1234567 int. 12'],
    ['has an extension directly after it', '333 1234567x12'],
    ['has an extension as RFC 3966 writes it', 'tel:+39-333-1234567;ext=12'],
    ['has an extension behind a sign', '333 1234567#12'],
    ['has another ending, or is longer', '06 1234567/8'],
    ['has another ending behind a hyphen', '06 1234567-8'],
    ['may belong to the digits before it', '02/3331234567'],
    ['has another prefix before it', '+41/333 1234567'],
    ['has a letter for its last digit', '06 1234567O'],
    ['has a letter for its first digit', 'O6 1234567'],
    ['is not to be used', 'non chiamare 333 1234567'],
    ['is not to be used any more', '347 7654321 (vecchio: 333 1234567)'],
    ['is a mailbox', '333 1234567 12'],
    ['is a word', '1-800-FLOWERS'],
    ['is a date', '02/12/2024'],
  ])('nothing is read of a number that %s', (_what, written) => {
    expect(numbersIn(written)).toEqual([]);
  });

  test('nothing is read where digits may end one number or begin the next', () => {
    expect(numbersIn('0664 123000 0664/123000 / ', 'AT')).toEqual([]);
  });

  test('a text message goes to the first number that takes one', () => {
    expect(mobileNumber('06 1234567 / 333 1234567 / 347 7654321', 'IT')).toBe('+393331234567');
    expect(mobileNumber('06 1234567', 'IT')).toBeNull();
    expect(mobileNumber('333 1234567 int. 12, 347 7654321', 'IT')).toBeNull();
  });

  test('a CRM gets the first mobile number; if there is none, the first number', () => {
    expect(firstTelephone('06 1234567 / 333 1234567', 'IT')?.number).toBe('+393331234567');
    expect(firstTelephone('06 1234567 / 06 7654321', 'IT')?.number).toBe('+39061234567');
  });

  const countries = getCountries().filter((country) => getExampleNumber(country, examples) !== undefined);
  const local = fc.constantFrom<CountryCode>(...countries);
  /** A valid mobile number of a country with its last digits changed, and a way to write it there. */
  const numberOf = (country: CountryCode) =>
    fc
      .tuple(fc.integer({ min: 0, max: 999 }), fc.constantFrom('national', 'international', 'bare', 'digits', 'slash'))
      .map(([ending, form]) => {
        const example = getExampleNumber(country, examples)?.number ?? '';
        const number = parsePhoneNumberFromString(example.slice(0, -3) + String(ending).padStart(3, '0'));
        if (number?.isValid() !== true) return null;
        const national = number.formatNational();
        const forms = { national, international: number.formatInternational(), bare: number.number };
        const written = { ...forms, digits: national.replaceAll(/\D/g, ''), slash: national.replace(/[ -]/, '/') };
        return { number: number.number as string, written: written[form as keyof typeof written] };
      })
      .filter((one) => one !== null);
  const before = fc.constantFrom('', ' ', 'tel. ', 'cell: ', 'cell.', '(', 'Mario ', 'tel:', '\u200b', 'casa - ');
  const behind = fc.constantFrom(
    '',
    ' ',
    ' (mamma)',
    ' (ore 9-12)',
    ' int. 12',
    ' ext 3',
    'x7',
    '/8',
    '-8',
    ' - 12',
    ')',
    ' #4',
    '.',
  );
  const between = fc.constantFrom(
    ' / ',
    '/',
    ' - ',
    ' o ',
    ' e ',
    ' oppure ',
    ';',
    ', ',
    ',',
    '\n',
    ' ',
    ' casa ',
    ' (',
  );

  test('returns the written number or nothing, and never another number', () => {
    const fields = local.chain((country) =>
      fc.tuple(
        fc.constant(country),
        fc.array(fc.tuple(before, numberOf(country), behind, between), { minLength: 1, maxLength: 3 }),
      ),
    );
    let read = 0;
    fc.assert(
      fc.property(fields, ([country, parts]) => {
        const field = parts.map(([label, { written }, note, apart]) => `${label}${written}${note}${apart}`).join('');
        const meant = parts.map(([, { number }]) => number);
        const found = numbersIn(field, country);
        read += found.length;
        expect(
          found.filter((number) => !meant.includes(number)),
          `${country} ${JSON.stringify(field)}`,
        ).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
    expect(read).toBeGreaterThan(500);
  });
});

describe('a mobile number as everybody writes it', () => {
  test.each(['+39 347 0587061', '347 0587061', '347 058 7061', '3470587061'])('is read: %s', (written) => {
    expect(telephonesIn(written, 'IT')).toEqual([{ number: '+393470587061', type: 'MOBILE' }]);
  });

  test('is read whatever its digits are, with and without its prefix', () => {
    const digits = fc.integer({ min: 0, max: 9_999_999 }).map((number) => String(number).padStart(7, '0'));
    fc.assert(
      fc.property(fc.constantFrom('320', '333', '347', '348', '391'), digits, (prefix, subscriber) => {
        for (const written of [`+39 ${prefix} ${subscriber}`, `${prefix} ${subscriber}`, `${prefix}${subscriber}`]) {
          const numbers = telephonesIn(written, 'IT').map(({ number }) => number);
          expect(numbers, written).toEqual([`+39${prefix}${subscriber}`]);
        }
      }),
    );
  });
});
