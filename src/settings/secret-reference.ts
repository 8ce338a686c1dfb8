import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import { issueText, type Message, message, render, type Text, withRemedy } from '../messages/message.ts';
import { name } from './common-schemas.ts';
import type { SeenFiles } from './list-files.ts';

/** Remedy for an empty secret. */
export const EMPTY_SECRET_REMEDY = message('secret.empty.remedy');

const SHOWN_AS = '[secret]';

/** A value that must not be shown. Every usual way of printing gives `[secret]`; call `reveal` at the place of use. */
export class Secret<Value = string> {
  readonly #value: Value;
  readonly #readFrom: Text | null;

  /** @param readFrom file, variable or stored name of the value; null if written in the configuration */
  constructor(value: Value, readFrom: Text | null = null) {
    this.#value = value;
    this.#readFrom = readFrom;
  }

  /** Location to correct if the value is refused. */
  get readFrom(): Text | null {
    return this.#readFrom;
  }

  /** Returns the value for immediate use; do not store it. */
  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return SHOWN_AS;
  }

  toJSON(): string {
    return SHOWN_AS;
  }

  [inspect.custom](): string {
    return SHOWN_AS;
  }
}

/** Adds the files and variables of refused secrets to a remedy; unchanged if the configuration itself holds all values. */
export function namingSources(remedy: Text, secrets: readonly (Secret<unknown> | null | undefined)[]): Text {
  const found = secrets.flatMap((secret) => secret?.readFrom ?? []);
  const sources = [...new Map(found.map((source) => [render(source), source])).values()];
  if (sources.length === 0) return remedy;
  const list = sources.reduce((one, other) => message('settings.or', { one, other }));
  return message('secret.read-from', { remedy, sources: list });
}

/** Key length for HMAC-SHA256 or AES-256. */
const KEY_BYTES = 32;

/** Decodes a 32-byte key from 64 hexadecimal digits or base64 (either alphabet, padded or not); null if invalid. */
function decodeKey(text: string): Uint8Array | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === KEY_BYTES ? bytes : null;
}

/** Source of secrets: the environment, and the base directory of relative file names. */
export interface SecretSource {
  env: Readonly<Record<string, string | undefined>>;
  dir: string;
  /** Records every secret file. */
  seen?: SeenFiles;
  /** Limits access to secrets; absent for the settings: everything is allowed. */
  scope?: SecretScope;
  /** Returns a stored encrypted secret; absent for the settings: not allowed. */
  sealed?(name: string): FoundSecret;
}

/** Decides access to a secret before anything is read. Returns null if allowed, otherwise the reason. */
export interface SecretScope {
  variable(name: string): Unusable | null;
  /** @param fileName absolute path as written, before following links */
  file(fileName: string): Unusable | null;
  /** @param realName path of the opened file, without links */
  realFile(realName: string): Unusable | null;
}

/** Reason and remedy for an inaccessible secret. */
export interface Unusable {
  fault: Text;
  remedy: Text;
}

const LARGEST_SECRET_BYTES = 64 * 1024;
const ENV_NAME = /^[A-Z_][A-Z0-9_]*$/;
const HOW_TO_REFER = message('secret.refer');

/** Location of an external secret. */
export type SecretReference = { env: string } | { file: string };

/** Adds the stored secrets of managed tenants. */
type AnyReference = SecretReference | { sealed: string };

/** A secret, or the reason why none is available. */
export type FoundSecret = { value: string } | Unusable;

/**
 * Returns schemas of secrets. The configuration contains only a reference, `{ env: NAME }` or `{ file: path }`; parsing returns a {@link
 * Secret}, or a fault with the variable or file. Each secret is read once and cached.
 */
