import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { filesWithoutTest, hasLogic } from '../../../tools/house/measure.ts';
import { readSource } from '../../../tools/house/source.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const filesOf = (folder: string) => globSync(`${folder}/**/*.ts`, { cwd: root }).map((path) => ({ path }));

describe('a file of src', () => {
  test('with logic has a test of its name', () => {
    const untested = filesWithoutTest(filesOf('src'), filesOf('test'))
      .map(({ path }) => readSource(path, readFileSync(root + path, 'utf8')))
      .filter(hasLogic);
    expect(untested.map(({ path }) => path)).toEqual([]);
  });

  test('has the test of its path and name', () => {
    const source = [{ path: 'src/a/b.ts' }, { path: 'src/a/c.ts' }];
    expect(filesWithoutTest(source, [{ path: 'test/a/b.test.ts' }, { path: 'test/c.test.ts' }])).toEqual([
      { path: 'src/a/c.ts' },
    ]);
  });

  test.each([
    ['one condition and one default is wiring', 'src/a.ts', 'export const a = (b, c) => (b ? 1 : (c ?? 2));', false],
    [
      'three branches are logic',
      'src/a.ts',
      'export function a(b) { for (const c of b ?? []) if (c) return c; }',
      true,
    ],
    [
      'texts of a page are read by the tests of the page',
      'src/operator/documents/texts/a.ts',
      'a || b || c || d',
      false,
    ],
  ])('where %s', (_, path, content, expected) => {
    expect(hasLogic(readSource(path, content))).toBe(expected);
  });
});
