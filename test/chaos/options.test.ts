import { expect, test } from 'vitest';
import { tallyOf } from './judge/tally.ts';
import { readOptions, USAGE } from './options.ts';
import { Reporter, renderReport, wrap } from './report.ts';
import { choiceOf, scriptOf } from './script/generate.ts';

const long = (text: string) => text.split('\n').filter((line) => line.length > 100);

test('the command line is read, and what is not understood is refused', () => {
  expect(readOptions(['--runs', '3', '--seed', '7', '--json'])).toMatchObject({ runs: 3, seed: 7, json: true });
  expect(readOptions(['--help'])).toBeNull();
  for (const args of [['--runs', '0'], ['--seed', 'x'], ['--only', 'x'], ['--without', 'x'], ['--nonsense']]) {
    expect(() => readOptions(args)).toThrow(RangeError);
  }
  expect(long(USAGE)).toEqual([]);
});

test('a report counts faults and defects over all runs and shows them in a hundred columns', () => {
  const reporter = new Reporter();
  const defects = Array.from({ length: 12 }, (_, index) => ({
    kind: 'missing' as const,
    text: `aurora/doctor-1: "${'Somebody with a long name '.repeat(index + 1)}"`,
  }));
  const run = { byFault: { kill: 2 }, awaits: { met: ['a', 'b'], struck: ['a'] }, unsettled: [], seconds: 1 };
  reporter.add({ ...run, script: scriptOf(1, choiceOf([])), defects: [], tally: tallyOf([]) }, null);
  reporter.add({ ...run, script: scriptOf(2, choiceOf([])), defects, tally: tallyOf(defects) }, null);
  const report = reporter.report();
  expect(report).toMatchObject({ runs: 2, faultsInjected: 4, byFault: { kill: 4 }, missing: 12, duplicates: 0 });
  expect(report.examples).toHaveLength(1);
  const text = renderReport(report);
  expect(long(text)).toEqual([]);
  expect(text).toContain('… and 4 more');
  expect(text).toContain('seed 2:');
});

test('a word that is longer than a line is left whole', () => {
  expect(wrap(`one ${'x'.repeat(150)} two`, '  ')).toEqual(['one', `  ${'x'.repeat(150)}`, '  two']);
});
