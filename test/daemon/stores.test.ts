import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { openStores, sealingRing } from '../../src/daemon/stores.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { useRedis } from '../support/redis.ts';
import { openComposition } from './open-composition.ts';

const redis = useRedis();

test('encryption keys are in the order of the settings: the first one encrypts, each decrypts', () => {
  const secretOf = (id: string, byte: number) => ({ id, key: { reveal: () => Buffer.alloc(32, byte) } });
  const ringOf = (...sealingKeys: object[]) =>
    sealingRing({ secrets: { sealingKeys } } as unknown as Parameters<typeof sealingRing>[0]);
  const both = createSealer(ringOf(secretOf('new', 2), secretOf('old', 1)), 'uno');
  const old = createSealer(ringOf(secretOf('old', 1)), 'uno');
  expect(both.open(old.seal('kept', 'test'), 'test')).toBe('kept');
  expect(() => old.open(both.seal('kept', 'test'), 'test')).toThrow(
    expect.objectContaining({ code: 'sealing-key-unknown' }),
  );
});

test('actions are logged only if a data directory is configured', () => {
  const openAuditLog = (settings: string) => {
    const { configuration } = openComposition(redis.url, { settings });
    const { auditLog, ...stores } = openStores(() => configuration.settings, Date.now, silentLogger);
    for (const connection of [stores.redis, stores.writer]) connection.disconnect();
    return auditLog;
  };
  expect(openAuditLog('')).toBeNull();
  const directory = mkdtempSync(join(tmpdir(), 'stores-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  expect(openAuditLog(`dataDirectory: ${directory}\n`)).not.toBeNull();
});
