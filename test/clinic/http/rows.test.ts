import { expect, test } from 'vitest';
import { asFlag, asId, folded } from '../../../src/clinic/http/rows.ts';

test('flags, ids and words are read in their usual spellings', () => {
  expect(['S', 'sì', 1, true, 'no', 0, 'maybe', null].map(asFlag)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
    null,
    null,
  ]);
  const values = [7, 'a/1', 'a~patient', 1.5, ' ', '..', null, 'a~patient:1'];
  expect(values.map(asId)).toEqual(['7', 'a/1', 'a~patient', null, null, null, null, null]);
  expect(['Checked_In', '-1', '--'].map(folded)).toEqual(['checkedin', '-1', '--']);
});
