import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type PackageChoice, unpackDebianPackages } from './debian-packages.ts';
import { withFileLock } from './file-lock.js';
import type { Progress } from './progress.ts';

/** How to start a server program: its path, arguments that always come first, and what its environment needs. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
}

/** A program cannot be had on this machine. Its message names what to install; the person at the terminal must act. */
export class ServerUnavailable extends Error {
  override readonly name = 'ServerUnavailable';
}

/** Where a server program may come from. */
export interface ServerSource {
  /** For people. */
  readonly name: string;
  /** Names in PATH, in order of preference. */
  readonly commands: readonly string[];
  /** Makes it print its version and end, by which it is known to run; `--version` unless told. */
  readonly versionOption?: string;
  /** The folder below `.cache/` that the fetched packages are unpacked into. */
  readonly cacheName: string;
  /** How to start what lies unpacked in that folder. */
  readonly unpacked: (folder: string) => Promise<ServerCommand>;
  readonly packages: PackageChoice;
  readonly downloadSize: string;
  /** What a person does when all else failed. */
  readonly advice: string;
}

const run = promisify(execFile);
const VERSION_TIMEOUT_MS = 15_000;

/**
 * Finds a server program that runs: in PATH, else in `.cache/`, else as a package of the Debian or Ubuntu that this
 * machine is, fetched into there without rights and without installing anything. Several processes may ask at once.
 *
 * @throws ServerUnavailable when none can be had
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
  progress(`No ${source.name} on this machine: fetching its package (${source.downloadSize}) into .cache/ …`);
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
    `There is no ${source.name} on this machine, and its package cannot be had (${reason}).\n${source.advice}`,
  );
}
