import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { message } from '../../messages/message.ts';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import { ConfigurationError } from '../../settings/faults.ts';
import { readYamlFile, type YamlFile } from '../../settings/yaml-file.ts';
import { CANNOT_CREATE, unusable } from '../files.ts';
import type { Asker } from './asker.ts';

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
  throw unusable(CANNOT_CREATE, error);
}

/** One secret that `init` keeps in a file of its own. */
export interface TestedSecret {
  /** From the configuration directory on. */
  file: string;
  /** What the value is called in messages: `the client secret of the clinic`. */
  what: string;
  /** Whether the other values of the test are kept already: then a server that is away refuses nothing. */
  mayBeAway: boolean;
  /** Asks for a new value; '' where the answer may stay empty. */
  ask(): Promise<string>;
  /** @throws MirrorError when the server refuses the value, or gives no answer */
  test(value: string): Promise<void>;
}

/**
 * Settles a secret: a kept value that works stays. One that is refused is replaced by a new value, after the server accepted the new one.
 * @returns the value; '' for none
 * @throws MirrorError `settings`, code `value-refused`; nothing is written then
 */
export async function prepareSecret(dir: string, secret: TestedSecret, asker: Asker): Promise<string> {
  const { file, what, mayBeAway, ask, test } = secret;
  const path = join(dir, file);
  const existing = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  if (existing !== '') {
    asker.report(`Testing ${what}, kept in ${path} …`);
    const failure = await failureOf(test(existing));
    if (failure === null || (mayBeAway && failure.actor === 'remote')) return existing;
    asker.report(
      `${path} holds ${what}, which is refused: ${failure.message} (${failure.code}). A value that works replaces it.`,
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

/** Repeats questions to a person whose answer was refused; a file of answers has no other answer. */
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

/** @returns null when the value was accepted */
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
