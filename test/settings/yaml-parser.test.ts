import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineCounter, parseDocument, visit } from 'yaml';
import { atOnce } from '../../src/core/model/pieces.ts';
import { type ParsedYaml, parseYaml } from '../../src/settings/yaml-parser.ts';

const MOST = 100_000;

function parsed(text: string): ParsedYaml {
  const found = atOnce(parseYaml(text, MOST));
  if (found === null) throw new Error('too many tokens');
  return found;
}

/** The value and problems of the library's own parser. */
function asLibrary(text: string) {
  const lines = new LineCounter();
  const options = {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    version: '1.2',
    logLevel: 'error',
  } as const;
  return { document: parseDocument(text, options), lines };
}

/** The problems, and the nodes with their positions. */
function shown({ document, lines }: Pick<ParsedYaml, 'document' | 'lines'>) {
  const problems = [...document.errors, ...document.warnings].map(({ code, pos }) => [code, lines.linePos(pos[0])]);
  const nodes: unknown[] = [];
  visit(document, {
    Node(_, { range, tag, ...node }) {
      nodes.push([range, tag, 'value' in node ? node.value : null, 'source' in node ? node.source : null]);
    },
  });
  return { problems, nodes };
}

/** Pieces of YAML in any order, most of them with problems. */
const texts = fc
  .array(
    fc.constantFrom(
      ...['a: b\n', '- c\n', '  d: [e, f]\n', '{g: h}', '"i\\n"', "'j'\n", '|\n  k\n', '# l\n', '---\n', '...\n', '\t'],
      ...['&m n\n', '*m\n', '!o p\n', '? q\n', ': ', '\n', '%YAML 1.2\n', '[', '}', '\r\n', '\uFEFF', '"', '@'],
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('a text', () => {
  test('has the value and the problems of the library', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(shown(parsed(text))).toEqual(shown(asLibrary(text)));
      }),
      {
        numRuns: 400,
      },
    );
  });

  test.each([
    ['keys', 'k: a\n'],
    ['empty elements', '-\n'],
    ['comments', '#\n'],
    ['comments with escapes', '# \\a\\b\\c\n'],
  ])('is parsed with a break after some hundred tokens: %s', (_, part) => {
    const pieces = [...parseYaml(part.repeat(2_000), MOST)].length;
    expect(pieces).toBeGreaterThan((2_000 * 2) / 256);
  });

  test.each([
    ['tokens', '- a\n'.repeat(50)],
    ['lines of a block', `a: |\n${'  b\n'.repeat(200)}`],
    ['lines of a plain scalar', `a: ${'b\n '.repeat(200)}`],
    ['lines in quotes', `a: "${'b\n '.repeat(200)}"`],
    ['escapes', `a: "${'\\z'.repeat(200)}"`],
  ])('has a limit of tokens, which counts what takes the time of a token: %s', (_, text) => {
    expect(atOnce(parseYaml(text, 200))).toBeNull();
    expect(atOnce(parseYaml(text, 300))).not.toBeNull();
  });

  test('may have long comments and long lines', () => {
    const text = `# ${'\\'.repeat(1_000)}\na: ${'b'.repeat(100_000)}\n`;
    expect(atOnce(parseYaml(text, 20))).not.toBeNull();
  });
});

describe('the line of a value', () => {
  const { lineOf } = parsed('a:\n  b: 1\n  c: [x,\n    y]\nd: &e {f: 2}\n1: g\na: 3\n');

  test.each([
    [[], 1],
    [['a'], 1],
    [['a', 'b'], 2],
    [['a', 'c', 0], 3],
    [['a', 'c', 1], 4],
    [['a', 'c', 7], 3],
    [['a', 'none', 'deeper'], 1],
    [['d', 'f'], 5],
    [['1'], 6],
    [['none'], 1],
  ])('is that of its key, its element or the nearest one around it: %j', (path, line) => {
    expect(lineOf(path)).toBe(line);
  });
});
