import { expect, test } from 'vitest';
import { closingLines, type FileResult, type TestResult } from './run-reporter.ts';

const FILE = 'test/engine/diff.test.ts';

function result(changes: Partial<TestResult>): TestResult {
  return { file: FILE, title: 'a group > a test', state: 'passed', reason: null, ...changes };
}

const file = (changes: Partial<FileResult> = {}): FileResult => ({ file: FILE, seconds: 1, failed: false, ...changes });

test('the last line counts the tests; skipped tests are mentioned if there are any', () => {
  expect(closingLines([result({}), result({})], [file()]).at(-1)).toBe('2 passed, 0 failed');
  expect(closingLines([result({}), result({ state: 'skipped' })], [file()]).at(-1)).toBe(
    '1 passed, 0 failed, 1 skipped',
  );
});

test('a failed test ends the run with the command that repeats it', () => {
  const title = "the plan (of 3) > Anna's $ visit";
  const lines = closingLines([result({}), result({ state: 'failed', title })], [file({ failed: true })]);
  const command = lines.find((line) => line.includes('npx vitest run')) ?? '';
  expect(lines).toContain(`  ${FILE} > ${title}`);
  expect(command).toContain(`npx vitest run ${FILE} -t `);
  const pattern = command.split(' -t ')[1]?.replaceAll(String.raw`'\''`, '"').slice(1, -1).replaceAll('"', "'") ?? '';
  expect("the plan (of 3) Anna's $ visit").toMatch(new RegExp(`^${pattern}$`));
});

test('a file that failed without a failed test is named, for example because it cannot be loaded', () => {
  const lines = closingLines([], [file({ failed: true }), file({ file: 'test/other.test.ts' })]);
  expect(lines.filter((line) => line.includes('npx vitest run'))).toEqual([`    npx vitest run ${FILE}`]);
  expect(lines.join('\n')).not.toContain('test/other.test.ts');
});

test('skipped tests are counted by file and reason', () => {
  const skipped = [
    result({ state: 'skipped', reason: 'no promtool' }),
    result({ state: 'skipped', reason: 'no promtool' }),
    result({ state: 'skipped' }),
  ];
  const lines = closingLines(skipped, [file()]);
  expect(lines).toContain(`     2  ${FILE}: no promtool`);
  expect(lines).toContain(`     1  ${FILE}: without a reason`);
});

test('the ten slowest of many files are named, slowest first; of a few files none', () => {
  const files = Array.from({ length: 12 }, (_, seconds) => file({ file: `test/${seconds}.test.ts`, seconds }));
  const named = closingLines([], files).filter((line) => line.includes(' s  test/'));
  expect(named).toHaveLength(10);
  expect(named[0]).toBe('    11.0 s  test/11.test.ts');
  expect(closingLines([], files.slice(0, 10)).filter((line) => line.includes(' s  test/'))).toEqual([]);
});
