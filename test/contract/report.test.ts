import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadReports, renderContract, rowsOf, saveReport } from './report.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'contract-report-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

describe('reports of the contract suite', () => {
  test('become one table of cases and connectors, with the reason of each skip', () => {
    const passed = { group: 'g', title: 'one', result: 'passed', reason: null } as const;
    saveReport({ connector: 'b', cases: [passed, { ...passed, title: 'two', result: 'failed' }] }, directory);
    saveReport({ connector: 'a', cases: [{ ...passed, result: 'skipped', reason: 'no pages' }] }, directory);
    expect(renderContract(loadReports(directory)).split('\n')).toEqual([
      'case    a    b',
      '──────  ───  ───',
      'g: one  n/a  yes',
      'g: two  –    NO',
      '',
      'a: 0 passed, 0 failed, 1 skipped',
      'b: 1 passed, 1 failed, 0 skipped',
      '',
      'Skipped:',
      '  a, g: one: no pages',
    ]);
    expect(rowsOf(loadReports(directory))[0]).toEqual({
      case: 'g: one',
      connector: 'a',
      result: 'skipped',
      reason: 'no pages',
    });
  });

  test('of several files of one connector are joined', () => {
    const passed = { group: 'g', title: 'one', result: 'passed', reason: null } as const;
    saveReport({ connector: 'a', cases: [passed] }, directory);
    saveReport({ connector: 'a', part: 'failures', cases: [{ ...passed, title: 'two' }] }, directory);
    expect(rowsOf(loadReports(directory)).map((row) => `${row.connector} ${row.case}`)).toEqual(
      expect.arrayContaining(['a g: one', 'a g: two']),
    );
    expect(renderContract(loadReports(directory))).toContain('a: 2 passed, 0 failed, 0 skipped');
  });

  test('replace the last one of the same connector', () => {
    saveReport({ connector: 'a', cases: [] }, directory);
    saveReport({ connector: 'a', cases: [{ group: 'g', title: 't', result: 'passed', reason: null }] }, directory);
    expect(loadReports(directory)).toHaveLength(1);
    expect(loadReports(directory)[0]?.cases).toHaveLength(1);
  });
});
