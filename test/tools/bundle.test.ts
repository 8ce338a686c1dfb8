import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bundleFiles, writeBundle } from '../../tools/bundle.ts';

const root = join(import.meta.dirname, '../..');

const SOURCES = {
  'package.json': '{ "type": "module", "dependencies": { "commander": "1.0.0" } }',
  // Awaits at its top level what imports a module of the start again.
  'src/cli.ts': `import { place } from './place.ts';
const { compose } = await import('./daemon/compose.ts');
const { late } = await import('./late.ts');
console.log(JSON.stringify([place(), compose(), late()]));
`,
  'src/place.ts': `/** Names \`import.meta.url\` in a comment. */
export const place = (): string => import.meta.url;
`,
  'src/daemon/compose.ts': `import { Command } from 'commander';
import { place } from '../place.ts';
import { both } from '../both.ts';
export const compose = (): unknown[] => [new Command('name').name(), place(), both()];
`,
  'src/late.ts': `import { both } from './both.ts';
import { URL as Address } from 'node:url';
export const late = (): unknown[] => [new Address('scripts/late.lua', import.meta.url).pathname, both()];
`,
  'src/both.ts': `export const both = (): string => 'both';
`,
};

function project(changes: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries({ ...SOURCES, ...changes })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

test('runs without the sources, and names their places', async () => {
  const folder = project();
  await writeBundle(folder, join(folder, 'dist'));
  rmSync(join(folder, 'src'), { recursive: true });
  const output = execFileSync(process.execPath, [join(folder, 'dist/cli.js')], { encoding: 'utf8' });
  const place = `file://${folder}/src/place.ts`;
  expect(JSON.parse(output)).toEqual([place, ['name', place, 'both'], [`${folder}/src/scripts/late.lua`, 'both']]);
});

test('has one file for the start, one for work with a configuration, and the licences of its packages', async () => {
  const files = await bundleFiles(project());
  const scripts = [...files.keys()].filter((path) => path.endsWith('.js'));
  expect(scripts.map((path) => path.replace(/-.{8}(?=\.js$)/, '')).toSorted()).toEqual([
    'cli.js',
    'compose.js',
    'late.js',
    'open.js',
    'start.js',
  ]);
  expect(files.get('licenses.txt')).toMatch(/^commander\n\n\(The MIT License\)/);
});

test('has equal bytes for equal sources, wherever they are', async () => {
  const [one, other] = [await bundleFiles(project()), await bundleFiles(project())];
  expect([...other]).toEqual([...one]);
  expect([...one].filter(([, content]) => content.includes(tmpdir()))).toEqual([]);
});

test('refuses other members of import.meta, imports that do not exist, and packages that are no dependency', async () => {
  const folder = project({ 'src/both.ts': 'export const both = () => import.meta.dirname;\n' });
  await expect(bundleFiles(folder)).rejects.toThrow('src/both.ts: of import.meta, the bundle knows only url');
  const lost = project({ 'src/both.ts': "export { both } from './lost.ts';\n" });
  await expect(bundleFiles(lost)).rejects.toThrow('./lost.ts');
  const stranger = project({ 'src/both.ts': "export { vi as both } from 'vitest';\n" });
  await expect(bundleFiles(stranger)).rejects.toThrow('vitest: neither a dependency nor bundled');
});
