import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runHere } from './e2e/support/run-command.ts';

const NO_INSTALLATION = { configDir: '/nowhere', env: {} };

test('a missing configuration ends a command with 2, and is reported only on standard error', async () => {
  const { code, out, err } = await runHere(NO_INSTALLATION, ['status']);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain('/nowhere');
});

test('what a command finds wrong is its exit code, and its text the answer', async () => {
  const configDir = await mkdtemp(join(tmpdir(), 'clinic-mirror-command-'));
  onTestFinished(() => rm(configDir, { recursive: true }));
  const { code, out, err } = await runHere({ configDir, env: {} }, ['config', 'check', '--json']);
  expect([code, err]).toEqual([2, '']);
  expect(JSON.parse(out)).toMatchObject({ ok: false });
});

test('each has the environment that it is given: one that lets every certificate pass is refused', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  const { code, err } = await runHere({ configDir: '/nowhere', env }, ['status']);
  expect(code).toBe(1);
  expect(err).toContain('NODE_TLS_REJECT_UNAUTHORIZED');
  expect((await runHere(NO_INSTALLATION, ['status'])).err).not.toContain('NODE_TLS_REJECT_UNAUTHORIZED');
});
