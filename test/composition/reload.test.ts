import { expect, test } from 'vitest';
import { StableStamps } from '../../src/composition/reload.ts';
import { type FileStamps, isSameStamps } from '../../src/settings/list-files.ts';

const look = (stamp: string): FileStamps => new Map([['a.yaml', stamp]]);
/** Looks of a process that read the file as `first`. */
function began() {
  const looks = new StableStamps((found) => isSameStamps(found, look('first')));
  return (stamp: string, isAsked = false) => looks.isDue(look(stamp), { isAsked });
}

test('files that are as they were read are not read again', () => {
  const isDue = began();
  expect(['first', 'first', 'first'].map((stamp) => isDue(stamp))).toEqual([false, false, false]);
});

test('a file that changes is read when two looks in a row found the same, and once', () => {
  const isDue = began();
  const looks = ['first', 'half', 'more', 'whole', 'whole', 'whole'];
  expect(looks.map((stamp) => isDue(stamp))).toEqual([false, false, false, false, true, false]);
});

test('a file that was gone for a moment was never gone', () => {
  const isDue = began();
  expect(['first', 'ENOENT', 'first', 'first'].map((stamp) => isDue(stamp))).toEqual([false, false, false, false]);
});

test('what changed between the start and the first look is read', () => {
  const isDue = began();
  expect(['second', 'second', 'second'].map((stamp) => isDue(stamp))).toEqual([false, true, false]);
});

test('whoever asks does not wait, and what is written on is read again', () => {
  const isDue = began();
  expect(isDue('half', true)).toBe(true);
  expect(['whole', 'whole', 'whole'].map((stamp) => isDue(stamp))).toEqual([false, true, false]);
});
