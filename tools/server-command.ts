import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

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

const run = promisify(execFile);
const VERSION_TIMEOUT_MS = 15_000;

/** What the program prints when asked for its version, or undefined when it doesn't exist or doesn't run. */
export async function versionOf(server: ServerCommand): Promise<string | undefined> {
  try {
    const { stdout } = await run(server.command, [...server.args, '--version'], {
      env: { ...process.env, ...server.env },
      timeout: VERSION_TIMEOUT_MS,
    });
    return stdout.trim();
  } catch {
    return undefined;
  }
}
