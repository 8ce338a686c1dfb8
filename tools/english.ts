/** `npm run english -- [file or folder …]`: idioms of each file, or the measure of every folder. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pronounShare, wordsOf } from './english/density.ts';
import { idiomsIn } from './english/idioms.ts';
import { type Prose, proseOfDocument, proseOfSource } from './english/prose.ts';

const paths = process.argv.slice(2);
const SKIPPED = /(^|\/)(node_modules|\.git|\.cache|coverage)$|messages\/(.*-)?it\.ts$/;
function files(path: string): string[] {
  if (SKIPPED.test(path)) return [];
  if (statSync(path).isFile()) return /\.(md|ts)$/.test(path) && !path.endsWith('.d.ts') ? [path] : [];
  return readdirSync(path)
    .sort()
    .flatMap((name) => files(join(path, name)));
}
function prose(path: string): Prose[] {
  const content = readFileSync(path, 'utf8');
  return path.endsWith('.md') ? [proseOfDocument(path, content)] : proseOfSource(path, content);
}
const isTable = paths.length === 0 || paths[0] === '--table';
const all = (paths.filter((p) => p !== '--table').length === 0 ? ['.'] : paths.filter((p) => p !== '--table'))
  .flatMap(files)
  .flatMap(prose);
const groups = new Map<string, { words: number; idioms: number; pronouns: number }>();
for (const each of all) {
  const words = wordsOf(each.text);
  const idioms = await idiomsIn(each);
  if (!isTable) for (const { path, line, message } of idioms) console.log(`${path}:${line}: ${message}`);
  const parts = each.path.split('/');
  const key = `${each.kind} ${isTable ? (parts[0] === 'src' ? parts.slice(0, parts.length > 2 ? 2 : 1).join('/') : parts.length > 1 ? parts[0] : each.path) : each.path}`;
  const g = groups.get(key) ?? { words: 0, idioms: 0, pronouns: 0 };
  g.words += words.length;
  g.idioms += idioms.length;
  g.pronouns += (pronounShare(words) * words.length) / 100;
  groups.set(key, g);
}
for (const [key, { words, idioms, pronouns }] of [...groups].sort())
  if (words > 0)
    console.log(
      `${key.padEnd(50)} words ${String(words).padStart(6)}  idioms ${String(idioms).padStart(5)} = ${((100 * idioms) / words).toFixed(2)} per 100  pronouns ${((100 * pronouns) / words).toFixed(1)} %`,
    );
