import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import { message, type Text } from '../messages/message.ts';
import { name } from './common-schemas.ts';
import type { SeenFiles } from './list-files.ts';

/** Remedy for a secret without a value. */
export const EMPTY_SECRET_REMEDY = 'give it a value';

const SHOWN_AS = '[secret]';

/** A value that must not be shown. Printing it in any usual way gives `[secret]`; `reveal` is called at the place of use. */
export class Secret<Value = string> {
  readonly #value: Value;
  readonly #readFrom: string | null;

  /** @param readFrom the file, variable or sealed name that holds the value; null if the value stands in the configuration itself */
  constructor(value: Value, readFrom: string | null = null) {
    this.#value = value;
    this.#readFrom = readFrom;
  }

  /** Names the place to correct if the value is refused. */
  get readFrom(): string | null {
    return this.#readFrom;
  }

  /** The value itself, to be used and not kept. */
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

/** A remedy for refused secrets, with the files and variables that hold them; as given where the configuration itself holds them all. */
export function namingSources(remedy: Text, secrets: readonly (Secret<unknown> | null | undefined)[]): Text {
  const sources = [...new Set(secrets.flatMap((secret) => secret?.readFrom ?? []))];
  return sources.length === 0 ? remedy : message('secret-read-from', { remedy, sources: sources.join(', ') });
}

/** Bytes of a key for HMAC-SHA256 or AES-256. */
const KEY_BYTES = 32;

/** Reads a key of 32 bytes written as 64 hexadecimal digits or in base64 (either alphabet, padded or not); else null. */
function decodeKey(text: string): Uint8Array | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === KEY_BYTES ? bytes : null;
}

/** Where secrets come from: the environment, and the directory that relative file names start from. */
export interface SecretSource {
  env: Readonly<Record<string, string | undefined>>;
  dir: string;
  /** Records every file that a secret is read from. */
  seen?: SeenFiles;
  /** Who may be told what; when absent, as for the settings, everything. */
  scope?: SecretScope;
  /** Gives what is kept sealed under a name; when absent, as for the settings, no secret may be named so. */
  sealed?(name: string): FoundSecret;
}

/** Decides, before anything is read, what whoever asks may be told. Gives null where they may, else why not. */
export interface SecretScope {
  variable(name: string): Unusable | null;
  /** @param fileName absolute, as written: links are not followed yet */
  file(fileName: string): Unusable | null;
  /** @param realName the same file with every link followed */
  realFile(realName: string): Unusable | null;
}

/** Why there is no secret, and what to do. */
export interface Unusable {
  fault: string;
  remedy: string;
}

const LARGEST_SECRET_BYTES = 64 * 1024;
const ENV_NAME = /^[A-Z_][A-Z0-9_]*$/;
const HOW_TO_REFER =
  'write { env: NAME } or { file: path } and keep the secret itself in that variable (upper case) or file';

/** Where one secret is, outside of the configuration. */
export type SecretReference = { env: string } | { file: string };

/** The same, of a managed tenant also by the name under which it is kept sealed. */
type AnyReference = SecretReference | { sealed: string };

/** A secret, or why there is none. */
export type FoundSecret = { value: string } | Unusable;

/**
 * Schemas of secrets. The configuration holds only a reference, `{ env: NAME }` or `{ file: path }`; reading it gives the
 * value as a {@link Secret}, or a fault that names the variable or file. Each is read once: what is asked for again is as it was.
 */
