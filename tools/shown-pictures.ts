import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Records what the pictures of `docs/screenshots` were made from. */
export const MADE_FROM = `${root}docs/screenshots/made-from.json`;
/** Files that decide how every page looks. */
const STYLES = ['src/operator/http-server/pages/assets/*.css', 'src/operator/http-server/pages/{layout,parts}.ts'];

/** Returns the names of the screenshots that a document shows. */
export function picturesInDocuments(): Set<string> {
  const documents = globSync(['README.md', 'docs/**/*.md'], { cwd: root }).map((path) =>
    readFileSync(root + path, 'utf8'),
  );
  return new Set(
    documents.flatMap((text) =>
      [...text.matchAll(/\]\([^)\s]*screenshots\/([a-z-]+\.png)\)/g)].map(([, file = '']) => file),
    ),
  );
}

/** Returns a digest of what decides how every page looks: pictures with another digest are old. */
export function stylesOfPages(): string {
  const digest = createHash('sha256');
  for (const path of globSync(STYLES, { cwd: root }).sort()) {
    // What is imported decides nothing, so a moved file is no new look.
    digest.update(readFileSync(root + path, 'utf8').replaceAll(/^import [^;]*;$/gm, ''));
  }
  return digest.digest('hex').slice(0, 16);
}
