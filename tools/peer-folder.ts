import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock } from './file-lock.js';
import type { Progress } from './progress.ts';
import { ServerUnavailable } from './server-command.ts';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** A program that benchmarks install from packages of npm. */
export interface PeerPackages {
  /** Name of the folder; contains the version, so that a new version is installed anew. */
  readonly name: string;
  /** Packages with exact versions. */
  readonly packages: Readonly<Record<string, string>>;
  readonly downloadSize: string;
  /** Native packages that need their install scripts. */
  readonly runsScripts?: boolean;
  /** More work in the folder, after the packages are there. */
  readonly complete?: (folder: string) => Promise<void>;
}

/** As {@link peerFolder}; says why there is none, and returns undefined. */
export async function installedOrSkipped(peer: PeerPackages, progress: Progress): Promise<string | undefined> {
  try {
    return await peerFolder(peer, progress);
  } catch (error) {
    if (!(error instanceof ServerUnavailable)) throw error;
    progress(`Skipped: ${error.message}`);
    return undefined;
  }
}

/**
 * Installs a program into the user's cache, outside the repository, if it is not there: other programs are large, and their packages do not
 * belong to clinic-mirror's.
 *
 * @throws ServerUnavailable if a package or a repository cannot be fetched
 */
async function peerFolder(peer: PeerPackages, progress: Progress): Promise<string> {
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'clinic-mirror', peer.name);
  return await withFileLock(
    `${folder}.lock`,
    () => progress(`Another start is fetching ${peer.name}: waiting for it …`),
    async () => {
      if (!existsSync(folder)) await install(folder, peer, progress);
      return folder;
    },
  );
}

async function install(folder: string, peer: PeerPackages, progress: Progress): Promise<void> {
  progress(`${peer.name} is not installed: fetching it (${peer.downloadSize}) …`);
  await mkdir(dirname(folder), { recursive: true });
  const workFolder = await mkdtemp(`${folder}.tmp-`);
  try {
    await writeFile(join(workFolder, 'package.json'), JSON.stringify({ private: true, dependencies: peer.packages }));
    const scripts = peer.runsScripts === true ? [] : ['--ignore-scripts'];
    await runIn(workFolder, 'npm', 'install', ...scripts, '--no-audit', '--no-fund', '--loglevel=error');
    await peer.complete?.(workFolder);
    await rename(workFolder, folder);
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error);
    const reason = /.*(?:error|fatal):? .*/.exec(told)?.[0] ?? told;
    throw new ServerUnavailable(`${peer.name} cannot be installed (${reason.trim()}).`, { cause: error });
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

/** Runs a program in a folder, without the packages of this repository in PATH. @throws Error with what it printed if it fails */
export async function runIn(cwd: string, command: string, ...args: string[]): Promise<void> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfOuterNpm(name)));
  const PATH = (env.PATH ?? '').split(delimiter).filter((path) => !/node_modules/.test(path));
  await run(command, args, { cwd, env: { ...env, PATH: PATH.join(delimiter) }, maxBuffer: MAX_OUTPUT_BYTES });
}

/** Settings of an outer `npm run` that mean its own folder; registry, proxies and cache remain. */
function isOfOuterNpm(name: string): boolean {
  return /^(npm_config_(global|local_prefix|prefix|omit|include)$|npm_package_)/i.test(name);
}
