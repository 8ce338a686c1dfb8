import { createHmac, createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base32hex, derivedKey, fnv1a, keyedHash } from '../../../src/core/model/hashes.ts';

test.each([
  ['', ''],
  ['f', 'co'],
  ['fooba', 'cpnmuoj1'],
  ['foobar', 'cpnmuoj1e8'],
])('base32hex gives %j as RFC 4648 has it, in lower case and without padding', (text, encoded) => {
  expect(base32hex(Buffer.from(text))).toBe(encoded);
});

test('base32hex keeps bytes of one length apart and in their order', () => {
  const bytes = fc.uint8Array({ minLength: 20, maxLength: 20 });
  fc.assert(
    fc.property(bytes, bytes, (one, other) => {
      const [a, b] = [base32hex(one), base32hex(other)];
      expect(a).toMatch(/^[0-9a-v]{32}$/);
      expect(Math.sign(Buffer.compare(one, other))).toBe(a < b ? -1 : Number(a > b));
    }),
  );
});

test.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
])('FNV-1a of %j is the published one', (text, hash) => {
  expect(fnv1a(text)).toBe(hash);
});

test('a keyed hash is the HMAC of any text, short or long, with any key', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.string({ unit: fc.constantFrom('a', 'é', '愛', '👩', '\ud800'), minLength: 990, maxLength: 1_010 }),
  );
  const anyKey = fc.uint8Array({ minLength: 1, maxLength: 64 }).map((bytes) => createSecretKey(bytes));
  fc.assert(
    fc.property(anyKey, anyKey, fc.array(anyText, { maxLength: 5 }), (one, other, texts) => {
      const hashes = [one, other].map((key) => ({ key, keyed: keyedHash(() => key) }));
      for (const text of texts)
        for (const { key, keyed } of hashes) {
          const expected = createHmac('sha256', key).update(text).digest();
          expect(keyed(text, 'base64url')).toBe(expected.toString('base64url'));
          expect(Buffer.from(keyed(text, 'binary'), 'latin1')).toEqual(expected);
        }
    }),
  );
});

test('a derived key is the same each time, and another one for another key, owner or purpose', () => {
  const exported = (key: number, owner: string, purpose: string) =>
    derivedKey(Buffer.alloc(32, key), owner, purpose)().export().toString('hex');
  const all = [exported(1, 'a', 'x'), exported(2, 'a', 'x'), exported(1, 'b', 'x'), exported(1, 'a', 'y')];
  expect(new Set(all).size).toBe(all.length);
  expect(exported(1, 'a', 'x')).toBe(all[0]);
});
