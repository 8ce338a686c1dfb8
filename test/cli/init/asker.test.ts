import { expect, test } from 'vitest';
import { answersOf } from '../../../src/cli/init/asker.ts';

test('a file of answers that is no YAML is refused', () => {
  expect(() => answersOf('a: [', {}, () => {})).toThrow(expect.objectContaining({ code: 'answers-unusable' }));
});
