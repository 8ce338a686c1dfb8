import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Equivalent, type MutantReport, renderScores, scoreOf } from '../../tools/mutant-scores.ts';

const FILE = 'src/engine/guard.ts';
const SOURCE = ['function isLarge(count: number) {', '  if (count > 10) {', '    return true;', '  }', '}'].join('\n');

function reportOf(...mutants: [status: string, from: string, to: string, replacement: string][]): MutantReport {
  const place = (at: string) => {
    const [line = 0, column = 0] = at.split(':').map(Number);
    return { line, column };
  };
  return {
    files: {
      [FILE]: {
        source: SOURCE,
        mutants: mutants.map(([status, from, to, replacement]) => ({
          status,
          replacement,
          location: { start: place(from), end: place(to) },
        })),
      },
    },
  };
}

const REPORT = reportOf(
  ['Survived', '2:19', '4:4', '{}'],
  ['NoCoverage', '2:7', '2:17', 'false'],
  ['Killed', '2:7', '2:17', 'true'],
  ['Timeout', '2:7', '2:17', 'count >= 10'],
  ['RuntimeError', '2:7', '2:17', 'count < 10'],
);
const LISTED: Equivalent = {
  file: FILE,
  line: 'if (count > 10) {',
  mutated: 'count > 10',
  replacement: 'false',
  why: 'no test reaches this count',
};

describe('the score of a file', () => {
  test('is the share of changes that a test detects; the others are listed in file order', () => {
    expect(scoreOf(FILE, REPORT, [], 2)).toEqual({
      file: FILE,
      killed: 2,
      timedOut: 1,
      survivors: [
        { at: '2:7', line: 'if (count > 10) {', mutated: 'count > 10', replacement: 'false' },
        { at: '2:19', line: 'if (count > 10) {', mutated: '{ return true; }', replacement: '{}' },
      ],
      equivalent: 0,
      outdated: [],
      score: 50,
      minutes: 2,
    });
  });

  test('excludes equivalent changes, even if their line has moved', () => {
    expect(scoreOf(FILE, REPORT, [LISTED], 2)).toMatchObject({
      killed: 2,
      equivalent: 1,
      outdated: [],
      score: 200 / 3,
    });
  });

  test('reports listed changes that are missing, or that a test detects', () => {
    const gone = { ...LISTED, line: 'if (count > 20) {' };
    const noticed = { ...LISTED, replacement: 'true' };
    const ofAnother = { ...LISTED, file: 'src/engine/diff.ts' };
    expect(scoreOf(FILE, REPORT, [gone, noticed, ofAnother], 2).outdated).toEqual([gone, noticed]);
  });
});

test('scores and survivors are printed in 100 columns at most', () => {
  const long = { ...LISTED, mutated: 'a'.repeat(300) };
  const text = renderScores([scoreOf(FILE, REPORT, [LISTED, long], 2)]);
  expect(text).toMatch(/^src\/engine\/guard\.ts +2 +1 +1 +1 +66\.7 +2\.0$/m);
  expect(text).toContain('src/engine/guard.ts:2:19\n  { return true; } → {}');
  expect(text).toContain('a…');
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100);
});

describe('the safety core', () => {
  const read = (name: string) => JSON.parse(readFileSync(`test/mutants/${name}`, 'utf8'));
  const nearestTests: Record<string, string[]> = read('nearest-tests.json');

  test('consists of existing files with existing tests, and includes the writing code of every connector', () => {
    for (const file of [...Object.keys(nearestTests), ...Object.values(nearestTests).flat()]) {
      expect(existsSync(file), file).toBe(true);
    }
    for (const file of globSync('src/connectors/*/{writing,flows}.ts'))
      expect(Object.keys(nearestTests)).toContain(file);
  });

  test('has a reason for each undetectable change', () => {
    const equivalents: Equivalent[] = read('equivalent.json');
    for (const { file, line, mutated, replacement, why } of equivalents) {
      expect(Object.keys(nearestTests)).toContain(file);
      expect(readFileSync(file, 'utf8')).toContain(line);
      expect(replacement).not.toBe(mutated);
      expect(why.length).toBeGreaterThan(20);
    }
  });
});
