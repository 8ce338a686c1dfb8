import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { decodeKey, Secret } from './secret.ts';

/** Where secrets come from: the environment, and the directory that relative file names start from. */
export interface SecretSource {
  env: Readonly<Record<string, string | undefined>>;
  dir: string;
}

const LARGEST_SECRET_BYTES = 64 * 1024;
const ENV_NAME = /^[A-Z_][A-Z0-9_]*$/;
const HOW_TO_REFER =
  'write { env: NAME } or { file: path } and keep the secret itself in that variable (upper case) or file';

/**
 * Schemas of secrets. The configuration holds only a reference, `{ env: NAME }` or `{ file: path }`; reading it gives the
 * value as a {@link Secret}, or a fault that names the variable or file.
 */
export function secretSchemas(source: SecretSource) {
  const reference = z
    .union([z.strictObject({ env: z.string().regex(ENV_NAME) }), z.strictObject({ file: z.string().min(1) })], {
      error: HOW_TO_REFER,
    })
    .describe('Where the secret is: { env: NAME } or { file: path }');
  const text = reference.transform((where, context) => {
    const found = 'env' in where ? fromEnvironment(where.env, source) : fromFile(where.file, source);
    if ('value' in found) return new Secret(found.value);
    context.addIssue({ code: 'custom', message: found.remedy, params: { fault: found.fault } });
    return z.NEVER;
  });
  const key = text.transform((secret, context) => {
    const bytes = decodeKey(secret.reveal());
    if (bytes !== null) return new Secret(bytes);
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
  return { text, key, plainOrReference };
}

/** What {@link secretSchemas} gives. */
export type SecretSchemas = ReturnType<typeof secretSchemas>;

type Found = { value: string } | { fault: string; remedy: string };

function fromEnvironment(name: string, source: SecretSource): Found {
  const value = source.env[name]?.trim();
  if (value === undefined) return { fault: `the environment variable ${name} is not set`, remedy: 'set it' };
  if (value === '') return { fault: `the environment variable ${name} is empty`, remedy: 'give it a value' };
  return { value };
}

function fromFile(name: string, source: SecretSource): Found {
  let content: Buffer;
  try {
    content = readFileSync(resolve(source.dir, name));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const fault = `the secret's file can't be read (${code})`;
    return { fault, remedy: 'check the path (it starts from the configuration directory) and who may read the file' };
  }
  if (content.length > LARGEST_SECRET_BYTES) {
    return { fault: "the secret's file is larger than 64 KiB", remedy: 'name the file that holds only the secret' };
  }
  const value = content.toString('utf8').trim();
  if (value === '') return { fault: "the secret's file is empty", remedy: 'write the secret into it' };
  return { value };
}
