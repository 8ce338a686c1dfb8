/** Id of the org: part of the identity URL, and id of the only Organization record. */
export const ORG_ID = '00D5g0000000001EAA';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ012345';
const BASE_62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Characters between key prefix and serial number: instance and reserved, as in a real id. */
const MIDDLE = '5g000';

/**
 * Returns a record id of 18 characters: the object's prefix of three characters, the serial number in base 62, and a checksum of the
 * letters' case (Salesforce help, "What is the difference between 15 and 18-character IDs").
 */
export function newRecordId(keyPrefix: string, serial: number): string {
  let digits = '';
  for (let rest = serial; rest > 0; rest = Math.floor(rest / 62)) {
    digits = BASE_62[rest % 62]! + digits;
  }
  const short = keyPrefix + MIDDLE + digits.padStart(15 - keyPrefix.length - MIDDLE.length, '0');
  return short + checksumOf(short);
}

/** Returns the 18-character form of an id with 15 or 18 characters; undefined if the id is invalid. */
export function toLongId(id: string): string | undefined {
  if (!/^[0-9A-Za-z]{15}([0-9A-Za-z]{3})?$/.test(id)) {
    return undefined;
  }
  const short = id.slice(0, 15);
  return short + checksumOf(short);
}

/** Returns three characters, one for every five characters of the id: one bit per capital letter. */
function checksumOf(short: string): string {
  let suffix = '';
  for (const part of [short.slice(0, 5), short.slice(5, 10), short.slice(10)]) {
    let bits = 0;
    for (let at = 0; at < 5; at++) {
      bits += /[A-Z]/.test(part[at]!) ? 1 << at : 0;
    }
    suffix += ALPHABET[bits];
  }
  return suffix;
}
