import { expect, test } from 'vitest';
import { WEEK } from '../../../../../src/operator/http-server/pages/texts/week.ts';

const { en, it } = WEEK;

test.each([
  [en.differences(1), '1 difference'],
  [en.differences(2), '2 differences'],
  [it.differences(1), '1 differenza'],
  [it.differences(2), '2 differenze'],
])('singular and plural have their own forms, in both languages: %s, %s', (shown, expected) => {
  expect(shown).toBe(expected);
});
