import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type SourceFile, sourceFile } from './architecture.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every file below the folder, from the project's root. */
export function filesBelow(folder: string): string[] {
  if (!existsSync(root + folder)) return [];
  return readdirSync(root + folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
    .sort();
}

/** Every TypeScript file below the folder. */
export function sourceFilesBelow(folder: string): SourceFile[] {
  return filesBelow(folder)
    .filter((path) => path.endsWith('.ts'))
    .map((path) => sourceFile(path, readFileSync(root + path, 'utf8')));
}
