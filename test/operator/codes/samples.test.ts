import { expect, test } from 'vitest';
import { sample, sampleOf, sentence } from '../../../src/operator/codes/samples.ts';

test('the sample of a code is its message as a sentence, with sample values', () => {
  expect(sampleOf('no-such-code')).toBe('There is no code "\\<code>".');
  expect(sampleOf('no-such-hold')).toMatch(/^Hold ".*" does not exist\.$/);
  expect(sample({ code: 'no-such-code', values: { code: 'x' } })).toBe('There is no code "x".');
});

test('a message is found in its area, and a code without a message has no sample', () => {
  expect(sampleOf('user-unknown')).toContain('clinic.appointments.list: the clinic system does not know');
  expect(sampleOf('without-a-message')).toBeNull();
});

test.each([
  ['the server is away', 'The server is away.'],
  ['Why?', 'Why?'],
  ['doctor-1 waits', 'doctor-1 waits.'],
])('%j becomes the sentence %j', (text, expected) => {
  expect(sentence(text)).toBe(expected);
});
