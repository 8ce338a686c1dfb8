import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { waitFor } from './wait-for.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const KEY = Buffer.alloc(32, 1).toString('base64');
/** What the daemon reports if it did not wait. */
export const FORCED = 'before all work is finished';

/** A process of the command line. */
export interface RunningCli {
  child: ChildProcess;
  /** Both streams so far. */
  output(): string;
  /** @returns the exit code, or the signal that ended it */
  ended: Promise<number | string>;
}

/** Starts `clinic-mirror run` without tenants. */
export function run(redisUrl: string, port: number, nodeArgs: string[] = []): RunningCli {
  return start(['run'], redisUrl, { port, nodeArgs });
}

/** Starts a command; it ends with its test. @param given.tenants texts of tenant files by their ids */
export function start(
  command: string[],
  redisUrl: string,
  {
    port = 0,
    nodeArgs = [],
    tenants = {},
    clients = {},
  }: { port?: number; nodeArgs?: string[]; tenants?: Record<string, string>; clients?: object } = {},
): RunningCli {
  const dir = mkdtempSync(join(tmpdir(), 'clinic-mirror-test-'));
  for (const folder of ['tenants', 'profiles']) mkdirSync(join(dir, folder));
  writeFileSync(join(dir, 'profiles', 'plain.yaml'), '{}');
  for (const [id, text] of Object.entries(tenants)) writeFileSync(join(dir, 'tenants', `${id}.yaml`), text);
  const settings = {
    redis: { url: redisUrl },
    operator: { port },
    secrets: { identityKey: { env: 'KEY' }, sealingKeys: [{ id: 'k1', key: { env: 'KEY' } }] },
    ...clients,
  };
  // JSON is YAML.
  writeFileSync(join(dir, 'clinic-mirror.yaml'), JSON.stringify(settings));
  const child = spawn(process.execPath, [...nodeArgs, CLI, '--config', dir, ...command], {
    env: { ...process.env, KEY, TENANT_UNO__PASSWORD: 'of the calendar' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const ended = once(child, 'close').then(() => child.exitCode ?? child.signalCode ?? 'unknown');
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true });
  });
  return { child, output: () => output, ended };
}

/** Waits until the daemon has started. */
export async function untilRunning(cli: RunningCli): Promise<void> {
  await waitFor(() => cli.output().includes('daemon started'), { what: 'the daemon' });
}

/** Sends the stop signal. @returns what `ended` gives */
export async function terminate(cli: RunningCli): Promise<number | string> {
  cli.child.kill('SIGTERM');
  return await cli.ended;
}
