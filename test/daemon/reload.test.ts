import { expect, test } from 'vitest';
import { StableStamps } from '../../src/daemon/reload.ts';
import { type FileStamps, isSameStamps } from '../../src/settings/list-files.ts';

const look = (stamp: string): FileStamps => new Map([['a.yaml', stamp]]);
/** Returns the checks of a process that read the file in the state `first`. */
function began() {
  const looks = new StableStamps((found) => isSameStamps(found, look('first')));
  return (stamp: string, isAsked = false) => looks.isDue(look(stamp), { isAsked });
}

test('files that did not change are not read again', () => {
  const isDue = began();
  expect(['first', 'first', 'first'].map((stamp) => isDue(stamp))).toEqual([false, false, false]);
});

test('a changed file is read once, when two checks in a row found the same state', () => {
  const isDue = began();
  const looks = ['first', 'half', 'more', 'whole', 'whole', 'whole'];
  expect(looks.map((stamp) => isDue(stamp))).toEqual([false, false, false, false, true, false]);
});

test('a briefly missing file is treated as present', () => {
  const isDue = began();
  expect(['first', 'ENOENT', 'first', 'first'].map((stamp) => isDue(stamp))).toEqual([false, false, false, false]);
});

test('a change between startup and the first check is read', () => {
  const isDue = began();
  expect(['second', 'second', 'second'].map((stamp) => isDue(stamp))).toEqual([false, true, false]);
});

test('a request does not wait, and a file that is still being written is read again', () => {
  const isDue = began();
  expect(isDue('half', true)).toBe(true);
  expect(['whole', 'whole', 'whole'].map((stamp) => isDue(stamp))).toEqual([false, true, false]);
});
