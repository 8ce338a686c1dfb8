import { expect, test } from 'vitest';
import { closureOf, moduleRows } from '../../../tools/house/measure.ts';
import { readSource } from '../../../tools/house/source.ts';

const SOURCE = `// a comment
import { one } from './one.ts';
import type { Two } from './two.ts';
export { three } from './three.ts';

/** A type. */
export interface Shape {
  size: number;
}

export function area(shape: Shape, { scale }: { scale: number }, unit = 'm', ...others: Shape[]): string {
  return \`the area is \${one * shape.size * scale} \${unit}\`; // behind code
}
`;

test('counts lines of code without blank lines, comments, imports, re-exports and types', () => {
  const { lines, code } = readSource('src/domain/area.ts', SOURCE);
  expect({ lines, code }).toEqual({ lines: 13, code: 3 });
});

test('lists functions with their parameters, and texts with what a template inserts left out', () => {
  const { functions, texts } = readSource('src/domain/area.ts', SOURCE);
  expect(functions).toEqual([
    { name: 'area', line: 11, lines: 3, parameters: 4, declaresTests: false, takes: ['Shape'] },
  ]);
  expect(texts.map(({ text }) => text)).toEqual(['m', 'the area is … …']);
});

test('follows the imports that remain without types', () => {
  const files = [
    readSource('src/domain/area.ts', SOURCE),
    readSource('src/domain/one.ts', "export const one = 1; await import('./four.ts');"),
    ...['two', 'three', 'four', 'five'].map((name) => readSource(`src/domain/${name}.ts`, 'export {};')),
  ];
  const closure = closureOf('src/domain/area.ts', files).map(({ path }) => path.replace(/.*\//, ''));
  expect(closure).toEqual(['area.ts', 'one.ts', 'three.ts', 'four.ts']);
  expect(moduleRows(files)).toMatchObject([{ module: 'domain', files: 6 }]);
});

test('names the file that cannot be parsed', () => {
  expect(() => readSource('src/domain/area.ts', 'const = 1')).toThrow('Cannot parse src/domain/area.ts');
});