export function secretSchemas(source: SecretSource) {
  const read = new Map<string, FoundSecret>();
  function find(where: AnyReference): FoundSecret {
    if ('sealed' in where) return source.sealed?.(where.sealed) ?? NONE_SEALED;
    // Checked at each use, because the permission of one tenant is not valid for another.
    const refusal = refusalOf(where, source);
    if (refusal !== null) return refusal;
    const name = JSON.stringify(where);
    const found =
      read.get(name) ?? ('env' in where ? fromEnvironment(where.env, source) : fromFile(where.file, source));
    read.set(name, found);
    return found;
  }
  const outside = [z.strictObject({ env: z.string().regex(ENV_NAME) }), z.strictObject({ file: z.string().min(1) })];
  const references: z.ZodType<AnyReference>[] =
    source.sealed === undefined ? outside : [...outside, z.strictObject({ sealed: name })];
  const reference = z
    .union(references, { error: issueText(HOW_TO_REFER) })
    .describe(
      `Reference to the secret: { env: NAME } or { file: path }${source.sealed === undefined ? '' : '; in a managed tenant also { sealed: NAME }'}.`,
    );
  const text = reference.transform((where, context) => {
    const found = find(where);
    if ('value' in found) return new Secret(found.value, describeSource(where));
    context.addIssue({ code: 'custom', message: issueText(found.remedy), params: { fault: found.fault } });
    return z.NEVER;
  });
  const key = text.transform((secret, context) => {
    const bytes = decodeKey(secret.reveal());
    if (bytes !== null) return new Secret(bytes, secret.readFrom);
    const [fault, remedy] = withRemedy('secret.no-key');
    context.addIssue({ code: 'custom', message: issueText(remedy), params: { fault } });
    return z.NEVER;
  });
  const plainOrReference = z.union(
    [
      z
        .string()
        .min(1)
        .transform((plain) => new Secret(plain)),
      text,
    ],
    {
      error: issueText(message('secret.refer-or-plain', { refer: HOW_TO_REFER })),
    },
  );
  /** Returns the value of a reference; null if unusable. */
  function secretAt(where: SecretReference): string | null {
    const found = find(where);
    return 'value' in found ? found.value : null;
  }
  return { text, key, plainOrReference, secretAt };
}

/** Returns each distinct reference to an external secret. */
export function referencesIn(value: unknown): SecretReference[] {
  return [...namedIn(value, 'env', 'file')].map(([kind, name]) => ({ [kind]: name }) as SecretReference);
}

/** Returns each distinct name of a stored secret in a managed tenant's document. */
export function sealedNamesIn(value: unknown): string[] {
  return namedIn(value, 'sealed').map(([, name]) => name);
}

/** Returns mappings with exactly one of these keys and a string value. */
function namedIn(value: unknown, ...kinds: readonly string[]): (readonly [kind: string, name: string])[] {
  const found = new Map<string, readonly [string, string]>();
  const look = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const [[kind = '', name] = [], ...others] = Object.entries(part);
    if (kinds.includes(kind) && typeof name === 'string' && others.length === 0) {
      found.set(JSON.stringify([kind, name]), [kind, name]);
    } else Object.values(part).forEach(look);
  };
  look(value);
  return [...found.values()];
}

export type SecretSchemas = ReturnType<typeof secretSchemas>;

/** Describes a reference for messages. */
function describeSource(where: AnyReference): Message {
  if ('env' in where) return message('secret.variable', { name: where.env });
  return 'file' in where
    ? message('secret.file', { name: where.file })
    : message('secret.sealed', { name: where.sealed });
}

const NONE_SEALED: Unusable = { fault: message('secret.none-sealed'), remedy: HOW_TO_REFER };

function refusalOf(where: SecretReference, { dir, scope }: SecretSource): Unusable | null {
  if (scope === undefined) return null;
  return 'env' in where ? scope.variable(where.env) : scope.file(resolve(dir, where.file));
}

function fromEnvironment(name: string, source: SecretSource): FoundSecret {
  const value = source.env[name]?.trim();
  if (value === undefined) return unusable(withRemedy('secret.variable-unset', { name }));
  if (value === '') return { fault: message('secret.variable-empty', { name }), remedy: EMPTY_SECRET_REMEDY };
  return { value };
}

function fromFile(name: string, { dir, seen, scope }: SecretSource): FoundSecret {
  const fileName = resolve(dir, name);
  // Recorded before the read, so that the next check detects another file.
  seen?.isAsBefore(fileName);
  try {
    return opened(fileName, (descriptor, stat) => readSecret(descriptor, stat, fileName, scope));
  } catch (error) {
    return unreadable(error);
  }
}

