// Tier: full. Copies and starts a Cyrus IMAP.
import { existsSync, readdirSync } from 'node:fs';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { resolveCyrusServer, startCyrus, unpackedCyrus } from '../../tools/cyrus.ts';
import { type ServerCommand, ServerUnavailable } from '../../tools/server-command.ts';

test('a private Cyrus runs from below a folder that other users cannot read', async (context) => {
  const found = await resolveCyrusServer().catch((error: unknown) => error);
  if (found instanceof ServerUnavailable) return context.skip(found.message);
  const closed = await mkdtemp(join(tmpdir(), 'clinic-mirror-closed-'));
  onTestFinished(() => rm(closed, { recursive: true }));
  await chmod(closed, 0o700);
  const unpacked = join(closed, 'cyrus');
  const root = join(dirname((found as ServerCommand).command), '../..');
  await cp(root, unpacked, { recursive: true, verbatimSymlinks: true });

  if (process.getuid?.() === 0) {
    vi.stubEnv('TMPDIR', closed);
    await expect(startCyrus([], await unpackedCyrus(unpacked))).rejects.toThrow(ServerUnavailable);
    expect(readdirSync(closed)).toEqual(['cyrus']);
    vi.unstubAllEnvs();
  }
  const cyrus = await startCyrus([{ name: 'doctor', password: 'word' }], await unpackedCyrus(unpacked));
  onTestFinished(() => cyrus.stop());
  const read = async (password: string) => {
    const headers = { authorization: `Basic ${btoa(`doctor:${password}`)}`, depth: '0' };
    return (await fetch(`${cyrus.url}${cyrus.homePathOf('doctor')}`, { method: 'PROPFIND', headers })).status;
  };
  expect([await read('wrong'), await read('word')]).toEqual([401, 207]);
  await cyrus.stop();
  expect(existsSync(unpacked)).toBe(true);
});
