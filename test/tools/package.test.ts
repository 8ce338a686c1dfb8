// Tier: full. It packs the project, and starts the package.
import { execFile, execFileSync } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';
import { imageFiles } from '../../tools/image-files.ts';
import { makePackage } from '../../tools/package.ts';

const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
/** A folder that contains only the installed program and its packages. */
let folder: string;
let installed: string;

/**
 * Installs like `npm install`, but without a network: unpacks the archive in `node_modules` together with its packages, and links the
 * command.
 */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-installed-'));
  const archive = await makePackage(root, join(folder, 'archive'));
  const modules = join(folder, 'node_modules');
  installed = join(modules, 'clinic-mirror');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')).filter((name) => !name.startsWith('.'))) {
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  mkdirSync(installed);
  execFileSync('tar', ['-xzf', archive, '--strip-components=1', '-C', installed]);
  symlinkSync('../clinic-mirror/bin/clinic-mirror.js', join(modules, '.bin/clinic-mirror'));
});

afterAll(() => rmSync(folder, { recursive: true }));

async function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const command = join(folder, 'node_modules/.bin/clinic-mirror');
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
  });
  return stdout;
}

describe('the package, installed into an empty folder', () => {
  test('says its version', async () => {
    expect(await run(['--version'])).toBe(`${version}\n`);
  });

  test('checks a configuration', async () => {
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(folder, 'config', path)), { recursive: true });
      writeFileSync(join(folder, 'config', path), text);
    };
    write(
      'clinic-mirror.yaml',
      `redis: { url: "redis://127.0.0.1:6390" }
secrets: { identityKey: { env: KEY }, sealingKeys: [{ id: k1, key: { env: KEY } }] }
clinicClients:
  main: { profile: documented, baseUrl: https://api.clinic.example, authUrl: https://login.clinic.example, clientId: m, clientSecret: { env: KEY } }
`,
    );
    write('profiles/documented.yaml', readFileSync(join(installed, 'config/profiles/documented.yaml'), 'utf8'));
    const password = tenantVariable('aurora', 'PASSWORD');
    write(
      'tenants/aurora.yaml',
      `name: Aurora
language: it
zone: Europe/Rome
clinic: { client: main }
connections: { dav: { kind: caldav, username: a, password: { env: ${password} } } }
targets:
  doctor: { connector: caldav, connection: dav, agendas: all, settings: { calendar: { url: "https://dav.example.org/a/" } } }
`,
    );
    const checked = await run(['config', 'check'], { KEY: Buffer.alloc(32, 7).toString('base64'), [password]: 'x' });
    expect(checked).toMatch(/^1 tenant, 1 target\n/);
  });

  test('contains the files of the image, with the bundle instead of sources', () => {
    const made = globSync('**/*', { cwd: installed, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(installed, join(entry.parentPath, entry.name)));
    const bundle = made.filter((path) => path.startsWith('dist/'));
    expect(made.toSorted()).toEqual([...imageFiles(root), ...bundle, 'npm-shrinkwrap.json'].toSorted());
    expect(bundle).toEqual(expect.arrayContaining(['dist/cli.js', 'dist/cli.js.map', 'dist/licenses.txt']));
  });

  test('loads few files: three for the help, and all imports resolve', () => {
    const dist = join(installed, 'dist');
    const files = new Map(
      globSync('*.js', { cwd: dist }).map((path) => [path, readFileSync(join(dist, path), 'utf8')]),
    );
    const imports = (path: string, form: RegExp) =>
      [...(files.get(path)?.matchAll(form) ?? [])].map(([, named = '']) => named);
    const lost = [...files.keys()].flatMap((path) =>
      imports(path, /(?:from |import |import\()"\.\/([^"\n]+)"/g).filter((named) => !files.has(named)),
    );
    expect(lost).toEqual([]);
    const loaded = new Set(['cli.js']);
    for (const path of loaded) {
      for (const named of imports(path, /^(?:import|export) (?:[^"\n]* from )?"\.\/([^"\n]+)"/gm)) loaded.add(named);
    }
    expect([...loaded].map((path) => path.replace(/-.{8}\.js$/, ''))).toEqual(['cli.js', 'start', 'rolldown-runtime']);
  });

  test('loads as a whole, with the packages of the installation', async () => {
    const program = `import { globSync } from 'node:fs';
for (const file of globSync(${JSON.stringify(`${installed}/dist/*.js`)}, { exclude: ['**/cli.js'] })) await import(file);
console.log('loaded');`;
    const args = ['--input-type=module', '--eval', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(stdout).toBe('loaded\n');
  });

  test('names the source file and its line in a stack trace', async () => {
    const preload = join(folder, 'stack.mjs');
    writeFileSync(
      preload,
      `const { write } = process.stdout;
process.stdout.write = function (...input) {
  process.stderr.write(new Error('written').stack);
  return write.apply(this, input);
};
`,
    );
    const command = join(installed, 'bin/clinic-mirror.js');
    const { stderr } = await promisify(execFile)(process.execPath, ['--import', preload, command, '--version'], {
      cwd: folder,
    });
    const [, line, column] = /\/clinic-mirror\/src\/command-line\.ts:(\d+):(\d+)/.exec(stderr) ?? [];
    const source = readFileSync(join(root, 'src/command-line.ts'), 'utf8').split('\n')[Number(line) - 1];
    expect(source?.slice(Number(column) - 1)).toMatch(/^parseAsync\(/);
    expect(stderr).not.toContain('/dist/');
  });

  test('brings the lock file of what it needs, and nothing that is for development', () => {
    const { packages } = JSON.parse(readFileSync(join(installed, 'npm-shrinkwrap.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; devDependencies?: object; dependencies?: object; integrity?: string }>;
    };
    const { '': own, ...others } = packages;
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(own?.dependencies).toEqual(manifest.dependencies);
    expect([own?.devDependencies, manifest.devDependencies]).toEqual([undefined, undefined]);
    expect(Object.entries(others).filter(([, { dev, integrity }]) => dev === true || integrity === undefined)).toEqual(
      [],
    );
    expect(Object.keys(others).length).toBeGreaterThan(200);
  });
});
