/** RFC 4648 section 7, lower case: what Google allows in an event id. */
const BASE32HEX = '0123456789abcdefghijklmnopqrstuv';

/** Bytes as base32hex in lower case, without padding: 20 bytes give 32 characters. */
export function base32hex(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let buffer = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32HEX[(buffer >> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + BASE32HEX[(buffer << (5 - bits)) & 31];
}
