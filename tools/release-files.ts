// npm run release-files -- <folder> --key <file>: the files of a release, their sums, and a signature over these (docs/releasing.md).
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { billOfMaterials } from './bill-of-materials.ts';
import { imageListing } from './image-files.ts';
import { releasesIn, versionSources } from './release-version.ts';

/** What a signature is made for: one for anything else is none for a release (ssh-keygen(1), -Y sign, namespace). */
export const NAMESPACE = 'clinic-mirror-release';

/** The file with the SHA-256 of each other file, as `sha256sum` checks it. */
export const SUMS = 'SHA256SUMS';

/** What a release is made of. */
export interface Release {
  /** The project at its tag. */
  root: string;
  version: string;
  /** A new folder, or an empty one. */
  folder: string;
  /** Private key of the maintainer in OpenSSH's form, or a public one whose other half an agent holds. */
  key: string;
}

/**
 * Writes the files of a release: the source, the listing of the image's files, the bill of materials, their checksums, and the signature of
 * the checksums. Except for the signature, equal commits give equal bytes. Uses no network.
 * @throws Error if the folder is not empty, or git or ssh-keygen fail
 */
export async function makeRelease({ root, version, folder, key }: Release): Promise<void> {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`);
  const name = `clinic-mirror-${version}`;
  const tar = execFileSync('git', ['archive', '--format=tar', `--prefix=${name}/`, 'HEAD'], {
    cwd: root,
    maxBuffer: 1e9,
  });
  writeFileSync(join(folder, `${name}.tar`), tar);
  writeFileSync(join(folder, `${name}.sha256`), await imageListing(root));
  writeFileSync(join(folder, `${name}.cdx.json`), `${JSON.stringify(billOfMaterials(root), null, 2)}\n`);
  const sums = readdirSync(folder)
    .toSorted()
    .map((file) => `${sumOf(join(folder, file))}  ${file}\n`);
  writeFileSync(join(folder, SUMS), sums.join(''));
  execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', key, '-n', NAMESPACE, join(folder, SUMS)]);
}

function sumOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { key: { type: 'string' } } });
  const [folder, ...others] = positionals;
  if (folder === undefined || others.length > 0 || values.key === undefined) {
    console.error('npm run release-files -- <folder> --key <file>');
    return 2;
  }
  const root = join(import.meta.dirname, '..');
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' });
  if (changed !== '') {
    console.error(`a release requires a clean work tree; uncommitted changes:\n${changed.trimEnd()}`);
    return 1;
  }
  const [newest] = releasesIn(versionSources(root).changelog);
  if (newest === undefined) throw new Error('CHANGELOG.md has no version');
  await makeRelease({ root, version: newest.version, folder, key: values.key });
  console.log(readdirSync(folder).join('\n'));
  return 0;
}

if (import.meta.main) process.exitCode = await main();
