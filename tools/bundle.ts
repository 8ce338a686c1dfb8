// node tools/bundle.ts <folder>: the program as few JavaScript files with source maps, for image and package (docs/releasing.md).
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { isAbsolute, join, relative } from 'node:path';
import { type CodeSplittingGroup, type Plugin, RolldownMagicString, rolldown } from 'rolldown';

/**
 * Packages of many small files that most commands load. All other packages stay in `node_modules`: they load files by their own place, or
 * only few commands need them.
 */
const BUNDLED = ['commander', 'jose', 'oauth4webapi', 'openid-client', 'yaml', 'zod'];

/** The program. It waits for the command at its top level, so a file that it imports must never import it. */
const ENTRY = 'src/cli.ts';

/** Functions for syntax that the bundler rewrites, such as `</script` in a template. The bundler contains them. */
const HELPERS = '@oxc-project/runtime';

/** What a command imports that works with a configuration. */
const OPENING = ['src/daemon/compose.ts', 'src/settings/configuration-files.ts'];

/**
 * Bundles the program. `dist` stands next to `src`, whose other files (scripts of Redis, assets) the program reads: `import.meta.url` keeps
 * naming the source file. Equal sources give equal bytes.
 *
 * A file of the bundle is loaded as a whole, so three rules make few files and little that is loaded in vain. `start` is what {@link ENTRY}
 * imports statically: `--help` loads nothing else. `open` is what {@link OPENING} imports statically: almost every command and the daemon
 * need it. `shared` is what two or more dynamic imports have in common. What only one dynamic import needs stays in a file of its own.
 * @returns contents by path in `dist`, sorted
 */
export async function bundleFiles(root: string): Promise<Map<string, string>> {
  const packages = new Set<string>();
  const bundle = await rolldown({
    input: { cli: join(root, ENTRY) },
    cwd: root,
    platform: 'node',
    tsconfig: false,
    // Paths in maps are those below the root, also if `node_modules` is a link.
    resolve: { symlinks: false },
    external: externalOf(root),
    plugins: [sourcePlaces(root), { name: 'packages', moduleParsed: ({ id }) => void packages.add(packageOf(id)) }],
    onLog: (_, { code, message }) => {
      if (code !== 'INEFFECTIVE_DYNAMIC_IMPORT') throw new Error(message);
    },
  });
  const { output } = await bundle.generate({
    dir: join(root, 'dist'),
    format: 'esm',
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: { annotation: false, jsdoc: false, legal: true },
    codeSplitting: { groups: groupsOf(root) },
  });
  await bundle.close();
  const files = output.map(
    (file) => [file.fileName, file.type === 'chunk' ? file.code : file.source.toString()] as const,
  );
  const licenses = [...packages].filter((name) => name !== '').toSorted();
  return new Map(
    [...files, ['licenses.txt', licenses.map((name) => licenseText(root, name)).join('\n')] as const].toSorted(
      ([one], [other]) => (one < other ? -1 : 1),
    ),
  );
}

/**
 * Returns whether an import stays in `node_modules`.
 * @throws Error for a package that is neither a dependency nor bundled: `npm ci` need not place it where the bundle finds it
 */
function externalOf(root: string): (id: string) => boolean {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  return (id) => {
    const [, name = ''] = /^((?:@[^/]+\/)?[^/]+)/.exec(id) ?? [];
    if (/^[.\0]/.test(id) || isAbsolute(id) || BUNDLED.includes(name) || name === HELPERS) return false;
    if (!isBuiltin(id) && !Object.hasOwn(dependencies, name))
      throw new Error(`${id}: neither a dependency nor bundled`);
    return true;
  };
}

interface Manifest {
  dependencies: Record<string, string>;
}

function groupsOf(root: string): CodeSplittingGroup[] {
  const isEntry = (id: string) => id === join(root, ENTRY);
  const opening = OPENING.map((path) => join(root, path));
  return [
    { name: 'start', tags: ['$initial'], test: (id) => !isEntry(id), priority: 3 },
    { name: 'open', test: (id) => opening.includes(id), priority: 2 },
    { name: 'shared', test: (id) => !isEntry(id), minShareCount: 2, priority: 1 },
  ];
}

/** Replaces `import.meta.url` by the place of the source file, seen from `dist`. */
function sourcePlaces(root: string): Plugin {
  return {
    name: 'source-places',
    transform(code, id) {
      const path = relative(root, id);
      const used = new Set(code.match(/\bimport\.meta\.\w+/g));
      if (!path.startsWith('src/') || used.size === 0) return null;
      if (used.size > 1 || !used.has('import.meta.url')) {
        throw new Error(`${path}: of import.meta, the bundle knows only url`);
      }
      const changed = new RolldownMagicString(code);
      changed.replaceAll('import.meta.url', `new URL(${JSON.stringify(`../${path}`)}, import.meta.url).href`);
      return { code: changed.toString(), map: changed.generateMap({ source: id, hires: true }).toString() };
    },
  };
}

/** Returns the name of the package that has the module, or an empty text. */
function packageOf(id: string): string {
  return /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? '';
}

/** The licences require their texts with each copy. */
function licenseText(root: string, name: string): string {
  const folder = join(root, 'node_modules', name);
  const files = readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file));
  if (files.length === 0) throw new Error(`${name}: no file with its licence`);
  return [`${name}\n\n`, ...files.map((file) => readFileSync(join(folder, file), 'utf8'))].join('');
}

/** Writes the bundle into a folder, which is created if missing. */
export async function writeBundle(root: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const [path, content] of await bundleFiles(root)) writeFileSync(join(folder, path), content);
}

async function main(): Promise<number> {
  const [folder, ...others] = process.argv.slice(2);
  if (folder === undefined || others.length > 0) {
    console.error('node tools/bundle.ts <folder>');
    return 2;
  }
  await writeBundle(join(import.meta.dirname, '..'), folder);
  return 0;
}

if (import.meta.main) process.exitCode = await main();
