import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isGuessable } from '../../../src/operator/control/guessable.ts';

describe('a passphrase is guessable', () => {
  test.each([
    ['a known password twice', 'passwordpassword'],
    ['a known password with other characters, twice', 'P@ssw0rdP@ssw0rd'],
    ['a known password with a sequence', 'Password123456789'],
    ['a row of the keyboard', 'qwertyuiopasdfgh'],
    ['two rows of the keyboard', '1q2w3e4r5t6y7u8i'],
    ['a sequence', 'abcdefghijklmnop'],
    ['one character', 'aaaaaaaaaaaaaaaaaaaa'],
    ['the name of the product', 'clinic-mirror-clinic-mirror'],
    ['a repetition of the largest length', 'xK#9'.repeat(64)],
  ])('%s', async (_, passphrase) => {
    expect(await isGuessable(passphrase)).toBe(true);
  });

  test.each([
    ['four random words', 'correct horse battery staple'],
    ['four random Italian words', 'lampada treno verde sasso'],
    ['characters of a generator', 'vJ8-qLz4!wTb2Rd'],
  ])('not: %s', async (_, passphrase) => {
    expect(await isGuessable(passphrase)).toBe(false);
  });
});

test('rating any passphrase of 256 characters blocks the process only for a moment', async () => {
  await isGuessable('loads the list');
  const characters = fc.constantFrom('@4{0(!1|$5+7%2', 'aA1!', 'password', '0123456789/.-', 'é漢字ß');
  const passphrases = characters.chain((from) =>
    fc.string({ unit: fc.constantFrom(...from), minLength: 256, maxLength: 256 }),
  );
  await fc.assert(
    fc.asyncProperty(passphrases, async (passphrase) => {
      const before = process.threadCpuUsage();
      await isGuessable(passphrase);
      expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(500);
    }),
    { numRuns: 10 },
  );
});