/** Works on an open file. Opening does not wait for a pipe without a writer. @throws errors of the file system, also by `work` */
function opened<Result>(fileName: string, work: (descriptor: number, stat: Stats) => Result): Result {
  const descriptor = openSync(fileName, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // The links are counted first: a hard link removed before the count is no longer a location.
    return work(descriptor, fstatSync(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Decides by the opened file, because a name can lead to another file at each use. A user with write access to a directory can also
 * hard-link a file without read access to it, so a tenant's secret must have one link.
 */
function readSecret(descriptor: number, stat: Stats, fileName: string, scope: SecretScope | undefined): FoundSecret {
  const refusal = scope === undefined ? null : scope.realFile(locationOf(descriptor, stat, fileName));
  if (refusal !== null) return refusal;
  if (!stat.isFile()) return unusable(withRemedy('secret.no-file'));
  if (stat.nlink > 1 && scope !== undefined) return unusable(withRemedy('secret.hard-link'));
  if (stat.size > LARGEST_SECRET_BYTES) return unusable(withRemedy('secret.file-too-large'));
  const value = readFileSync(descriptor, 'utf8').trim();
  return value === '' ? unusable(withRemedy('secret.file-empty')) : { value };
}

/** Linux names each open file here, and adds this ending to the name of a removed file (proc_pid_fd(5)). */
const OPEN_FILES = '/proc/self/fd';
const REMOVED = ' (deleted)';

/**
 * Returns the path of an open file without links. Without `/proc`, the path is that of the name, if the same file is still there. Three
 * swaps at exact moments can deceive that comparison.
 * @throws an error with code `ESTALE` if the file was removed or replaced after it was opened
 */
function locationOf(descriptor: number, stat: Pick<Stats, 'dev' | 'ino'>, fileName: string): string {
  const hasOpenFiles = existsSync(OPEN_FILES);
  const location = hasOpenFiles ? readlinkSync(`${OPEN_FILES}/${descriptor}`) : realpathSync.native(fileName);
  const there = hasOpenFiles ? stat : lstatSync(location);
  if (!location.endsWith(REMOVED) && there.dev === stat.dev && there.ino === stat.ino) return location;
  throw Object.assign(new Error('file was replaced'), { code: 'ESTALE' });
}

function unreadable(error: unknown): Unusable {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const [fault, remedy] = withRemedy('secret.file-unreadable', { code });
  return { fault, remedy: code === 'ENOENT' ? message('secret.file-absent.remedy') : remedy };
}

/** Returns message and remedy for an unavailable secret. */
export function unusable([fault, remedy]: readonly [Message, Message]): Unusable {
  return { fault, remedy };
}

/** A secret file that all users of the host can read. */
export interface OpenSecret {
  /** Path of the setting: `clinicClients.main.clientSecret`. */
  at: string;
  /** File name in the setting, relative to the configuration directory unless absolute. */
  file: string;
}

/** Larger than a bundle of all public authorities; a larger file is treated as a secret. */
const LARGEST_CERTIFICATES_BYTES = 2 * 1024 * 1024;
/** Read permission for others (POSIX: `S_IROTH`). */
const READ_BY_OTHERS = 0o004;
/**
 * Secrets of containers (https://docs.docker.com/compose/how-tos/use-secrets/). A container has no other users, and a file that only its
 * owner on the host can read would be unreadable for the container's user.
 */
const OF_CONTAINERS = '/run/secrets/';

/** Lists the secret files of a configuration part that all users of the host can read. */
export function openSecretsIn(part: unknown, dir: string, at: readonly string[] = []): OpenSecret[] {
  if (typeof part !== 'object' || part === null) return [];
  const entries = Object.entries(part);
  const [[kind, file] = [], ...others] = entries;
  if (kind === 'file' && typeof file === 'string' && others.length === 0) {
    const path = resolve(dir, file);
    return isReadByOthers(path) && !isCertificate(path) ? [{ at: at.join('.'), file }] : [];
  }
  return entries.flatMap(([name, value]) => openSecretsIn(value, dir, [...at, name]));
}

/** Returns the command that closes the file. */
export function closingOf({ file }: OpenSecret): string {
  return `chmod 600 ${file}`;
}

/** Returns whether a file contains public certificates only (PEM, RFC 7468): a certificate authority is no secret, its key is. */
function isCertificate(fileName: string): boolean {
  try {
    const text = opened(fileName, (descriptor, stat) =>
      stat.isFile() && stat.size <= LARGEST_CERTIFICATES_BYTES ? readFileSync(descriptor, 'latin1') : '',
    );
    const labels = [...text.matchAll(/-----BEGIN ([^-]+)-----/g)].map(([, label]) => label);
    return labels.length > 0 && labels.every((label) => label === 'CERTIFICATE' || label === 'TRUSTED CERTIFICATE');
  } catch {
    // Not readable for this user: nothing is known of the content.
    return false;
  }
}

/** A missing file is reported as a fault. */
function isReadByOthers(fileName: string): boolean {
  if (fileName.startsWith(OF_CONTAINERS)) return false;
  const mode = statSync(fileName, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & READ_BY_OTHERS) !== 0;
}
