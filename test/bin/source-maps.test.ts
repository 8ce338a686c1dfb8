import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const MODULE = fileURLToPath(new URL('../../bin/source-maps.js', import.meta.url));

/** Line 1 is line 41 of the source: the segment says column 0, source 0, 40 lines on, column 0. */
const MAP = JSON.stringify({ version: 3, sources: ['../src/engine/plan.ts'], names: [], mappings: 'AAwCA' });

/**
 * Returns the first lines of a stack trace of a file with this map. A process of its own, since the formatter of stack traces belongs to
 * all code of a process.
 */
function stackWith(map: string | null, thrown = "new Error('text')"): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'source-maps-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'made.mjs'), `export const make = () => ${thrown};\n`);
  if (map !== null) writeFileSync(join(folder, 'made.mjs.map'), map);
  const place = `${pathToFileURL(folder).href}/`;
  writeFileSync(
    join(folder, 'main.mjs'),
    `import { nameSources } from ${JSON.stringify(MODULE)};
nameSources(${JSON.stringify(place)});
const { make } = await import('./made.mjs');
console.log(make().stack);
`,
  );
  const output = execFileSync(process.execPath, [join(folder, 'main.mjs')], { encoding: 'utf8' });
  return output.replaceAll(place, 'folder/').replaceAll(new URL('..', place).href, 'above/').split('\n').slice(0, 2);
}

test('names the source file and its line', () => {
  expect(stackWith(MAP)).toEqual(['Error: text', '    at make (above/src/engine/plan.ts:41:1)']);
});

test.each([
  ['no map', null],
  ['a map that is no JSON', '{'],
  ['a map with invalid mappings', JSON.stringify({ version: 3, sources: ['a.ts'], mappings: 7 })],
  ['a map without mappings', JSON.stringify({ version: 3, sources: [], names: [], mappings: '' })],
])('leaves the frame as it is with %s', (_, map) => {
  expect(stackWith(map)).toEqual(['Error: text', '    at make (folder/made.mjs:1:27)']);
});

test('writes the head as V8 does, and survives an error without a text', () => {
  expect(stackWith(null, "Object.assign(new TypeError(), { message: 'later' })")[0]).toBe('TypeError: later');
  expect(stackWith(null, 'Object.defineProperty(new Error(), "name", { get() { throw 1; } })')[0]).toBe('Error');
});
