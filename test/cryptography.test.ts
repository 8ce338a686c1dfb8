// Tier: quick. Reads sources and one document.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/cryptography.md'), 'utf8');
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ path: `src/${name}`, text: readFileSync(join(root, 'src', name), 'utf8') }));

/** Algorithms in calls of node:crypto and WebCrypto, and their names in the document. */
const KEYED: readonly [RegExp, (found: string[]) => string][] = [
  [/\bcreateHmac\('([\w-]+)'/g, ([algorithm]) => `hmac ${algorithm}`],
  [/\bcreate(?:Cipher|Decipher)iv\('([\w-]+)'/g, ([algorithm]) => String(algorithm)],
  [/\bhkdf(?:Sync)?\('([\w-]+)'/g, ([algorithm]) => `hkdf ${algorithm}`],
  [/\b(scrypt|pbkdf2|argon2)(?:Sync)?\(/g, ([algorithm]) => String(algorithm)],
  [/\b(sign|verify)\('([\w-]+)'/g, ([use, algorithm]) => `${use} ${algorithm}`],
  // An Ed25519 key has no other algorithm, so the call names none.
  [/\b(sign|verify)\(null,/g, ([use]) => `${use} Ed25519`],
  [/\bcreate(Sign|Verify)\('([\w-]+)'/g, ([use, algorithm]) => `${use} ${algorithm}`],
  [/name: '([\w-]+)', hash: '([\w-]+)'/g, ([name, hash]) => `${name} ${hash}`],
];
const UNKEYED = /\b(?:createHash|hash)\('([a-z0-9-]+)'/g;
/** Local functions of this name take no algorithm. */
const OWN_HASH = 'src/features/reminders/identity.ts';

const section = (heading: string) => page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
const rowsOf = (heading: string) =>
  section(heading)
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
const codesIn = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const sorted = (names: Iterable<string>) => [...new Set(names)].toSorted();

describe('docs/cryptography.md', () => {
  test('names each algorithm with a key, with its source, and no other one', () => {
    const used = sources.flatMap(({ path, text }) =>
      KEYED.flatMap(([pattern, nameOf]) =>
        [...text.matchAll(pattern)].map(([, ...found]) => `${nameOf(found)} ${path}`),
      ),
    );
    const written = rowsOf('Algorithms with a key').flatMap(([, algorithm, , , files]) =>
      codesIn(files).map((file) => `${codesIn(algorithm)[0]} ${file}`),
    );
    expect(sorted(written)).toEqual(sorted(used));
    expect(used.length).toBeGreaterThan(15);
  });

  test('names each hash without a key, and no other one', () => {
    const used = sources
      .filter(({ path }) => path !== OWN_HASH)
      .flatMap(({ text }) => [...text.matchAll(UNKEYED)].map(([, algorithm]) => `hash ${algorithm}`));
    const written = rowsOf('Algorithms without a key').flatMap(([, algorithm]) => codesIn(algorithm));
    expect(sorted(written)).toEqual(sorted(used));
  });

  test('names the purpose of each derived key, and no other one', () => {
    const used = sources.flatMap(({ text }) =>
      [...text.matchAll(/\bderived(?:Signing)?Key\([^;]*?, '([^']+)'\)/g)].map(([, purpose = '']) => purpose),
    );
    const line = page.split('\n').find((each) => each.startsWith('Derived keys'));
    expect(sorted(codesIn(line))).toEqual(sorted(used));
  });

  test('states the lengths and costs of the source', () => {
    const [sealing, access] = ['src/state/sealing.ts', 'src/operator/control/access-stores.ts'].map(
      (path) => sources.find((each) => each.path === path)?.text ?? '',
    );
    expect(sealing).toMatch(/NONCE_BYTES = 12;\nconst TAG_BYTES = 16;/);
    expect(access).toContain('N: 2 ** 15, r: 8, p: 3');
    expect(access).toContain('HASH_BYTES = 32');
  });
});