export function secretSchemas(source: SecretSource) {
  const read = new Map<string, FoundSecret>();
  function find(where: AnyReference): FoundSecret {
    if ('sealed' in where) return source.sealed?.(where.sealed) ?? NONE_SEALED;
    // Asked each time: what one tenant was told is not another's.
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
  const ofManaged = source.sealed === undefined ? '' : '; of a managed tenant also { sealed: NAME }';
  const reference = z
    .union(references, { error: HOW_TO_REFER })
    .describe(`Where the secret is: { env: NAME } or { file: path }${ofManaged}`);
  const text = reference.transform((where, context) => {
    const found = find(where);
    if ('value' in found) return new Secret(found.value, describeSource(where));
    context.addIssue({ code: 'custom', message: found.remedy, params: { fault: found.fault } });
    return z.NEVER;
  });
  const key = text.transform((secret, context) => {
    const bytes = decodeKey(secret.reveal());
    if (bytes !== null) return new Secret(bytes, secret.readFrom);
    context.addIssue({
      code: 'custom',
      message: 'make one with: openssl rand -base64 32',
      params: { fault: 'the secret is not a key of 32 bytes in base64 or hexadecimal' },
    });
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
      error: `write the value itself, or ${HOW_TO_REFER}`,
    },
  );
  /** What a reference leads to; null when there is nothing usable. */
  function secretAt(where: SecretReference): string | null {
    const found = find(where);
    return 'value' in found ? found.value : null;
  }
  return { text, key, plainOrReference, secretAt };
}

/** Every mapping that a schema of secrets may take for a reference to what is kept outside, each once. */
export function referencesIn(value: unknown): SecretReference[] {
  return [...namedIn(value, 'env', 'file')].map(([kind, name]) => ({ [kind]: name }) as SecretReference);
}

/** The names under which the secrets of a managed tenant are kept sealed, as its document gives them, each once. */
export function sealedNamesIn(value: unknown): string[] {
  return namedIn(value, 'sealed').map(([, name]) => name);
}

/** Every mapping of one of these keys, and no other, to a text. */
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

/** What {@link secretSchemas} gives. */
export type SecretSchemas = ReturnType<typeof secretSchemas>;

/** Names a reference's place as messages do. */
function describeSource(where: AnyReference): string {
  if ('env' in where) return `the environment variable ${where.env}`;
  return 'file' in where ? `the file ${where.file}` : `the sealed secret ${where.sealed}`;
}

const NONE_SEALED: Unusable = { fault: 'no secret is kept sealed here', remedy: HOW_TO_REFER };

function refusalOf(where: SecretReference, { dir, scope }: SecretSource): Unusable | null {
  if (scope === undefined) return null;
  return 'env' in where ? scope.variable(where.env) : scope.file(resolve(dir, where.file));
}

function fromEnvironment(name: string, source: SecretSource): FoundSecret {
  const value = source.env[name]?.trim();
  if (value === undefined) {
    const remedy = `set it for the daemon and for your commands (export ${name}=…), or name a file: { file: path }`;
    return { fault: `the environment variable ${name} is not set`, remedy };
  }
  if (value === '') return { fault: `the environment variable ${name} is empty`, remedy: EMPTY_SECRET_REMEDY };
  return { value };
}

function fromFile(name: string, { dir, seen, scope }: SecretSource): FoundSecret {
  const fileName = resolve(dir, name);
  // Whatever comes of it: when it is another file, the next look tells.
  seen?.isAsBefore(fileName);
  try {
    const realName = realpathSync.native(fileName);
    const refusal = scope?.realFile(realName) ?? null;
    if (refusal !== null) return refusal;
    // Looked at by the name that is written, since the link may be changed; read by the one that was judged.
    return readSecret(realName, { mayBeLinked: scope === undefined });
  } catch (error) {
    return unreadable(error);
  }
}

/** @param mayBeLinked whether the file may have another name, which may be anybody's: whoever may write into a folder can link what they can't read */
function readSecret(realName: string, { mayBeLinked }: { mayBeLinked: boolean }): FoundSecret {
  let descriptor: number;
  try {
    // Neither a link that was put there since, nor a pipe that nobody writes into, is waited for.
    descriptor = openSync(realName, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return unreadable(error);
  }
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile())
      return { fault: "the secret's file is no regular file", remedy: 'write the secret into a file' };
    if (stat.nlink > 1 && !mayBeLinked) {
      const remedy = 'put a copy of the file there, and no hard link';
      return { fault: "the secret's file has another name elsewhere (a hard link)", remedy };
    }
    if (stat.size > LARGEST_SECRET_BYTES) {
      return { fault: "the secret's file is larger than 64 KiB", remedy: 'name the file that holds only the secret' };
    }
    const value = readFileSync(descriptor, 'utf8').trim();
    if (value === '') return { fault: "the secret's file is empty", remedy: 'write the secret into it' };
    return { value };
  } catch (error) {
    return unreadable(error);
  } finally {
    closeSync(descriptor);
  }
}

function unreadable(error: unknown): Unusable {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const fault = `the secret's file can't be read (${code})`;
  if (code !== 'ENOENT') return { fault, remedy: 'let the user of this process read the file (chown, chmod 600)' };
  return {
    fault,
    remedy: 'write the secret into this file, or correct the path (it starts from the configuration directory)',
  };
}

/** A file of a secret that everybody on the machine may read. */
export interface OpenSecret {
  /** The setting that names it: `clinicClients.main.clientSecret`. */
  at: string;
  /** As the setting names it: from the configuration directory on, where it does not begin at the root. */
  file: string;
}

/** The right of all others to read a file (POSIX: `S_IROTH`). */
const READ_BY_OTHERS = 0o004;
/**
 * Where containers get theirs (https://docs.docker.com/compose/how-tos/use-secrets/): in them is nobody else, and a file that its owner on the
 * host alone may read would be closed to the container's user.
 */
const OF_CONTAINERS = '/run/secrets/';

/** Every file that a part of a configuration names as a secret, as it is written, and that everybody on the machine may read. */
export function openSecretsIn(part: unknown, dir: string, at: readonly string[] = []): OpenSecret[] {
  if (typeof part !== 'object' || part === null) return [];
  const entries = Object.entries(part);
  const [[kind, file] = [], ...others] = entries;
  if (kind === 'file' && typeof file === 'string' && others.length === 0) {
    return isReadByOthers(resolve(dir, file)) ? [{ at: at.join('.'), file }] : [];
  }
  return entries.flatMap(([name, value]) => openSecretsIn(value, dir, [...at, name]));
}

/** What a person does about one. */
export function closingOf({ file }: OpenSecret): string {
  return `chmod 600 ${file}`;
}

/** One that is not there is told as a fault. */
function isReadByOthers(fileName: string): boolean {
  if (fileName.startsWith(OF_CONTAINERS)) return false;
  const mode = statSync(fileName, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & READ_BY_OTHERS) !== 0;
}
