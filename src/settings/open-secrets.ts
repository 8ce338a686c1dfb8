import { statSync } from 'node:fs';
import { resolve } from 'node:path';

/** A file of a secret that everybody on the machine may read. */
export interface OpenSecret {
  /** The setting that names it: `clinicClients.main.clientSecret`. */
  at: string;
  /** As the setting names it: from the configuration directory on, where it does not begin at the root. */
  file: string;
}

/** The right of all others to read a file (POSIX: `S_IROTH`). */
const READ_BY_OTHERS = 0o004;
/**
 * Where containers get theirs (https://docs.docker.com/compose/how-tos/use-secrets/): in them is nobody else, and a file that its owner on the
 * host alone may read would be closed to the container's user.
 */
const OF_CONTAINERS = '/run/secrets/';

/** Every file that a part of a configuration names as a secret, as it is written, and that everybody on the machine may read. */
export function openSecretsIn(part: unknown, dir: string, at: readonly string[] = []): OpenSecret[] {
  if (typeof part !== 'object' || part === null) return [];
  const entries = Object.entries(part);
  const [[kind, file] = [], ...others] = entries;
  if (kind === 'file' && typeof file === 'string' && others.length === 0) {
    return isReadByOthers(resolve(dir, file)) ? [{ at: at.join('.'), file }] : [];
  }
  return entries.flatMap(([name, value]) => openSecretsIn(value, dir, [...at, name]));
}

/** What a person does about one. */
export function closingOf({ file }: OpenSecret): string {
  return `chmod 600 ${file}`;
}

/** One that is not there is told as a fault. */
function isReadByOthers(fileName: string): boolean {
  if (fileName.startsWith(OF_CONTAINERS)) return false;
  const mode = statSync(fileName, { throwIfNoEntry: false })?.mode ?? 0;
  return (mode & READ_BY_OTHERS) !== 0;
}
