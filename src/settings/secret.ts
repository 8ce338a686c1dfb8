import { inspect } from 'node:util';

const SHOWN_AS = '[secret]';

/** A value that must not be shown. Printing it in any usual way gives `[secret]`; `reveal` is called at the place of use. */
export class Secret<Value = string> {
  readonly #value: Value;
  readonly #readFrom: string | null;

  /** @param readFrom the file, variable or sealed name that holds the value; null if the value stands in the configuration itself */
  constructor(value: Value, readFrom: string | null = null) {
    this.#value = value;
    this.#readFrom = readFrom;
  }

  /** Names the place to correct if the value is refused. */
  get readFrom(): string | null {
    return this.#readFrom;
  }

  /** The value itself, to be used and not kept. */
  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return SHOWN_AS;
  }

  toJSON(): string {
    return SHOWN_AS;
  }

  [inspect.custom](): string {
    return SHOWN_AS;
  }
}

/** A remedy for refused secrets, with the files and variables that hold them; as given where the configuration itself holds them all. */
export function namingSources(remedy: string, secrets: readonly (Secret<unknown> | null | undefined)[]): string {
  const sources = [...new Set(secrets.flatMap((secret) => secret?.readFrom ?? []))];
  return sources.length === 0 ? remedy : `${remedy}; the secret is read from ${sources.join(' or ')}`;
}

/** Bytes of a key for HMAC-SHA256 or AES-256. */
const KEY_BYTES = 32;

/** Reads a key of 32 bytes written as 64 hexadecimal digits or in base64 (either alphabet, padded or not); else null. */
export function decodeKey(text: string): Uint8Array | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === KEY_BYTES ? bytes : null;
}
