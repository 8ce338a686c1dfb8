import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A package as package-lock.json has it (https://docs.npmjs.com/cli/v11/configuring-npm/package-lock-json). */
export interface LockedPackage {
  /** Folder below the project, such as `node_modules/a/node_modules/b`. */
  path: string;
  name: string;
  version: string;
  /** Checksum of the archive: an algorithm and a sum in base64; null without an archive. */
  integrity: string | null;
  /** SPDX expression, as its author wrote it; null if absent. */
  license: string | null;
  /** Whether the package has an install script. */
  hasInstallScript: boolean;
  /** Whether the image has it: not what is for development, and not what is optional. */
  isInImage: boolean;
  /** Names and ranges of what it needs. */
  dependencies: Readonly<Record<string, string>>;
}

/** Content of package-lock.json for one folder. */
interface LockEntry {
  version?: string;
  integrity?: string;
  license?: string;
  hasInstallScript?: boolean;
  dev?: boolean;
  optional?: boolean;
  devOptional?: boolean;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

interface LockFile {
  name: string;
  version: string;
  lockfileVersion: number;
  requires: boolean;
  packages: Record<string, LockEntry>;
}

function readLockFile(root: string): LockFile {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
}

/**
 * The lock file of the project as a package, without what is for development.
 * @see https://docs.npmjs.com/cli/v11/configuring-npm/npm-shrinkwrap-json
 */
export function forPackage(root: string): LockFile {
  const { packages, ...file } = readLockFile(root);
  const needed = Object.entries(packages).filter(([, entry]) => entry.dev !== true);
  const kept = Object.fromEntries(needed.map(([path, { devDependencies: _, ...entry }]) => [path, entry]));
  return { ...file, packages: kept };
}

/** All packages of the lock file, sorted by folder, without the project itself. */
export function lockedPackages(root: string): LockedPackage[] {
  return Object.entries(readLockFile(root).packages)
    .filter(([path]) => path !== '')
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, entry]) => ({
      path,
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: entry.version ?? '',
      integrity: entry.integrity ?? null,
      license: entry.license ?? null,
      hasInstallScript: entry.hasInstallScript === true,
      isInImage: entry.dev !== true && entry.optional !== true && entry.devOptional !== true,
      dependencies: { ...entry.peerDependencies, ...entry.dependencies },
    }));
}
