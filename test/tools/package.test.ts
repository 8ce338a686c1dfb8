// Tier: full. It packs the project, and starts the package.
import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
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
import { dirname, join } from 'node:path';
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
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-installed-'));
  const archive = makePackage(root, join(folder, 'archive'));
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

const filesIn = (path: string) => globSync('**/*.js', { cwd: path }).toSorted();

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

  test('contains every file of the image as JavaScript with equal line counts, and all its imports resolve', () => {
    const sources = imageFiles(root).filter((path) => path.startsWith('src/') && /\.[jt]s$/.test(path));
    const made = filesIn(join(installed, 'src')).map((path) => `src/${path}`);
    expect(made).toEqual(sources.map((path) => path.replace(/\.ts$/, '.js')).toSorted());
    const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').length;
    expect(
      sources.filter((path) => linesOf(join(root, path)) !== linesOf(join(installed, path.replace(/ts$/, 'js')))),
    ).toEqual([]);
    const lost = filesIn(installed).flatMap((path) =>
      [...readFileSync(join(installed, path), 'utf8').matchAll(/(['"])(\.{1,2}\/[^'"\n]*\.[jt]s)\1/g)]
        .map(([, , named = '']) => named)
        .filter((named) => !existsSync(join(installed, dirname(path), named)))
        .map((named) => `${path}: ${named}`),
    );
    expect(lost).toEqual([]);
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
