import { closeSync, constants, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import { issueText, type Message, message, render, type Text, withRemedy } from '../messages/message.ts';
import { name } from './common-schemas.ts';
import type { SeenFiles } from './list-files.ts';

/** Remedy for a secret without a value. */
export const EMPTY_SECRET_REMEDY = message('secret.empty.remedy');

const SHOWN_AS = '[secret]';

/** A value that must not be shown. Printing it in any usual way gives `[secret]`; `reveal` is called at the place of use. */
export class Secret<Value = string> {
  readonly #value: Value;
  readonly #readFrom: Text | null;

  /** @param readFrom the file, variable or sealed name that holds the value; null if the value stands in the configuration itself */
  constructor(value: Value, readFrom: Text | null = null) {
    this.#value = value;
    this.#readFrom = readFrom;
  }

  /** Names the place to correct if the value is refused. */
  get readFrom(): Text | null {
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
  const found = secrets.flatMap((secret) => secret?.readFrom ?? []);
  const sources = [...new Map(found.map((source) => [render(source), source])).values()];
  if (sources.length === 0) return remedy;
  const list = sources.reduce((one, other) => message('settings.or', { one, other }));
  return message('secret.read-from', { remedy, sources: list });
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
  fault: Text;
  remedy: Text;
}

const LARGEST_SECRET_BYTES = 64 * 1024;
const ENV_NAME = /^[A-Z_][A-Z0-9_]*$/;
const HOW_TO_REFER = message('secret.refer');

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
    if (!stat.isFile()) return unusable(withRemedy('secret.no-file'));
    if (stat.nlink > 1 && !mayBeLinked) return unusable(withRemedy('secret.hard-link'));
    if (stat.size > LARGEST_SECRET_BYTES) return unusable(withRemedy('secret.file-too-large'));
    const value = readFileSync(descriptor, 'utf8').trim();
    return value === '' ? unusable(withRemedy('secret.file-empty')) : { value };
  } catch (error) {
    return unreadable(error);
  } finally {
    closeSync(descriptor);
  }
}

function unreadable(error: unknown): Unusable {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const [fault, remedy] = withRemedy('secret.file-unreadable', { code });
  return { fault, remedy: code === 'ENOENT' ? message('secret.file-absent.remedy') : remedy };
}

/** Why there is no secret, as message and remedy. */
export function unusable([fault, remedy]: readonly [Message, Message]): Unusable {
  return { fault, remedy };
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
