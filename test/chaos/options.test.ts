import { expect, test } from 'vitest';
import { tallyOf } from './judge/tally.ts';
import { readOptions, USAGE } from './options.ts';
import { isProved, Reporter, renderReport, renderTrials, wrap } from './report.ts';
import { choiceOf, scriptOf } from './script/generate.ts';

const long = (text: string) => text.split('\n').filter((line) => line.length > 100);

test('reads the command line, and refuses unknown options', () => {
  expect(readOptions(['--runs', '3', '--seed', '7', '--json'])).toMatchObject({ runs: 3, seed: 7, json: true });
  expect(readOptions(['--help'])).toBeNull();
  expect(readOptions(['--redis', 'cluster'])).toMatchObject({ redis: 'cluster' });
  expect(() => readOptions(['--redis', 'cluster', '--without', 'guard'])).toThrow(RangeError);
  expect(readOptions(['--without', 'all'])).toMatchObject({ without: 'all' });
  for (const args of [
    ['--redis', 'x'],
    ['--runs', '0'],
    ['--seed', 'x'],
    ['--only', 'x'],
    ['--without', 'x'],
    ['--nonsense'],
  ]) {
    expect(() => readOptions(args)).toThrow(RangeError);
  }
  expect(long(USAGE)).toEqual([]);
});

test('a report counts faults and defects over all runs and shows them in a hundred columns', () => {
  const reporter = new Reporter();
  const defects = Array.from({ length: 12 }, (_, index) => ({
    kind: 'missing' as const,
    text: `aurora/doctor-1: "${'A patient with a long name '.repeat(index + 1)}"`,
  }));
  const timePassed = [{ aheadMs: 3_900_000, unsettled: ['aurora/room waiting'] }];
  const awaits = { met: ['a', 'b'], struck: ['a'] };
  const run = { byFault: { kill: 2 }, awaits, unsettled: [], timePassed: [], searched: [], seconds: 1 };
  reporter.add({ ...run, timePassed, script: scriptOf(1, choiceOf([])), defects: [], tally: tallyOf([]) }, null);
  reporter.add({ ...run, script: scriptOf(2, choiceOf([])), defects, tally: tallyOf(defects) }, null);
  const report = reporter.report();
  expect(report).toMatchObject({ runs: 2, faultsInjected: 4, byFault: { kill: 4 }, missing: 12, duplicates: 0 });
  expect(report.examples).toHaveLength(1);
  expect(report.timePassed).toEqual({ runs: 1, seeds: [{ seed: 1, times: timePassed }] });
  const text = renderReport(report);
  expect(long(text)).toEqual([]);
  expect(text).toContain('… and 4 more');
  expect(text).toContain('seed 2:');
  expect(text).toContain(
    '1 runs were in sync after the clocks were set ahead\n  seed 1: 65 min for aurora/room waiting',
  );
});

test('a trial counts the defects that its safety prevents, and names the others', () => {
  const reporter = new Reporter('guard');
  const run = { byFault: {}, awaits: { met: [], struck: [] }, unsettled: [], timePassed: [], searched: [], seconds: 1 };
  for (const [seed, kind] of [[1, 'unjustifiedDeletes'] as const, [2, 'missing'] as const]) {
    const defects = [{ kind, text: 'aurora/room' }];
    reporter.add({ ...run, script: scriptOf(seed, choiceOf([])), defects, tally: tallyOf(defects) }, null);
    reporter.addControl({ ...run, script: scriptOf(seed, choiceOf([])), defects: [], tally: tallyOf([]) });
  }
  const report = reporter.report();
  expect(report.without).toEqual({
    ...{ safety: 'guard', runs: 2, detected: 1, byKind: { unjustifiedDeletes: 1, missing: 1 } },
    control: { runs: 2, defects: 0 },
  });
  expect(renderReport(report)).toContain(
    'without guard: detected in 1 of 2 (unjustifiedDeletes 1, missing 1), with it: a defect in 0 of 2',
  );
});

test('trials are a table with a line for each safety, and a proof if each run found the prevented defects', () => {
  const guard = { safety: 'guard', runs: 3, detected: 3, byKind: { unjustifiedDeletes: 3, missing: 1 } };
  const fencing = { safety: 'own-keys', runs: 3, detected: 2, byKind: { duplicates: 2 } };
  const trials = [
    { ...guard, control: { runs: 3, defects: 0 } },
    { ...fencing, control: { runs: 0, defects: 0 } },
  ];
  expect(renderTrials(trials).split('\n')).toEqual([
    'safety    without it  with it  defects in so many runs',
    'guard     3 of 3      0 of 3   unjustifiedDeletes 3, missing 1',
    'own-keys  2 of 3      –        duplicates 2',
  ]);
  expect(trials.map(isProved)).toEqual([true, false]);
  expect(isProved({ ...guard, control: { runs: 3, defects: 1 } })).toBe(false);
});

test('a string longer than a line is not cut', () => {
  expect(wrap(`one ${'x'.repeat(150)} two`, '  ')).toEqual(['one', `  ${'x'.repeat(150)}`, '  two']);
});
