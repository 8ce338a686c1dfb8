import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '../../settings/faults.ts';
import { readYamlFile, type YamlFile } from '../../settings/yaml-file.ts';
import { writeNewFile } from '../files.ts';

/** The settings within a directory of a configuration. */
export const SETTINGS_FILE = 'clinic-mirror.yaml';

/** Where a tenant's file is, from the directory on. */
export function tenantFile(tenant: string): string {
  return join('tenants', `${tenant}.yaml`);
}

/** A file that is there already; null where there is none. @throws ConfigurationError when it can't be read */
export function readExisting(dir: string, file: string): YamlFile | null {
  const path = join(dir, file);
  if (!existsSync(path)) return null;
  const read = readYamlFile(path);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return read.file;
}

/**
 * Makes new files, which only this user may read, and their folders. One that is there stays as it is, and nothing after it is made.
 * @param files by their path from the directory on
 * @throws MirrorError `settings`, code `file-unusable`
 */
export async function writeNewFiles(dir: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, content] of files) {
    const path = join(dir, file);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeNewFile(path, content);
  }
}

/** Puts a file that this command made in the place of what it held before, whole or not at all. */
export async function replaceOwnFile(dir: string, file: string, content: string): Promise<void> {
  const path = join(dir, file);
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
