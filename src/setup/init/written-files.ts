import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';
import { CANNOT_CREATE, unusable } from '../../operator/cli/files.ts';
import { ConfigurationError } from '../../settings/faults.ts';
import { readYamlFile, type YamlFile } from '../../settings/yaml-file.ts';
import type { Asker } from './asker.ts';

/** File name of the settings in a configuration directory. */
export const SETTINGS_FILE = 'clinic-mirror.yaml';

/** Returns the path of a tenant file, relative to the configuration directory. */
export function tenantFile(tenant: string): string {
  return join('tenants', `${tenant}.yaml`);
}

/** Returns an existing file, or null. @throws ConfigurationError for an unreadable file */
export function readExisting(dir: string, file: string): YamlFile | null {
  const path = join(dir, file);
  if (!existsSync(path)) return null;
  const read = readYamlFile(path);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  return read.file;
}

/** Creates missing files atomically, with owner-only permissions. An existing file remains unchanged. */
export async function writeMissingFiles(dir: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [file, content] of files) if (!existsSync(join(dir, file))) await replaceOwnFile(dir, file, content);
}

/**
 * Replaces a file created by `init`, atomically.
 * @throws MirrorError `settings`, code `file-unusable`
 */
export async function replaceOwnFile(dir: string, file: string, content: string): Promise<void> {
  const path = join(dir, file);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(refuse);
  await writeFile(`${path}.new`, content, { mode: 0o600 }).catch(refuse);
  await rename(`${path}.new`, path).catch(refuse);
}

function refuse(error: unknown): never {
  throw unusable(CANNOT_CREATE, error);
}

/** A secret that `init` keeps in a separate file. */
export interface TestedSecret {
  /** Relative to the configuration directory. */
  file: string;
  /** Name in messages: `the client secret of the clinic`. */
  what: string;
  /** True if the other values of the test are saved. An unreachable server then does not refuse the secret. */
  mayBeAway: boolean;
  /** Asks for a new value; '' if the answer may be empty. */
  ask(): Promise<string>;
  /** @throws MirrorError if the server refuses the value, or does not answer */
  test(value: string): Promise<void>;
}

/**
 * Keeps a working secret. Replaces a refused secret after the server accepted the new value.
 * @returns the value; '' without a secret
 * @throws MirrorError `settings`, code `value-refused`, without writing a file
 */
export async function prepareSecret(dir: string, secret: TestedSecret, asker: Asker): Promise<string> {
  const { file, what, mayBeAway, ask, test } = secret;
  const path = join(dir, file);
  const existing = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  if (existing !== '') {
    asker.report(`Testing ${what} in ${path} …`);
    const failure = await failureOf(test(existing));
    if (failure === null || (mayBeAway && failure.actor === 'remote')) return existing;
    asker.report(
      `${path}: ${what} was refused: ${failure.message} (${failure.code}). A working value replaces the file.`,
    );
  }
  const value = await ask();
  asker.report(`Testing ${what} …`);
  const failure = await failureOf(test(value));
  if (failure !== null) throw valueRefused(secret, failure, path);
  if (value === '') return value;
  await replaceOwnFile(dir, file, `${value}\n`);
  if (existing !== '') asker.report(`${path} is replaced.`);
  return value;
}

/** Repeats a refused question in a terminal. A file of answers cannot give a second answer. */
export async function untilAccepted<Result>(asker: Asker, work: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!asker.isPerson || !(error instanceof MirrorError && error.code === 'value-refused')) throw error;
      asker.report(`${error.message}. ${error.remedy ?? ''}`);
    }
  }
}

/** @returns null for an accepted value */
async function failureOf(test: Promise<void>): Promise<MirrorError | null> {
  return test.then(() => null, asMirrorError);
}

function valueRefused({ what }: TestedSecret, cause: MirrorError, path: string): MirrorError {
  const { code, remedy, actor } = cause;
  const first = remedy === undefined ? '' : `${remedy}; `;
  return new MirrorError(message('value-refused', { what, message: cause.texts.message, code }), {
    ...{ actor: actor === 'remote' ? 'remote' : 'settings', code: 'value-refused', retry: 'never', cause },
    remedy: message('value-refused.remedy', { first, path }),
  });
}
