import { telephonesIn } from '../../model/telephones.ts';

/** Types that can't take a text message; a number of unknown type is tried. */
const WITHOUT_MESSAGES: ReadonlySet<string> = new Set([
  'FIXED_LINE',
  'PREMIUM_RATE',
  'TOLL_FREE',
  'SHARED_COST',
  'VOICEMAIL',
  'UAN',
  'PAGER',
]);

/**
 * The first number of a telephone field that text messages can be sent to, in E.164 (`+393331234567`).
 * @param region ISO 3166 country of numbers without an international prefix
 * @returns null where no valid number can take messages, or which number is meant is not clear
 */
export function mobileNumber(written: string, region: string): string | null {
  const able = telephonesIn(written, region).find(({ type }) => !WITHOUT_MESSAGES.has(type ?? ''));
  return able?.number ?? null;
}
