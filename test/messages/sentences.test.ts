import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { SENTENCES } from '../../src/messages/message.ts';
import { sentencesInSeveral, sentencesOf } from '../../tools/house/measure.ts';
import { readSource } from '../../tools/house/source.ts';
import { commandFault, commandNames } from '../support/documented-commands.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = globSync('src/**/*.ts', { cwd: root }).map((path) =>
  readSource(path, readFileSync(root + path, 'utf8')),
);

describe('a sentence of src', () => {
  test('is written in one file', () => {
    expect(sentencesInSeveral(sources)).toEqual([]);
  });

  test('for people is in messages/, or in the template of its page or terminal view', () => {
    expect(sources.flatMap((source) => sentencesOf(source, 'code'))).toEqual([]);
  });

  test('is a description, of a command, of the log or for people by its place', () => {
    const source = readSource(
      'src/a.ts',
      `z.string().describe('a field that holds something');
      const fields = { taxCode: sensitive('text', 'tax code of the patient') };
      log.warn({ count }, 'the records are left as before');
      tenant.log[level]({ count }, 'the target was written to at last');
      log().warn('the collector takes the lines again');
      const NAMES = 'several names in one text'.split(' ');
      const MORE = words('other names in one text');
      program.option('--write <file>', 'write the file to this place');
      operation({ summary: 'list the stored records again' });
      throw new TypeError('this can never be so here');
      tell('the operator reads this sentence');`,
    );
    const kinds = ['description', 'log', 'declared', 'assertion', 'words', 'code', 'page', 'terminal'] as const;
    expect(Object.fromEntries(kinds.map((kind) => [kind, sentencesOf(source, kind)]))).toEqual({
      description: ['a field that holds something', 'tax code of the patient'],
      log: [
        'the records are left as before',
        'the target was written to at last',
        'the collector takes the lines again',
      ],
      declared: ['write the file to this place', 'list the stored records again'],
      assertion: ['this can never be so here'],
      words: ['several names in one text', 'other names in one text'],
      code: ['the operator reads this sentence'],
      page: [],
      terminal: [],
    });
  });

  test('is prose if it is the text of an error, in a view of the terminal too', () => {
    const source = readSource(
      'src/operator/cli/a.ts',
      "throw new MirrorError('the operator reads this sentence', DETAILS);",
    );
    expect(sentencesOf(source, 'code')).toEqual(['the operator reads this sentence']);
  });

  test('is of a template or a description by its file', () => {
    const kindsOf = (path: string) => {
      const source = readSource(path, "tell('the operator reads this sentence');");
      return (['page', 'terminal', 'description', 'code'] as const).filter(
        (kind) => sentencesOf(source, kind).length > 0,
      );
    };
    expect(kindsOf('src/features/undo/texts.ts')).toEqual(['page']);
    expect(kindsOf('src/operator/http-server/answers.ts')).toEqual(['page']);
    expect(kindsOf('src/features/triggers/metrics.ts')).toEqual(['description']);
    expect(kindsOf('src/operator/cli/render-status.ts')).toEqual(['terminal']);
    expect(kindsOf('src/setup/profile-finder/lists.ts')).toEqual(['page']);
    expect(kindsOf('src/features/undo/undo.ts')).toEqual(['code']);
  });
});

describe('a command that a sentence or a next step names', () => {
  const names = commandNames();
  /** In quotes a command; otherwise if the word is the name of a command. */
  const NAMED = /("|`)?clinic-mirror ([a-z][a-z-]*)([^",;:()`\n]*)/g;

  /** Values in braces become placeholders, which a command takes for any value. */
  const named = Object.entries(SENTENCES).flatMap(([language, sentences]) =>
    Object.entries(sentences).flatMap(([code, sentence]) =>
      [...sentence.replaceAll(/\{\w+[^{}]*\}/g, '<x>').matchAll(NAMED)].flatMap(([, quote, name = '', rest = '']) => {
        if (quote === undefined && !names.has(name)) return [];
        return [[`${language} ${code}`, `clinic-mirror ${name}${rest}`] as const];
      }),
    ),
  );
  const built = sources.flatMap(({ path }) =>
    [
      ...readFileSync(root + path, 'utf8')
        .replaceAll(/\$\{[^{}]*\}/g, '<x>')
        .matchAll(/(.{0,20})(['`])(clinic-mirror [a-z][^'`"\n]*)\2/g),
    ].flatMap(([, before = '', , command = '']) =>
      /update\($|why: $|=> $/.test(before) || /messages|texts|src\/operator\/codes\//.test(path)
        ? []
        : [[path, command] as const],
    ),
  );

  test('is found in both', () => {
    expect(named.length).toBeGreaterThan(40);
    expect(built.length).toBeGreaterThan(30);
  });

  test.each([
    ...named.map((each) => [...each, false] as const),
    ...built.map(
      ([path, command]) => [path, command.replace(/(?<=\w)<x>$/, ''), !path.endsWith('-schema.ts')] as const,
    ),
  ])('in %s exists and takes its arguments: %s', async (_place, text, isWhole) => {
    expect(await commandFault({ text, line: 1, isWhole })).toBeNull();
  });
});
