import fc from 'fast-check';
import { type CountryCode, getCountries, getExampleNumber } from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples' with { type: 'json' };
import { describe, expect, test } from 'vitest';
import { toE164 } from '../../../src/domain/mapping/fields.ts';

const example = (country: CountryCode) => getExampleNumber(country, examples);
const countries = getCountries().filter((country) => example(country) !== undefined);

describe('a telephone number', () => {
  test.each([
    ['06 698 12345', 'IT', '+390669812345'],
    ['(333) 123.45-67', 'IT', '+393331234567'],
    ['0039 333 1234567', 'IT', '+393331234567'],
    ['+41 44 668 18 00', 'IT', '+41446681800'],
    ['044 668 18 00', 'CH', '+41446681800'],
    ['333 1234567 (mamma)', 'IT', '+393331234567'],
    ['06 698 12345 / 333 1234567', 'IT', '+393331234567'],
    ['tel. 06 698 12345', 'IT', '+390669812345'],
  ])('%s in %s is %s', (written, region, e164) => {
    expect(toE164(written, region)).toBe(e164);
  });

  test('more than fifteen digits are none, although the plan of a country has such numbers', () => {
    expect(toE164('8000000000000', 'DE')).toBe('+498000000000000');
    expect(toE164('80000000000000', 'DE')).toBeNull();
  });

  test.each(['06 698 12345 int. 3', '333', '', 'tel.', '+39', '06 698 12345-6', '=1+1'])('%j is none', (written) => {
    expect(toE164(written, 'IT')).toBeNull();
  });

  test('an unknown region accepts only international numbers', () => {
    expect(toE164('+393331234567', 'XX')).toBe('+393331234567');
    expect(toE164('333 1234567', 'XX')).toBeNull();
  });

  test.each(['national', 'international'] as const)('of every country is itself again, written %sly', (form) => {
    const wrong = countries.filter((country) => {
      const number = example(country);
      const written = form === 'national' ? number?.formatNational() : number?.formatInternational();
      const e164 = toE164(written ?? '', country);
      return e164 !== number?.number || toE164(e164 ?? '', 'IT') !== e164;
    });
    expect(countries.length).toBeGreaterThan(200);
    expect(wrong).toEqual([]);
  });

  test('what is one stays one: E.164 is a fixed point, whatever was written and wherever', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789 +-/().'), minLength: 5, maxLength: 18 });
    fc.assert(
      fc.property(digits, fc.constantFrom(...countries), fc.constantFrom(...countries), (written, here, there) => {
        const e164 = toE164(written, here);
        if (e164 === null) return;
        expect(e164).toMatch(/^\+[1-9]\d{3,14}$/);
        expect(toE164(e164, there)).toBe(e164);
      }),
      { numRuns: 500 },
    );
  });
});
