// Tier: full, at each change. It parses every test, tool and benchmark.
import { describe, expect, test } from 'vitest';
import { functionLengthBreaches, measuringBreaches } from './support/architecture.ts';
import { sourceFilesBelow } from './support/project-files.ts';

describe('tests, tools and benchmarks', () => {
  const tests = sourceFilesBelow('test');

  test('have functions of readable length', () => {
    expect(functionLengthBreaches([...['tools', 'bench'].flatMap(sourceFilesBelow), ...tests])).toEqual([]);
  });

  test('never measure the process that tests share', () => {
    expect(tests.length).toBeGreaterThan(0);
    expect(measuringBreaches(tests)).toEqual([]);
  });
});
