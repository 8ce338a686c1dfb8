import { segmentsOf } from '../channel.ts';

/**
 * Typographic characters without a place in the GSM alphabet, and their GSM forms. One of them would make the whole message UCS-2, with 70
 * instead of 160 characters.
 * @see 3GPP TS 23.038 section 6.2.1
 */
const FORMS: readonly (readonly [characters: string, form: string])[] = [
  ['\u2018\u2019\u201a\u201b\u2032\u2035\u02b9\u02bb\u02bc\u02c8\u2039\u203a`\u00b4', "'"],
  ['\u201c\u201d\u201e\u201f\u2033\u2036\u00ab\u00bb\u02ba\u301d\u301e', '"'],
  ['\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff', ''],
  ['\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\u2022\u00b7\u2219', '-'],
  ['\u1680\u2028\u2029\t', ' '],
  ['\u2044\u2215', '/'],
  ['\u00d7', 'x'],
  ['\u00b0', 'o'],
];
const GSM_FORMS = new Map(FORMS.flatMap(([characters, form]) => [...characters].map((each) => [each, form] as const)));

/**
 * Returns a text message with typographic characters in GSM forms, or unchanged if it has other characters that the alphabet lacks, such as
 * letters and emoji. Spaces, ellipses and ligatures have compatibility forms (NFKC); NFC joins accents with letters.
 */
export function gsmTextOf(text: string): string {
  const formOf = (each: string) => GSM_FORMS.get(each) ?? each;
  const forms = [...text.normalize('NFC')].map(
    (each) => GSM_FORMS.get(each) ?? [...each.normalize('NFKC')].map(formOf).join(''),
  );
  const gsmText = forms.join('');
  return segmentsOf(gsmText).encoding === 'GSM-7' ? gsmText : text;
}
