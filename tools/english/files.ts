/** The files whose English is measured, and the folder that each of them counts for. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Prose, proseOfDocument, proseOfOther, proseOfSource } from './prose.ts';

const SKIPPED = /(^|\/)(node_modules|\.git|\.cache|coverage)$/;
/** Sentences in Italian. */
const ITALIAN = /^src\/messages\/(.+-)?it\.ts$/;
const MEASURED = /\.(acl|css|js|lua|md|sample|service|ts|ya?ml)$|^deploy\/.+\.json$|(^|\/)Dockerfile$/;
/** Data for tests, and the phrases themselves. */
const DATA = /^(test\/fixtures\/|tools\/english\/idioms\.yml$)/;

/** Lists the files to measure below some paths of the project. */
export function filesBelow(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    if (SKIPPED.test(path) || ITALIAN.test(path) || DATA.test(path) || path.endsWith('.d.ts')) return [];
    if (statSync(path).isFile()) return MEASURED.test(path) ? [path] : [];
    return filesBelow(
      readdirSync(path)
        .sort()
        .map((name) => join(path, name)),
    );
  });
}

/** Reads the English of a file. */
export function proseOf(path: string): Prose[] {
  const content = readFileSync(path, 'utf8');
  if (path.endsWith('.md')) return [proseOfDocument(path, content)];
  return /\.(js|ts)$/.test(path) ? proseOfSource(path, content) : proseOfOther(path, content);
}

/** Returns the folder that a file counts for: a module of `src/`, another top folder, or a document in the root of the project. */
export function folderOf({ kind, path }: Pick<Prose, 'kind' | 'path'>): string {
  const [top = '', module = '', ...inner] = path.split('/');
  if (module === '') return `${kind} ${path}`;
  return `${kind} ${top === 'src' && inner.length > 0 ? `${top}/${module}` : top}`;
}
