/** Characters of XML and HTML escapes without a number: XML, and the letters of HTML's Latin-1 (https://html.spec.whatwg.org/entities.json). */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['nbsp', ' '],
  ['rsquo', '’'],
  ['lsquo', '‘'],
  ['ndash', '–'],
  ['szlig', 'ß'],
  ['aelig', 'æ'],
  ['AElig', 'Æ'],
  ['oslash', 'ø'],
  ['Oslash', 'Ø'],
  ['deg', '°'],
  ['euro', '€'],
]);
/** Combining marks of accents in such names: `&egrave;`. */
const ACCENTS: ReadonlyMap<string, string> = new Map([
  ['grave', '\u0300'],
  ['acute', '\u0301'],
  ['circ', '\u0302'],
  ['tilde', '\u0303'],
  ['uml', '\u0308'],
  ['ring', '\u030A'],
  ['caron', '\u030C'],
  ['cedil', '\u0327'],
]);
const ESCAPE =
  /&(?:#(?<decimal>\d{1,7})|#x(?<hex>[\da-f]{1,6})|(?<letter>[a-z])(?<accent>grave|acute|circ|tilde|uml|ring|caron|cedil)|(?<name>[a-z]{2,6}));/gi;

/** Replaces XML and HTML escapes by their characters, once. Unknown escapes and control characters are unchanged. */
export function unescaped(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(ESCAPE, (whole, ...rest) => {
    const { decimal, hex, letter, accent, name } = rest.at(-1) as Record<string, string | undefined>;
    if (name !== undefined) return NAMED.get(name) ?? NAMED.get(name.toLowerCase()) ?? whole;
    if (letter !== undefined) return `${letter}${ACCENTS.get(accent?.toLowerCase() ?? '')}`.normalize('NFC');
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    const isText =
      code >= 0x20 && code <= 0x10ffff && !(code >= 0x7f && code < 0xa0) && !(code >= 0xd800 && code < 0xe000);
    return isText ? String.fromCodePoint(code) : whole;
  });
}
