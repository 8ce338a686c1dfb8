import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { useRedis } from './support/redis.ts';
import { waitFor } from './support/wait-for.ts';

const CLI = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
const KEY = Buffer.alloc(32, 1).toString('base64');
/** A container engine kills after this, unless told another time. */
const ENGINE_PATIENCE_MS = 10_000;

const redis = useRedis();
const leftovers: (() => void)[] = [];
afterEach(() => {
  for (const remove of leftovers.splice(0)) remove();
});

interface RunningCli {
  child: ChildProcess;
  /** Both streams so far. */
  output(): string;
  /** @returns the exit code, or the signal that ended it */
  ended: Promise<number | string>;
}

/** Starts `clinic-mirror run` without tenants. */
function run(redisUrl: string, port: number): RunningCli {
  const dir = mkdtempSync(join(tmpdir(), 'clinic-mirror-test-'));
  const settings = {
    redis: { url: redisUrl },
    http: { port },
    secrets: { identityKey: { env: 'KEY' }, sealingKeys: [{ id: 'k1', key: { env: 'KEY' } }] },
  };
  // JSON is YAML.
  writeFileSync(join(dir, 'clinic-mirror.yaml'), JSON.stringify(settings));
  const child = spawn(process.execPath, [CLI, '--config', dir, 'run'], { env: { ...process.env, KEY } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const ended = once(child, 'close').then(() => child.exitCode ?? child.signalCode ?? 'unknown');
  leftovers.push(() => {
    child.kill('SIGKILL');
    rmSync(dir, { recursive: true });
  });
  return { child, output: () => output, ended };
}

async function untilRunning(cli: RunningCli): Promise<void> {
  await waitFor(() => cli.output().includes('the daemon runs'), { what: 'the daemon', timeoutMs: 15_000 });
}

async function terminate(cli: RunningCli): Promise<{ end: number | string; durationMs: number }> {
  const startedAt = performance.now();
  cli.child.kill('SIGTERM');
  const end = await cli.ended;
  return { end, durationMs: performance.now() - startedAt };
}

test('the daemon ends with 0 when it is told to', async () => {
  const cli = run(redis.url, 0);
  await untilRunning(cli);
  const { end, durationMs } = await terminate(cli);
  expect(end).toBe(0);
  expect(durationMs).toBeLessThan(ENGINE_PATIENCE_MS);
  expect(cli.output()).toContain('the daemon ends');
});

test('a start that fails ends the process, although its connections to Redis are open', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  leftovers.push(() => holder.close());
  await once(holder, 'listening');
  const address = holder.address();
  const cli = run(redis.url, typeof address === 'object' ? (address?.port ?? 0) : 0);
  expect(await cli.ended).toBe(1);
  expect(cli.output()).toContain('http-port-unavailable');
});

test('the daemon ends when it is told to while it waits for a Redis that is not there', async () => {
  const connected = Promise.withResolvers<void>();
  // Takes the connection and never answers.
  const silent = createServer(() => connected.resolve()).listen(0, '127.0.0.1');
  leftovers.push(() => silent.close());
  await once(silent, 'listening');
  const address = silent.address();
  const cli = run(`redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, 0);
  await connected.promise;
  const { end, durationMs } = await terminate(cli);
  expect(end).toBe(130);
  expect(durationMs).toBeLessThan(ENGINE_PATIENCE_MS);
});

test('the daemon ends in time although Redis went away, and says that it did not wait', async () => {
  const cli = run(redis.url, 0);
  await untilRunning(cli);
  await redis.crash();
  const { end, durationMs } = await terminate(cli);
  expect(end).toBe(1);
  expect(durationMs).toBeLessThan(ENGINE_PATIENCE_MS);
  expect(cli.output()).toContain('without waiting any longer');
});
