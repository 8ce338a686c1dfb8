import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Progress } from './progress.ts';

const run = promisify(execFile);
const APT_TIMEOUT_MS = 180_000;
const SYSTEM_LISTS = '/var/lib/apt/lists';

/** Runs apt; all files that apt writes are in a private folder. */
interface Apt {
  /** Settles with what it warned of. */
  get(...args: string[]): Promise<string>;
  /** Settles with what it printed. */
  cache(...args: string[]): Promise<string>;
}

/**
 * Fetches Debian (or Ubuntu) packages with the host's own apt, which checks their signatures, and unpacks them into `folder`. Installs
 * nothing, changes nothing in the system, and needs no privileges. Replaces an existing `folder` in one step.
 *
 * @throws if apt or dpkg-deb is missing, or a package cannot be fetched; with apt's reason.
 */
export async function unpackDebianPackages(folder: string, choose: PackageChoice, progress: Progress): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const workFolder = await mkdtemp(`${folder}.tmp-`);
  try {
    const downloads = await download(workFolder, choose, progress);
    const unpacked = join(workFolder, 'unpacked');
    for (const file of downloads) await run('dpkg-deb', ['--extract', file, unpacked]);
    await chmod(unpacked, 0o755);
    await rm(folder, { recursive: true, force: true });
    await rename(unpacked, folder);
  } catch (error) {
    throw new Error(firstLines(reasonOf(error)), { cause: error });
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

/** Names the packages to fetch. Asked again when the package lists had to be renewed. */
export type PackageChoice = (dependenciesOf: DependenciesOf) => Promise<readonly string[]>;

/** The packages on which the given ones depend directly (virtual ones left out). */
export type DependenciesOf = (packages: readonly string[]) => Promise<string[]>;

/** Libraries of every host with Node; a second copy would not work with the host's loader. */
export const BASE_LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6'];

/** The given packages and all on which they depend, directly or not, as far as `wanted` agrees. */
export async function withDependencies(
  packages: readonly string[],
  wanted: (name: string) => boolean,
  dependenciesOf: DependenciesOf,
): Promise<string[]> {
  const found = new Set(packages);
  let newest = [...packages];
  while (newest.length > 0) {
    const dependencies = await dependenciesOf(newest);
    newest = [...new Set(dependencies)].filter((name) => wanted(name) && !found.has(name));
    for (const name of newest) found.add(name);
  }
  return [...found].sort();
}

/** Downloads the .deb files. Uses the host's package lists, or fresh private lists if those are missing or outdated. */
async function download(workFolder: string, choose: PackageChoice, progress: Progress): Promise<string[]> {
  const archives = join(workFolder, 'downloads');
  await mkdir(archives);
  const fetchAll = async (apt: Apt) => {
    const names = await choose((packages) => directDependencies(apt, packages));
    await apt.get('download', ...names);
  };
  try {
    await fetchAll(await privateApt(workFolder, archives, SYSTEM_LISTS));
  } catch (error) {
    if (isMissingProgram(error)) throw error;
    progress('The package lists of this host are missing or out of date: fetching private lists …');
    const lists = join(workFolder, 'lists');
    await mkdir(join(lists, 'partial'), { recursive: true });
    const apt = await privateApt(workFolder, archives, lists);
    // One source of several may fail and not be needed: whether the packages can be had decides.
    const updateWarnings = await apt.get('update').catch((updateError: unknown) => reasonOf(updateError));
    await fetchAll(apt).catch((downloadError: unknown) => {
      const reason = updateWarnings.trim() === '' ? reasonOf(downloadError) : updateWarnings;
      throw new Error(firstLines(reason), { cause: downloadError });
    });
  }
  const files = await readdir(archives);
  return files.filter((name) => name.endsWith('.deb')).map((name) => join(archives, name));
}

async function privateApt(workFolder: string, archives: string, lists: string): Promise<Apt> {
  const configuration = join(workFolder, 'apt.conf');
  await mkdir(join(workFolder, 'cache', 'archives', 'partial'), { recursive: true });
  await mkdir(join(workFolder, 'state'), { recursive: true });
  await mkdir(join(workFolder, 'log'), { recursive: true });
  await writeFile(configuration, await aptConfiguration(workFolder, lists));
  const options = {
    cwd: archives,
    timeout: APT_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, APT_CONFIG: configuration, LC_ALL: 'C' },
  };
  return {
    get: async (...args) => (await run('apt-get', ['--quiet', '--quiet', ...args], options)).stderr,
    cache: async (...args) => (await run('apt-cache', args, options)).stdout,
  };
}

/** Keeps the host's settings such as proxies, but not its hooks and folders. */
async function aptConfiguration(workFolder: string, lists: string): Promise<string> {
  const { stdout } = await run('apt-config', ['dump']);
  const acquire = stdout.split('\n').filter((line) => line.startsWith('Acquire::') || line.startsWith('APT::Archi'));
  const own = {
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
    'APT::Sandbox::User': '',
    'Dir::Cache': join(workFolder, 'cache'),
    'Dir::Cache::pkgcache': 'pkgcache.bin',
    'Dir::Cache::srcpkgcache': 'srcpkgcache.bin',
    'Dir::Etc::main': '/dev/null',
    'Dir::Etc::parts': '/dev/null',
    'Dir::Log': join(workFolder, 'log'),
    'Dir::State': join(workFolder, 'state'),
    'Dir::State::lists': lists,
    'Dir::State::status': '/var/lib/dpkg/status',
  };
  const lines = Object.entries(own).map(([name, value]) => `${name} "${value}";`);
  return [...acquire.filter((line) => !line.startsWith('Acquire::Languages')), ...lines, ''].join('\n');
}

async function directDependencies(apt: Apt, packages: readonly string[]): Promise<string[]> {
  const only = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map((kind) => `--no-${kind}`);
  const answer = await apt.cache('depends', ...only, ...packages);
  return [...answer.matchAll(/Depends: ([a-z0-9][a-z0-9+.-]+)/g)].map((match) => match[1] ?? '');
}

function isMissingProgram(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** apt repeats itself for each package and each source. */
function firstLines(text: string): string {
  return text.trim().split('\n').slice(0, 2).join('; ');
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isMissingProgram(error) && 'path' in error) return `there is no ${String(error.path)} command`;
  const printed = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  return printed === '' ? error.message : printed;
}
