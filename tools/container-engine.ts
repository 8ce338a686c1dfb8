import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Result of a program. */
export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** What the engine says of an image. */
export interface ImageFacts {
  bytes: number;
  user: string;
  command: string[];
}

/** What the engine says of a container. */
export interface ContainerFacts {
  running: boolean;
  exitCode: number;
  /** `starting`, `healthy` or `unhealthy`. */
  health: string;
}

/** Runs the `docker` of PATH to its end. @param onError is given all of standard error so far, whenever it grows */
export async function docker(args: readonly string[], onError?: (text: string) => void): Promise<Ended> {
  const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended: Ended = { code: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    ended.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    ended.err += chunk.toString();
    onError?.(ended.err);
  });
  await once(child, 'close');
  return { ...ended, code: child.exitCode };
}

/** Runs docker and fails if docker fails. @returns standard output, trimmed */
export async function dockerOrThrow(...args: string[]): Promise<string> {
  const { code, out, err } = await docker(args);
  if (code !== 0) throw new Error(`docker ${args[0]} ended with ${code}: ${err}`);
  return out.trim();
}

export async function inspectImage(image: string): Promise<ImageFacts> {
  const [found] = JSON.parse(await dockerOrThrow('image', 'inspect', image)) as [
    { Size: number; Config: { User: string; Cmd: string[] } },
  ];
  return { bytes: found.Size, user: found.Config.User, command: found.Config.Cmd };
}

export async function inspectContainer(name: string): Promise<ContainerFacts> {
  const [found] = JSON.parse(await dockerOrThrow('container', 'inspect', name)) as [
    { State: { Running: boolean; ExitCode: number; Health?: { Status: string } } },
  ];
  const { Running, ExitCode, Health } = found.State;
  return { running: Running, exitCode: ExitCode, health: Health?.Status ?? 'none' };
}

/** Ends a container as an operator does. @returns how long that took and its exit code; 137 when it had to be killed */
export async function stopContainer(name: string): Promise<{ durationMs: number; exitCode: number }> {
  const startedAt = performance.now();
  await dockerOrThrow('stop', name);
  const durationMs = Math.round(performance.now() - startedAt);
  return { durationMs, exitCode: (await inspectContainer(name)).exitCode };
}
