import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { addOperations } from '../../../src/operator/cli/operation-commands.ts';
import { printer } from '../../../src/operator/cli/output.ts';
import type { AnyOperation, CommandBinding } from '../../../src/operator/operations/operation.ts';
import { runProgram } from './run-program.ts';

const INPUT = z.strictObject({
  tenant: z.string().describe('Id of the tenant'),
  maxCount: z.number().default(5).describe('Most of them'),
  isForced: z.boolean().default(false),
  state: z.enum(['open', 'closed']).nullable().default(null),
  text: z.string().nullable().default(null),
});

type Table = Record<string, AnyOperation>;

/** An operation that answers its input, and a secret that its output does not have. */
function echo(
  binding: Partial<CommandBinding<Record<string, unknown>>> = {},
  more: Partial<AnyOperation> = {},
): AnyOperation {
  return {
    ...{ summary: 'echo what is typed', level: 'viewer', http: null, input: INPUT },
    output: z.looseObject({ secret: z.undefined().optional() }),
    commands: [{ words: 'echo <tenant>', ...binding }],
    run: async (input) => input,
    document: async () => (input) => ({ title: `echo of ${(input as { tenant: string }).tenant}`, blocks: [] }),
    ...more,
  };
}

/** Runs a command of the operations of this table. */
function run(operations: Table, args: readonly string[], files: Record<string, string> = {}) {
  return runProgram(args, { files }, (outside) => {
    const program = new Command('clinic-mirror');
    const options = () => ({ config: 'config', as: null, reason: null });
    const words = Object.values(operations).flatMap(({ commands }) =>
      commands.map((each) => each.words.split(' ')[0]!),
    );
    addOperations(
      program,
      { outside, options, print: printer(outside.out, () => true), operations },
      ...new Set(words),
    );
    // Of a program with one command alone its name could be left out.
    program.command('other');
    return program;
  });
}

/** What an operation was run with. */
async function inputOf(operation: AnyOperation, args: readonly string[], files: Record<string, string> = {}) {
  const { out, thrown } = await run({ echo: operation }, [...args, '--json'], files);
  expect(thrown).toBeNull();
  return JSON.parse(out);
}

describe('the options of an operation', () => {
  test('are the fields of its input in kebab case; the schema defines numbers, flags and defaults', async () => {
    expect(await inputOf(echo(), ['echo', 'rossi'])).toMatchObject({ tenant: 'rossi', maxCount: 5, isForced: false });
    const typed = ['echo', 'rossi', '--max-count', '7', '--is-forced', '--state', 'open'];
    expect(await inputOf(echo(), typed)).toMatchObject({ maxCount: 7, isForced: true, state: 'open' });
  });

  test.each([
    ['a number that is none', ['echo', 'rossi', '--max-count', 'many'], 'use a whole number'],
    ['an unknown choice', ['echo', 'rossi', '--state', 'ajar'], 'Allowed choices are open, closed'],
    ['no argument', ['echo'], "missing required argument 'tenant'"],
    ['a field that the command gives', ['echo', 'rossi', '--text', 'x'], "unknown option '--text'"],
  ])('refuse %s before the operation runs', async (_, args, says) => {
    const run = () => Promise.reject(new Error('it was run'));
    const ran = await runOf(echo({ fixed: { text: 'given' } }, { run }), args);
    expect(ran).toMatchObject({ code: 1, out: '', err: expect.stringContaining(says) });
  });

  test('without a required value are refused', async () => {
    const input = INPUT.extend({ text: z.string() });
    expect(await runOf(echo({}, { input }), ['echo', 'rossi'])).toMatchObject({
      ...{ code: 1, err: expect.stringContaining("required option '--text <text>' not specified") },
    });
  });

  test('have a preset without a value, and can come from a file', async () => {
    const preset = echo({ options: { text: { flags: '--day [date]', preset: 'today' } } });
    expect(await inputOf(preset, ['echo', 'rossi', '--day'])).toMatchObject({ text: 'today' });
    const fromFile = echo({ options: { text: { fromFile: (text) => text.toUpperCase() } } });
    expect(await inputOf(fromFile, ['echo', 'rossi', '--text', 'a.txt'], { 'a.txt': 'abc' })).toMatchObject({
      text: 'ABC',
    });
    expect(await inputOf(fromFile, ['echo', 'rossi'])).toMatchObject({ text: null });
  });

  test('that the schema does not accept are request-invalid', async () => {
    const input = INPUT.extend({ maxCount: z.number().max(9).default(5) });
    const { thrown } = await runOf(echo({}, { input }), ['echo', 'rossi', '--max-count', '10']);
    expect(thrown).toMatchObject({ actor: 'settings', code: 'request-invalid' });
  });
});

