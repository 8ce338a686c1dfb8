import { expect, test } from 'vitest';
import { remembered } from '../../src/model/remembered.ts';

test('what is made of a text is made once while few others come, and again after many', () => {
  const made: string[] = [];
  const lengthOf = remembered(2, (text) => {
    made.push(text);
    return text.length;
  });
  expect(['a', 'bb', 'a', 'bb', 'ccc', 'a'].map(lengthOf)).toEqual([1, 2, 1, 2, 3, 1]);
  expect(made).toEqual(['a', 'bb', 'ccc', 'a']);
});
