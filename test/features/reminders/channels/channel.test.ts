import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { segmentsOf } from '../../../../src/features/reminders/channels/channel.ts';

const LETTER = fc.constantFrom(...'abc èéùìòà\n');
const EXTENDED = fc.constantFrom(...'€{}[]~|^\\');
const OTHER = fc.constantFrom('ç', '–', '’', '日', '👍', 'ń');
const text = (...characters: fc.Arbitrary<string>[]) => fc.string({ unit: fc.oneof(...characters), maxLength: 700 });

describe('a text becomes as many messages as are paid', () => {
  test.each([
    ['nothing', '', 'GSM-7', 1],
    ['160 letters', 'è'.repeat(160), 'GSM-7', 1],
    ['161 letters', 'a'.repeat(161), 'GSM-7', 2],
    ['306 letters', 'a'.repeat(306), 'GSM-7', 2],
    ['307 letters', 'a'.repeat(307), 'GSM-7', 3],
    ['80 euro signs', '€'.repeat(80), 'GSM-7', 1],
    ['81 euro signs', '€'.repeat(81), 'GSM-7', 2],
    ['153 euro signs: none is cut in two', '€'.repeat(153), 'GSM-7', 3],
    ['70 letters with one that GSM lacks', `${'a'.repeat(69)}ç`, 'UCS-2', 1],
    ['71 letters with one that GSM lacks', `${'a'.repeat(70)}ç`, 'UCS-2', 2],
    ['a typographic apostrophe', 'l’ora', 'UCS-2', 1],
    ['35 emoji', '👍'.repeat(35), 'UCS-2', 1],
    ['67 emoji: none is cut in two', '👍'.repeat(67), 'UCS-2', 3],
  ])('%s', (_, written, encoding, count) => expect(segmentsOf(written)).toEqual({ encoding, count }));

  test('never fewer than its size needs, and at most one in every part is left free', () => {
    fc.assert(
      fc.property(text(LETTER, EXTENDED), (written) => {
        const septets = [...written].reduce((sum, each) => sum + ('€{}[]~|^\\'.includes(each) ? 2 : 1), 0);
        const { encoding, count } = segmentsOf(written);
        expect(encoding).toBe('GSM-7');
        expect(count).toBeGreaterThanOrEqual(Math.ceil(septets / 160));
        if (septets > 160) expect(count).toBeLessThanOrEqual(Math.ceil(septets / 152));
      }),
    );
  });

  test('a longer text never becomes fewer', () => {
    fc.assert(
      fc.property(text(LETTER, EXTENDED, OTHER), text(LETTER, EXTENDED, OTHER), (one, more) => {
        expect(segmentsOf(one + more).count).toBeGreaterThanOrEqual(segmentsOf(one).count);
      }),
    );
  });
});
