import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type PackageChoice, unpackDebianPackages } from './debian-packages.ts';
import { withFileLock } from './file-lock.js';
import type { Progress } from './progress.ts';

/** Command of a server program: its path, leading arguments, and required environment. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
}

/** A program is unavailable on this host. The message names the package to install; the developer must act. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
}

/** Where a server program may come from. */
export interface ServerSource {
  /** For people. */
  readonly name: string;
  /** Names in PATH, in order of preference. */
  readonly commands: readonly string[];
  /** Option that prints the version and exits, to test the program; `--version` by default. */
  readonly versionOption?: string;
  /** The folder below `.cache/` that the fetched packages are unpacked into. */
  readonly cacheName: string;
  /** Returns the command of the program unpacked in this folder. */
  readonly unpacked: (folder: string) => Promise<ServerCommand>;
  readonly packages: PackageChoice;
  readonly downloadSize: string;
  /** Instructions for the developer if no other way works. */
  readonly advice: string;
}

const run = promisify(execFile);
const VERSION_TIMEOUT_MS = 15_000;

/**
 * Finds a working server program: in PATH, in `.cache/`, or as a package of the host's Debian or Ubuntu, in this order. The package is
 * fetched into `.cache/` without privileges and without an installation. Several processes may call this at once.
 *
 * @throws ServerUnavailable if none is available
 */
export async function resolveServer(source: ServerSource, progress: Progress): Promise<ServerCommand> {
  const folder = fileURLToPath(new URL(`../.cache/${source.cacheName}`, import.meta.url));
  const found = await installedOrCached(source, folder);
  if (found !== undefined) return found;
  return await withFileLock(
    `${folder}.lock`,
    () => progress(`Another start is fetching ${source.name}: waiting for it …`),
    async () => (await installedOrCached(source, folder)) ?? (await fetchServer(source, folder, progress)),
  );
}

/** What the program prints when asked for its version, or undefined when it doesn't exist or doesn't run. */
async function versionOf(
  server: ServerCommand,
  { versionOption = '--version' }: ServerSource,
): Promise<string | undefined> {
  return await outputOf(server, versionOption).catch(() => undefined);
}

/** What the program prints on standard output. @throws when it cannot be started or fails */
async function outputOf(server: ServerCommand, ...args: string[]): Promise<string> {
  const { stdout } = await run(server.command, [...server.args, ...args], {
    env: { ...process.env, ...server.env },
    timeout: VERSION_TIMEOUT_MS,
  });
  return stdout.trim();
}

async function installedOrCached(source: ServerSource, folder: string): Promise<ServerCommand | undefined> {
  const installed = source.commands.map((command) => ({ command, args: [], env: {} }));
  for (const candidate of [...installed, await source.unpacked(folder)]) {
    if ((await versionOf(candidate, source)) !== undefined) return candidate;
  }
  return undefined;
}

async function fetchServer(source: ServerSource, folder: string, progress: Progress): Promise<ServerCommand> {
  const startedAt = Date.now();
  progress(`${source.name} is not installed: fetching its package (${source.downloadSize}) into .cache/ …`);
  let reason = 'it does not run here';
  try {
    await unpackDebianPackages(folder, source.packages, progress);
    const server = await source.unpacked(folder);
    if ((await versionOf(server, source)) !== undefined) {
      progress(`${source.name} is ready after ${((Date.now() - startedAt) / 1000).toFixed(1)} s.`);
      return server;
    }
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error);
  }
  throw new ServerUnavailable(
    `${source.name} is not installed, and its package is unavailable (${reason}).\n${source.advice}`,
  );
}
