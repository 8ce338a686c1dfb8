import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The value of LD_LIBRARY_PATH for the libraries of Debian packages that were unpacked into `folder`: lib and usr/lib
 * and their folders for the CPU's architecture (x86_64-linux-gnu).
 */
export async function librariesIn(folder: string): Promise<string> {
  const found: string[] = [];
  for (const parent of [join(folder, 'usr/lib'), join(folder, 'lib')]) {
    const names = await readdir(parent).catch(() => []);
    found.push(...names.filter((name) => name.endsWith('-linux-gnu')).map((name) => join(parent, name)), parent);
  }
  return found.join(':');
}
