// Tier: quick, at each change. Reads every test file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allTestFiles, quickFileFault, testFilesOf, tierOf } from './tiers.ts';

const root = join(import.meta.dirname, '../..');

test('every test file has a tier', () => {
  const files = allTestFiles(root);
  expect(files.length).toBeGreaterThan(0);
  expect(files.filter((file) => tierOf(file, readFileSync(join(root, file), 'utf8')) === null)).toEqual([]);
});

test('each file is in one tier, and no tier is empty', () => {
  const [quick, full] = [testFilesOf('quick', root), testFilesOf('full', root)];
  expect([...quick, ...full].sort()).toEqual(allTestFiles(root));
  expect(quick.filter((file) => full.includes(file))).toEqual([]);
  expect(Math.min(quick.length, full.length)).toBeGreaterThan(0);
});

test.each([
  ['of its folder', 'test/domain/a.test.ts', '', 'quick', false],
  ['of its folder, also deep below', 'test/e2e/calendars/a.test.ts', 'import x;', 'full', false],
  ['quick next to the folders', 'test/a.test.ts', '', 'quick', false],
  ['of its first line', 'test/e2e/a.test.ts', '// Tier: quick. The first calendar.\n', 'quick', false],
  ['of its first line in any folder', 'test/new/a.test.ts', '// Tier: full. Starts daemons.\n', 'full', false],
  ['with a run at each change', 'test/a.test.ts', '// Tier: quick, at each change. Reads it all.\n', 'quick', true],
])('a file has the tier %s', (_, file, source, tier, atEachChange) => {
  expect(tierOf(file, source)).toEqual({ tier, atEachChange });
});

test.each([
  ['in a folder that is not listed', 'test/new/a.test.ts', ''],
  ['with a name that only every object has', 'test/constructor/a.test.ts', ''],
  ['with an unknown tier', 'test/domain/a.test.ts', '// Tier: slow. It sleeps.\n'],
  ['without a reason', 'test/domain/a.test.ts', '// Tier: full.\n'],
])('a file %s has no tier', (_, file, source) => {
  expect(tierOf(file, source)).toBeNull();
});

test('a quick file above 5 s of processor time is named, and fails above 20 s, on a slow host later', () => {
  const usual = () => 1;
  expect(quickFileFault('test/a.test.ts', 5, usual)).toBeNull();
  expect(quickFileFault('test/a.test.ts', 9.9, () => 2)).toBeNull();
  const near = quickFileFault('test/a.test.ts', 9.9, usual);
  expect(near?.text).toContain('test/a.test.ts took 9.9 s of processor time');
  expect(near?.isFatal).toBe(false);
  expect(quickFileFault('test/a.test.ts', 20.1, usual)?.isFatal).toBe(true);
  expect(quickFileFault('test/a.test.ts', 20.1, () => 2)?.text).toContain('// Tier: full.');
});
