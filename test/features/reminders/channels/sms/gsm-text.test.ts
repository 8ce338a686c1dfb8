import fc from 'fast-check';
import { expect, test } from 'vitest';
import { segmentsOf } from '../../../../../src/features/reminders/channels/channel.ts';
import { gsmTextOf } from '../../../../../src/features/reminders/channels/sms/gsm-text.ts';

test.each([
  ['Studio dell’Angelo – Odontoiatria', "Studio dell'Angelo - Odontoiatria"],
  ['„Praxis“ «Nord»', '"Praxis" "Nord"'],
  ['at 9\u202fo’clock…', "at 9 o'clock..."],
  ['perche\u0301 no', 'perché no'],
  ['plain text, with à, ñ and €', 'plain text, with à, ñ and €'],
])('%s is written in the GSM alphabet', (text, written) => {
  expect(gsmTextOf(text)).toBe(written);
  expect(segmentsOf(written).encoding).toBe('GSM-7');
});

test.each(['Łukasz – 9:00', 'see you 👋 – bye'])('%s stays as it is, because the alphabet lacks a letter', (text) => {
  expect(gsmTextOf(text)).toBe(text);
});

test('a text is in the alphabet afterwards, or unchanged; a second pass changes nothing', () => {
  const part = fc.oneof(fc.constantFrom('’', '–', '…', '\u00a0', 'à', 'ł', '€', '👋'), fc.string({ maxLength: 3 }));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      const written = gsmTextOf(text);
      expect(written === text || segmentsOf(written).encoding === 'GSM-7').toBe(true);
      expect(gsmTextOf(written)).toBe(written);
    }),
  );
});
