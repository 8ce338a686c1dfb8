import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Digest of all that the program is made of: its own files, the packages that it pins, and the runtime with its zones. */
export function programDigest(): string {
  const digest = createHash('sha256');
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
  const ours = sources.filter((name) => /\.[jt]s$/.test(name)).map((name) => join('src', name));
  for (const name of ['package.json', ...ours.toSorted()]) digest.update(name).update(readFileSync(join(ROOT, name)));
  const { node, icu, tz } = process.versions;
  return digest.update(JSON.stringify([node, icu, tz])).digest('hex');
}
