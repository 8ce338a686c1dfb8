/** GSM 03.38 basic characters (3GPP TS 23.038 section 6.2.1), one septet each. */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
/** The extension table (section 6.2.1.1): two septets that stay together. */
const EXTENDED = new Set('\f^{}\\[~]|€');
/** Septets, or units of UCS-2, in a message alone and in each part of a longer one (section 9.2.3.24.1 of TS 23.040). */
const GSM = { alone: 160, part: 153 };
const UCS2 = { alone: 70, part: 67 };

/** How a text travels, and in how many messages, each of which is paid. */
export interface Segments {
  encoding: 'GSM-7' | 'UCS-2';
  count: number;
}

/** Counts the messages that a text becomes. A character is never cut in two, so a part may stay short of full. */
export function segmentsOf(text: string): Segments {
  const characters = [...text];
  const isGsm = characters.every((each) => BASIC.has(each) || EXTENDED.has(each));
  const limits = isGsm ? GSM : UCS2;
  const sizes = characters.map((each) => (isGsm ? (EXTENDED.has(each) ? 2 : 1) : each.length));
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  return { encoding: isGsm ? 'GSM-7' : 'UCS-2', count: whole <= limits.alone ? 1 : partsOf(sizes, limits.part) };
}

function partsOf(sizes: readonly number[], limit: number): number {
  let parts = 1;
  let used = 0;
  for (const size of sizes) {
    if (used + size > limit) {
      parts += 1;
      used = 0;
    }
    used += size;
  }
  return parts;
}
