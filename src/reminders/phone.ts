import { createRequire } from 'node:module';
import type * as PhoneNumbers from 'libphonenumber-js/max';

/** Loads a package when it is first needed: many installations never need this one. */
const load = createRequire(import.meta.url);

/** Types that can't take a text message; a number of unknown type is tried. */
const WITHOUT_MESSAGES = new Set([
  'FIXED_LINE',
  'PREMIUM_RATE',
  'TOLL_FREE',
  'SHARED_COST',
  'VOICEMAIL',
  'UAN',
  'PAGER',
]);

/**
 * A telephone number that text messages can be sent to, in E.164 (`+393331234567`).
 * @param region ISO 3166 country of numbers without an international prefix
 * @returns null for what is no valid number, or one that can't take messages
 */
export function mobileNumber(written: string, region: string): string | null {
  const { isSupportedCountry, parsePhoneNumberFromString } = load('libphonenumber-js/max') as typeof PhoneNumbers;
  const country: PhoneNumbers.CountryCode | undefined = isSupportedCountry(region) ? region : undefined;
  const number = parsePhoneNumberFromString(written, country);
  if (number === undefined || !number.isValid() || number.ext !== undefined) return null;
  return WITHOUT_MESSAGES.has(number.getType() ?? '') ? null : number.number;
}
