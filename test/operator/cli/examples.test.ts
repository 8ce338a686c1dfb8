import { expect, test } from 'vitest';
import { EXAMPLES, exampleOf } from '../../../src/operator/cli/examples.ts';
import { commandsOf, createProgram } from '../../../src/operator/cli/program.ts';
import { unusedOutside } from '../../../tools/unused-outside.ts';
import { commandFault } from '../../support/documented-commands.ts';

const commands = commandsOf(createProgram(unusedOutside()));

test('each command has an example, and there is no other', () => {
  const words = commands.map((command) => command.words.replace('clinic-mirror ', ''));
  expect(Object.keys(EXAMPLES).sort()).toEqual(words.sort());
});

test.each(commands.map(({ words }) => exampleOf(words) ?? words))('the parser takes %s', async (text) => {
  expect(await commandFault({ text, line: 1, isWhole: true })).toBeNull();
});

test('the help shows the example', () => {
  const { command } = commands.find(({ words }) => words.endsWith(' undo')) ?? {};
  let help = '';
  command?.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  expect(help).toContain('\nExample: clinic-mirror undo mx4fc49w --dry-run');
});
