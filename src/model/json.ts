/** A text of JSON (RFC 8259; a byte order mark is let pass) as a value; undefined where it is none. */
export function parseJson(text: string | Buffer): unknown {
  const plain = text.toString();
  try {
    return JSON.parse(plain.startsWith('\uFEFF') ? plain.slice(1) : plain);
  } catch {
    return undefined;
  }
}
