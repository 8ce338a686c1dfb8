import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readSource } from '../../tools/house/source.ts';
import { keyOf, proposedCommands } from '../support/proposed-commands.ts';
import { PROMISES } from './promises.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const proposed = proposedCommands(
  globSync('src/**/*.ts', { cwd: root }).map((path) => readSource(path, readFileSync(root + path, 'utf8'))),
);

describe('the table of the commands that sentences propose', () => {
  test('has each command of each sentence, next step and view once, and no other', () => {
    const promised = PROMISES.flatMap(({ command, by }) => by.map((source) => keyOf({ source, command })));
    expect(promised.toSorted()).toEqual(proposed.map(keyOf).toSorted());
  });

  test.each(PROMISES.map(({ command, effect, shownBy: [file, title] }) => [command, effect, file, title] as const))(
    'names a test that shows the effect: %s, %s',
    (_command, _effect, file, title) => {
      expect(existsSync(root + file), file).toBe(true);
      expect(readFileSync(root + file, 'utf8')).toMatch(runningTest(title));
    },
  );
});

describe('a proposed command', () => {
  const found = (path: string, content: string) =>
    proposedCommands([readSource(path, content)]).filter(({ source }) => source === path);

  test.each([
    ['`clinic-mirror sync <>`', 'sync <x>'],
    ['`run "clinic-mirror holds approve <> <> --seen <>" now`', 'holds approve <x> <x> --seen <x>'],
    ['`clinic-mirror <>config check`', 'config check'],
    ['`clinic-mirror --config <> run`', 'run'],
    ["'lists: clinic-mirror restore --all <file>; then wait'", 'restore --all <x>'],
  ])('is found with its options, and a placeholder for each value: %s', (literal, command) => {
    const content = `tell(${literal.replaceAll('<>', '$' + '{value}')});`;
    expect(found('src/operator/control/a.ts', content)).toEqual([{ source: 'src/operator/control/a.ts', command }]);
  });

  test('is not one in a description, a script or a sentence about the product', () => {
    const content = "tell('clinic-mirror writes nothing'); z.string().describe('for `clinic-mirror undo`');";
    expect(found('src/operator/control/a.ts', content)).toEqual([]);
    expect(found('src/operator/cli/completion.ts', "tell('clinic-mirror completion bash')")).toEqual([]);
  });
});

/** Matches the declaration of a test with this title that is not skipped. */
function runningTest(title: string): RegExp {
  const text = title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?:\\b(?:test|it)|\\))\\(\\s*['"]${text}['"],`);
}
