// npm run image-files: the sum of every file of the project that goes into the image, as sha256sum checks them (docs/releasing.md).
import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What the image is built on. */
export interface BaseImage {
  name: string;
  tag: string;
  /** `sha256:` and 64 hexadecimal digits. */
  digest: string;
}

/** Returns the base image of a release. @throws Error if the Dockerfile names it in another form, such as without a digest */
export function baseImage(root: string): BaseImage {
  const named = /^ARG NODE_IMAGE=(\S+):(\S+)@(sha256:[0-9a-f]{64})$/m.exec(read(root, 'Dockerfile').toString());
  const [, name, tag, digest] = named ?? [];
  if (name === undefined || tag === undefined || digest === undefined) {
    throw new Error('Dockerfile: name the base image as ARG NODE_IMAGE=<name>:<tag>@sha256:<digest>');
  }
  return { name, tag, digest };
}

/**
 * Lists the project's files that the Dockerfile copies into the last stage and that .dockerignore permits.
 * @returns paths relative to the project with a slash between folders, sorted
 */
export function imageFiles(root: string): string[] {
  const copied = [
    ...read(root, 'Dockerfile')
      .toString()
      .matchAll(/^COPY (.+)$/gm),
  ].map(([, rest = '']) => rest);
  const sources = copied.filter((rest) => !rest.startsWith('--')).flatMap((rest) => rest.split(' ').slice(0, -1));
  const taken = copied.filter((rest) => rest.startsWith('--from=build ')).map((rest) => rest.split(' ').at(-1) ?? '');
  const isTaken = (path: string) => taken.some((one) => path === one || path.startsWith(`${one}/`));
  const isLetIn = (path: string) => !path.endsWith('.md');
  return sources
    .flatMap((source) => filesBelow(root, source))
    .filter((path) => isTaken(path) && isLetIn(path))
    .toSorted((one, other) => (one < other ? -1 : 1));
}

/** Two files have the same lines when their names and bytes are the same; times, rights and order on the disk don't count. */
export function imageListing(root: string): string {
  const lines = imageFiles(root).map(
    (path) => `${createHash('sha256').update(read(root, path)).digest('hex')}  ${path}\n`,
  );
  return lines.join('');
}

function filesBelow(root: string, source: string): string[] {
  if (statSync(join(root, source)).isFile()) return [source];
  const entries = globSync(`${source}/**`, { cwd: root, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, '/').length));
}

function read(root: string, path: string): Buffer {
  return readFileSync(join(root, path));
}

if (import.meta.main) process.stdout.write(imageListing(join(import.meta.dirname, '..')));
