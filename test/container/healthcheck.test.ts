import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './temporary-folder.ts';

const HEALTHCHECK = fileURLToPath(new URL('../../bin/healthcheck.js', import.meta.url));

/** A port that gives this status at /healthz and 404 elsewhere, until the test ends or it is closed. */
async function serve(status: number): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/healthz' ? status : 404).end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function check(settings: string): Promise<{ code: number | null; out: string }> {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'clinic-mirror.yaml'), settings);
  const child = spawn(process.execPath, [HEALTHCHECK], { env: { CLINIC_MIRROR_CONFIG: dir } });
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  await once(child, 'close');
  return { code: child.exitCode, out };
}

test.each(['host: 0.0.0.0', 'host: 127.0.0.1', ''])('a daemon that answers is healthy (%s)', async (host) => {
  const { port } = await serve(200);
  expect(await check(`operator:\n  port: ${port}\n  ${host}\n`)).toEqual({ code: 0, out: 'healthz answered 200\n' });
});

test('a daemon that answers with an error is unhealthy', async () => {
  const { port } = await serve(503);
  expect(await check(`operator: { port: ${port} }\n`)).toEqual({ code: 1, out: 'healthz answered 503\n' });
});

test('a port without a listener is unhealthy', async () => {
  const { port, close } = await serve(200);
  await close();
  expect(await check(`operator: { port: ${port} }\n`)).toEqual({
    code: 1,
    out: 'healthz did not answer (ECONNREFUSED)\n',
  });
});