describe('a text of an operation', () => {
  test('is read from the file in an argument; from standard input the command trims it', async () => {
    const files = { 'a.txt': ' abc\n', '': ' typed\n' };
    const named = echo({ words: 'echo <tenant> <file>', reads: { field: 'text', argument: 'file' } });
    expect(await inputOf(named, ['echo', 'rossi', 'a.txt'], files)).toMatchObject({ text: ' abc\n' });
    const typed = echo({ reads: { field: 'text' } });
    expect(await inputOf(typed, ['echo', 'rossi'], files)).toMatchObject({ text: 'typed' });
  });

  test('is written to the file in an option', async () => {
    const writes = {
      flags: '--write <file>',
      about: 'writes it',
      of: (result: unknown) => `for ${(result as { tenant: string }).tenant}`,
    };
    expect((await runOf(echo({ writes }), ['echo', 'rossi', '--write', 'new.txt'])).written).toEqual({
      'new.txt': 'for rossi',
    });
    expect((await runOf(echo({ writes }), ['echo', 'rossi'])).written).toEqual({});
  });
});

describe('several operations of one command', () => {
  const named = (name: string, by: CommandBinding<Record<string, unknown>>['by'] = undefined) =>
    echo(by === undefined ? {} : { by }, { run: async ({ text }) => ({ name, text }) });
  const table: Table = {
    usual: named('usual'),
    byFile: named('byFile', { flags: '--only <file>', about: 'some', file: 'text' }),
    byFlag: named('byFlag', { flags: '--none', about: 'nobody' }),
  };

  test.each([
    [['echo', 'rossi'], { name: 'usual', text: null }],
    [['echo', 'rossi', '--only', 'ids.txt'], { name: 'byFile', text: '3\n7\n' }],
    [['echo', 'rossi', '--none'], { name: 'byFlag', text: null }],
  ])('%j runs the one that its option selects', async (args, expected) => {
    const { out, thrown } = await run(table, [...args, '--json'], { 'ids.txt': '3\n7\n' });
    expect([thrown, JSON.parse(out)]).toEqual([null, expected]);
  });

  test('are not selected by two options', async () => {
    const ran = await run(table, ['echo', 'rossi', '--only', 'ids.txt', '--none']);
    expect(ran).toMatchObject({ code: 1, out: '', err: expect.stringContaining('cannot be used with option') });
  });
});

describe('the answer of an operation', () => {
  test('is its document, or as JSON its output, limited to the requested fields', async () => {
    expect((await runOf(echo(), ['echo', 'rossi'])).out).toBe('echo of rossi\n');
    const output = z.object({ tenant: z.string(), state: z.unknown() });
    const answer = await runOf(echo({}, { output }), ['echo', 'rossi', '--state', 'open', '--json']);
    expect(JSON.parse(answer.out)).toEqual({ tenant: 'rossi', state: 'open' });
    const some = await runOf(echo({ jsonFields: () => ['state'] }, { output }), [
      'echo',
      'rossi',
      '--state',
      'open',
      '--json',
    ]);
    expect(JSON.parse(some.out)).toEqual({ state: 'open' });
  });

  test('has no --json if it is a plain string for other programs', async () => {
    const ran = await runOf(echo({ isText: true }), ['echo', 'rossi', '--json']);
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("unknown option '--json'") });
  });

  test('decides the exit code: 0, 1 or 2', async () => {
    const ends: Partial<AnyOperation> = {
      endsWithOne: { when: 'it is open', holds: (_, { state }) => state === 'open' },
      endsWithTwo: (result) => (result as { state: unknown }).state === 'closed',
    };
    const codeOf = async (...options: string[]) => (await runOf(echo({}, ends), ['echo', 'rossi', ...options])).code;
    expect([await codeOf(), await codeOf('--state', 'open'), await codeOf('--state', 'closed')]).toEqual([0, 1, 2]);
  });

  test('has a complete unpaged list with --all, and otherwise the requested or default number of records', async () => {
    const operation = echo({}, { input: INPUT.extend({ limit: z.number().default(20) }) });
    const limitOf = async (...options: string[]) => (await inputOf(operation, ['echo', 'rossi', ...options])).limit;
    expect([await limitOf(), await limitOf('--limit', '3')]).toEqual([20, 3]);
    expect(await limitOf('--all')).toBe(Number.MAX_SAFE_INTEGER);
  });

  test('has all pages of a paged list, regardless of the number of shown records', async () => {
    const paged = INPUT.extend({ limit: z.number().default(20), after: z.string().nullable().default(null) });
    const input = await inputOf(echo({}, { input: paged }), ['echo', 'rossi', '--limit', '3']);
    expect(input).toMatchObject({ limit: Number.MAX_SAFE_INTEGER, after: null });
  });
});

function runOf(operation: AnyOperation, args: readonly string[]) {
  return run({ echo: operation }, args);
}
