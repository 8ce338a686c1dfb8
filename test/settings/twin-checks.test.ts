import { describe, expect, test } from 'vitest';
import { FilePart } from '../../src/settings/describe-issue.ts';
import { checkDoubleEndpoints, checkDoubleTargets, checkFormerTargets } from '../../src/settings/twin-checks.ts';
import type { YamlFile } from '../../src/settings/yaml-file.ts';
import { tenantWith } from './crm-file.ts';

/** Runs all checks. */
function faultsOf(file: YamlFile) {
  const targets = new FilePart(file, ['targets']);
  const endpoints = new FilePart(file, ['triggers', 'endpoints']);
  const checks = [checkDoubleTargets(targets), checkFormerTargets(targets), checkDoubleEndpoints(endpoints)];
  return checks.flatMap((found) => [...found].filter((fault) => fault !== undefined));
}

describe('a file with very many targets', () => {
  const KINDS: readonly (readonly [string, (at: number) => string])[] = [
    ['incomplete', (at) => `  t${at}: {}\n`],
    [
      'of different calendars',
      (at) => `  t${at}: { connector: a, connection: b, settings: { c: ${at} }, agendas: all }\n`,
    ],
    ['of different agendas', (at) => `  t${at}: { connector: a, connection: b, settings: {}, agendas: [a${at}] }\n`],
    ['with former names', (at) => `  t${at}: { formerly: f${at} }\n`],
  ];

  test.each(KINDS)('needs work in proportion to their number: %s', (_, target) => {
    const readsOf = (count: number) => {
      const file = tenantWith(Array.from({ length: count }, (_, at) => target(at)).join(''));
      let reads = 0;
      const counted: YamlFile = {
        ...file,
        valueAt(path) {
          reads += 1;
          return file.valueAt(path);
        },
      };
      faultsOf(counted);
      return reads;
    };
    expect(readsOf(400)).toBeLessThan(5 * readsOf(100));
  });
});

test('targets that share an agenda of a calendar are named with the first of them, whatever their order', () => {
  const target = (name: string, agendas: string) =>
    `  ${name}: { connector: google-calendar, connection: crm, settings: { calendar: c }, agendas: ${agendas} }\n`;
  const file = tenantWith(
    [target('a', '[1, 2]'), target('b', '[3]'), target('c', '[4, 3, 2]'), target('d', 'all'), target('e', '[9]')].join(
      '',
    ),
  );
  const twice = faultsOf(file);
  expect(twice.map(({ path, message }) => [path, /target (\w)/.exec(message)?.[1]])).toEqual([
    ['targets.c', 'a'],
    ['targets.d', 'a'],
    ['targets.e', 'd'],
  ]);
});
