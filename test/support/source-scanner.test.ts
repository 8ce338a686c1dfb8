import { describe, expect, test } from 'vitest';
import { importsOf, linesWith, tokensOf } from './source-scanner.ts';

const specifiers = (source: string) => importsOf(tokensOf(source)).map(({ specifier }) => specifier);

describe('imports', () => {
  test.each([
    ["import a from './a.ts';", ['./a.ts']],
    ['import { a,\n  b as c } from "./a.ts"', ['./a.ts']],
    ["import './effect.ts'", ['./effect.ts']],
    ["import type { A } from './a.ts'; import { type B } from './b.ts'", ['./a.ts', './b.ts']],
    ["import * as all from 'node:fs'; import data from './x.json' with { type: 'json' }", ['node:fs', './x.json']],
    [
      "export * from './a.ts'; export { b } from './b.ts'; export type { C } from './c.ts'",
      ['./a.ts', './b.ts', './c.ts'],
    ],
    ["const a = await import('./a.ts'); type B = typeof import('./b.ts')", ['./a.ts', './b.ts']],
    ["import/* why */'./a.ts'", ['./a.ts']],
  ])('%s', (source, expected) => {
    expect(specifiers(source)).toEqual(expected);
  });

  test.each([
    "// import './a.ts'",
    "/* import './a.ts'\n import './b.ts' */",
    'const text = "import \'./a.ts\'";',
    "const text = `import './a.ts'`;",
    "const from = 'x'; list.from('./a.ts'); Array.from('./b.ts'); const o = { from: './c.ts', import: './d.ts' };",
    "object.import('./a.ts')",
    "const quote = /'/; // ' import './a.ts'",
  ])('are none in: %s', (source) => {
    expect(specifiers(source)).toEqual([]);
  });

  test('are found after code that resembles the start of a string or comment', () => {
    expect(specifiers("const a = /[/'\"`]/g.test(x) ? 1 / 2 : '//'; import './a.ts'")).toEqual(['./a.ts']);
    expect(specifiers(`const a = \`x \${ { b: \`}\${1}\` } } '\`; import './a.ts'`)).toEqual(['./a.ts']);
    expect(specifiers("const it = 'it\\'s'; import './a.ts'")).toEqual(['./a.ts']);
    expect(specifiers("#!/usr/bin/env node\nimport './a.ts'")).toEqual(['./a.ts']);
    expect(specifiers("const half = (a + b) / 2; const s = '/'; import './a.ts'")).toEqual(['./a.ts']);
  });

  test('are found inside a template', () => {
    expect(specifiers(`\`\${await import('./a.ts')}\``)).toEqual(['./a.ts']);
  });

  test('carry their line', () => {
    expect(importsOf(tokensOf("/*\n*/ `\n`;\nimport './a.ts'"))).toEqual([{ specifier: './a.ts', line: 4 }]);
  });
});

describe('code', () => {
  test('is found with its lines, however it is laid out', () => {
    expect(linesWith(tokensOf('a();\nDate\n  .now();\nx = Date.now'), 'Date.now')).toEqual([2, 4]);
    expect(linesWith(tokensOf('new Date(); new Date(0); new Date( )'), 'new Date()')).toEqual([1, 1]);
  });

  test('is not found in comments, strings, longer names or as a property', () => {
    const source = "// Date.now\n'Date.now'; MyDate.now(); my.Date.now(); Date.nowish";
    expect(linesWith(tokensOf(source), 'Date.now')).toEqual([]);
  });
});
