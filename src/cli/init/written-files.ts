import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '../../settings/faults.ts';
import { readYamlFile, type YamlFile } from '../../settings/yaml-file.ts';
import { unusable } from '../files.ts';

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

/** Makes files that are not there yet, each whole or not at all; only this user may read them. One that is there stays as it is. */
export async function writeMissingFiles(dir: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, content] of files) if (!existsSync(join(dir, file))) await replaceOwnFile(dir, file, content);
}

/**
 * Puts a file that this command made in the place of what it held before, whole or not at all.
 * @throws MirrorError `settings`, code `file-unusable`
 */
export async function replaceOwnFile(dir: string, file: string, content: string): Promise<void> {
  const path = join(dir, file);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(refuse);
  await writeFile(`${path}.new`, content, { mode: 0o600 }).catch(refuse);
  await rename(`${path}.new`, path).catch(refuse);
}

function refuse(error: unknown): never {
  throw unusable('can not be made', error);
}
