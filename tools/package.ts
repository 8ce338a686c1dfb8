// npm run package -- <folder>: the program as a package that runs wherever it is installed (docs/releasing.md).
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { imageContents } from './image-files.ts';
import { forPackage } from './lock-file.ts';

/** Members of package.json that the installed package needs. */
const KEPT = [
  'name',
  'version',
  'description',
  'private',
  'license',
  'type',
  'engines',
  'bin',
  'dependencies',
  'optionalDependencies',
];

/**
 * Writes the files of the package: those of the image, with the bundle in `dist`. `npm-shrinkwrap.json` is our lock file, for `npm ci` where
 * the archive is unpacked.
 * @param folder exists, and is empty
 */
async function writePackageFiles(root: string, folder: string): Promise<void> {
  const write = (path: string, content: string | Buffer) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content, { mode: path.startsWith('bin/') ? 0o755 : 0o644 });
  };
  for (const [path, content] of await imageContents(root)) write(path, content);
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
  const kept = Object.fromEntries(KEPT.map((name) => [name, manifest[name]]));
  write('package.json', `${JSON.stringify(kept, null, 2)}\n`);
  write('npm-shrinkwrap.json', `${JSON.stringify(forPackage(root), null, 2)}\n`);
}

/**
 * Packs the program, without a network.
 * @param folder folder for the archive; created if missing
 * @returns the archive
 */
export async function makePackage(root: string, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const files = mkdtempSync(join(tmpdir(), 'clinic-mirror-package-'));
  try {
    await writePackageFiles(root, files);
    const args = ['pack', '--silent', '--offline', '--pack-destination', resolve(folder)];
    const name = execFileSync('npm', args, { cwd: files, encoding: 'utf8' }).trim();
    return join(folder, name);
  } finally {
    rmSync(files, { recursive: true });
  }
}

async function main(): Promise<number> {
  const [folder, ...others] = process.argv.slice(2);
  if (folder === undefined || others.length > 0) {
    console.error('npm run package -- <folder>');
    return 2;
  }
  console.log(await makePackage(join(import.meta.dirname, '..'), folder));
  return 0;
}

if (import.meta.main) process.exitCode = await main();
