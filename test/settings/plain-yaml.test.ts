import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { atOnce } from '../../src/core/model/pieces.ts';
import { LONGEST_PLAIN, LONGEST_WITH_COMMENTS, parsePlainYaml } from '../../src/settings/plain-yaml.ts';
import { FILE_LIMITS } from '../../src/settings/yaml-file.ts';
import { parseYaml } from '../../src/settings/yaml-parser.ts';
import { filesBelow } from '../support/project-files.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Meaning of a text for the full parser; undefined for a text with faults. */
function fully(text: string): unknown {
  const parsed = atOnce(parseYaml(text, Number.POSITIVE_INFINITY));
  if (parsed === null || parsed.document.errors.length > 0) return undefined;
  return parsed.document.toJS();
}

/** @returns whether the text was plain */
function agrees(text: string): boolean {
  const plain = parsePlainYaml(text);
  if (plain !== undefined) expect({ text, value: plain }).toEqual({ text, value: fully(text) });
  return plain !== undefined;
}

test('every YAML file of the project has the same meaning, and most are plain', () => {
  const files = ['config', 'demo', 'deploy', 'examples'].flatMap(filesBelow).filter((path) => /\.ya?ml$/.test(path));
  const plain = files.filter((path) => agrees(readFileSync(`${root}${path}`, 'utf8')));
  expect(plain.length).toBeGreaterThan(files.length / 2);
});

const scalar = fc.oneof(
  fc.string({ unit: 'grapheme-composite', maxLength: 12 }),
  fc.stringMatching(/^[-+.0-9_xobeE:, #~'"|>%@`]{0,8}$/),
  fc.constantFrom('yes', 'No', 'on', 'null', '~', 'true', 'True', 'TRUE', '.inf', '-.inf', '.NaN', '1e3', '1.', '0x1F'),
  fc.constantFrom(
    '2026-03-01',
    '08:30',
    '012',
    '0o14',
    '1_000',
    '<<',
    '=',
    '- a',
    '? a',
    'a: b',
    '# a',
    'a #b',
    '&a',
    '*a',
  ),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.constantFrom('a b', '', ' c', 'd'), { maxLength: 4 }).map((lines) => lines.join('\n')),
);
const { value: node } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('1', 'true', 'null', '__proto__')),
      tie('value'),
      {
        maxKeys: 4,
      },
    ),
  ),
}));

describe('a generated text', () => {
  test('that a program wrote has the same meaning', () => {
    const options = fc.record({
      defaultStringType: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL', 'BLOCK_FOLDED'),
      indent: fc.integer({ min: 1, max: 4 }),
      collectionStyle: fc.constantFrom('any', 'block', 'flow'),
      lineWidth: fc.constantFrom(0, 20, 80),
    });
    let plain = 0;
    fc.assert(
      fc.property(node, options, (value, { collectionStyle, ...rest }) => {
        const text = stringify({ top: value }, { ...rest, collectionStyle, blockQuote: 'folded' } as never);
        if (agrees(text)) plain += 1;
      }),
      { numRuns: 1_500 },
    );
    expect(plain).toBeGreaterThan(300);
  });

  test('that a person wrote wrongly has the same meaning, or is left to the full parser', () => {
    const marks = [...' \n:-#,[]{}"\'|>&*!%@`?~0x_.e+\t', '\n  ', ': ', '- ', ' #', '\n---\n', '\u0085', '\uFEFF'];
    const edits = fc.array(
      fc.record({ at: fc.nat({ max: 400 }), mark: fc.constantFrom(...marks), removes: fc.nat({ max: 2 }) }),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(node, edits, (value, changes) => {
        let text = stringify({ top: value });
        for (const { at, mark, removes } of changes) {
          const place = at % (text.length + 1);
          text = text.slice(0, place) + mark + text.slice(place + removes);
        }
        agrees(text);
      }),
      { numRuns: 3_000 },
    );
  });
});

test('what only the full parser may read is left to it', () => {
  const texts = [
    'a: &x 1\nb: *x',
    'a: !!str 1',
    '%YAML 1.1\n---\na: 1',
    'a: 1\n---\nb: 2',
    ' ---\na: 1',
    'a: |+\n \n',
    'a: >1+\n b\n',
    '- |2\n  b\n',
    '# a\n  ...\na: 1',
    '? a\n: 1',
    'a: 0o14',
    'a: 1_000',
  ];
  for (const text of [...texts, 'a: 1\na: 2', '__proto__: 1', 'a:\t1', 'a: [1', '', 'text']) {
    expect(parsePlainYaml(text)).toBeUndefined();
  }
  expect(parsePlainYaml(`a: ${'['.repeat(60)}${']'.repeat(60)}`)).toBeUndefined();
  expect(parsePlainYaml(`a: ${'b'.repeat(40_000)}`)).toBeUndefined();
});

test('comments have any text, and as many as usual profiles', () => {
  const file = `a: 1 # at 02:30, &then 0o14 ${'.'.repeat(100)}\n# - !!str\nb: [x] # 1_000\n`;
  expect(parsePlainYaml(file)).toEqual({ a: 1, b: ['x'] });
  const keys = Array.from({ length: 300 }, (_, at) => `key${at}: 1                # ${'what it is '.repeat(5)}\n`).join(
    '',
  );
  expect(keys.length).toBeGreaterThan(LONGEST_PLAIN);
  expect(parsePlainYaml(keys)).toEqual(fully(keys));
  expect(parsePlainYaml(`a: 1\n${'# a line\n'.repeat(LONGEST_WITH_COMMENTS / 8)}`)).toBeUndefined();
});

test.each([
  ['an anchor', '{a: "x #", b: &x 1, c: *x}'],
  ['a tag', "a: {b: 'x #', c: !!str 1}"],
  ['a number', 'a: "x\n  y #"\nb: 0o14'],
  ['escapes', `a: "x #${'\\n'.repeat(LONGEST_PLAIN)}"`],
])('no apparent comment hides %s', (_, text) => {
  expect(parsePlainYaml(text)).toBeUndefined();
});

test.each(['1,', '[],', '{},', '"",', "'',", '\n- 1', '\n  -'])('no plain text has too many tokens: of %j', (part) => {
  const start = part.startsWith('\n') ? 'a:' : 'a: [';
  const end = part.startsWith('\n') ? '\n' : ']';
  const times = Math.floor((LONGEST_PLAIN - start.length - end.length) / part.length);
  const text = `${start}${part.repeat(times)}${end}`;
  expect(text.length).toBeLessThanOrEqual(LONGEST_PLAIN);
  expect(atOnce(parseYaml(text, FILE_LIMITS.tokens))).not.toBeNull();
});

test('no text with comments has too many tokens', () => {
  const text = `a: 1\n${'#\n'.repeat(LONGEST_PLAIN / 2 - 3)}`;
  expect(parsePlainYaml(text)).toEqual({ a: 1 });
  expect(atOnce(parseYaml(text, FILE_LIMITS.tokens))).not.toBeNull();
});
