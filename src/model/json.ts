/** Values that a text may hold: the smallest ones take 3 bytes of it, and 60 of memory and a tenth of a microsecond each. */
export const MOST_VALUES = 500_000;
/** Lists and objects within each other: no API nests deeper than ten, and who walks a value goes one call deeper with each. */
const DEEPEST = 100;

const [QUOTE, COMMA, BACKSLASH, OPENING, CLOSING] = [0x22, 0x2c, 0x5c, 0x7b, 0x7d];
/** The bit in which `[` differs from `{`, and `]` from `}`. */
const CURLED = 0x20;

/**
 * A text of JSON (RFC 8259; a byte order mark is let pass) as a value; undefined where it is none, or holds more than it may.
 * @param mostValues in it; as a rule {@link MOST_VALUES}
 */
export function parseJson(text: string | Buffer, mostValues = MOST_VALUES): unknown {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  if (!isModestJson(bytes, mostValues)) return undefined;
  const plain = text.toString();
  try {
    return JSON.parse(plain.startsWith('\uFEFF') ? plain.slice(1) : plain);
  } catch {
    return undefined;
  }
}

/** Whether a text of JSON may be parsed: one pass counts its values and its depth, before any of it takes memory. */
export function isModestJson(text: Uint8Array, mostValues = MOST_VALUES): boolean {
  const { length } = text;
  let values = 1;
  let depth = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) {
      at += 1;
      while (at < length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA) {
      values += 1;
    } else if ((byte | CURLED) === OPENING) {
      values += 1;
      depth += 1;
      if (depth > DEEPEST || values > mostValues) return false;
    } else if ((byte | CURLED) === CLOSING) {
      depth -= 1;
    }
  }
  return values <= mostValues;
}
