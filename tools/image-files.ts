// npm run image-files: the sum of every file of the project that goes into the image, as sha256sum checks them (docs/releasing.md).
import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bundleFiles } from './bundle.ts';

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
 * Lists the project's files that the Dockerfile copies into the last stage and that .dockerignore permits. TypeScript is missing, because the
 * image has the bundle instead.
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
  const isLetIn = (path: string) => !/\.(md|ts)$/.test(path);
  return [...new Set(sources)]
    .flatMap((source) => filesBelow(root, source))
    .filter((path) => isTaken(path) && isLetIn(path))
    .toSorted((one, other) => (one < other ? -1 : 1));
}

/** Returns the contents of the project's files in the image by path, sorted: those of {@link imageFiles}, and the bundle in `dist`. */
export async function imageContents(root: string): Promise<[path: string, content: string | Buffer][]> {
  const contents = new Map<string, string | Buffer>(imageFiles(root).map((path) => [path, read(root, path)]));
  for (const [path, content] of await bundleFiles(root)) contents.set(`dist/${path}`, content);
  return [...contents].toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** Two images have the same lines when their names and bytes are the same; times, rights and order on the disk don't count. */
export async function imageListing(root: string): Promise<string> {
  const lines = (await imageContents(root)).map(
    ([path, content]) => `${createHash('sha256').update(content).digest('hex')}  ${path}\n`,
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

if (import.meta.main) process.stdout.write(await imageListing(join(import.meta.dirname, '..')));
