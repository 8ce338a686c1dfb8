import { execFileSync, spawnSync } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { type ForgetReceipt, signedText } from '../../src/core/model/forgetting.ts';
import { toJson } from '../../src/core/model/schemas.ts';
import { keys } from '../../src/state/keys.ts';
import { createProtection } from '../../src/state/protection.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createTombstoneStore } from '../../src/state/tombstones.ts';
import { useRedis } from '../support/redis.ts';
import { openEpoch } from '../tenant/open-tenant.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const IDENTITY_KEY = Buffer.alloc(32, 7);
const NOW = Date.parse('2026-06-15T10:00:00Z');

/** The storage that makes changes of a tenant durable. */
function protectionOf(connection: RedisClient, tenant = TENANT) {
  const clock = () => NOW;
  const epoch = openEpoch(connection, clock);
  return createProtection({
    redis: connection,
    tenant,
    identityKey: IDENTITY_KEY,
    stateCounter: epoch,
    clock,
    log: silentLogger,
  });
}

describe('a tombstone', () => {
  test('has one name for a patient, another for each tenant and installation, and keeps its first time', async () => {
    const connection = redis.connect();
    const store = createTombstoneStore(connection, TENANT, IDENTITY_KEY, protectionOf(connection));
    const name = await store.add('p1', NOW);
    expect(await store.add('p1', NOW + 1)).toBe(name);
    expect(await connection.hgetall(keys.tombstones(TENANT))).toEqual({ [name]: `${NOW}` });
    expect(name).not.toContain('p1');
    const others = [
      createTombstoneStore(connection, 'other', IDENTITY_KEY, protectionOf(connection, 'other')),
      createTombstoneStore(connection, TENANT, Buffer.alloc(32, 8), protectionOf(connection)),
    ];
    for (const other of others) expect(await other.add('p1', NOW)).not.toBe(name);
  });
});

describe('a receipt', () => {
  const target = { target: 'doctor', connector: 'google-calendar', found: 2, erased: 2, reach: 'bin' as const };
  const content = {
    ...{ tenant: TENANT, at: NOW, tombstone: 't', upcoming: 1, warnings: ['still-in-clinic' as const] },
    targets: [{ ...target, waiting: 0, failed: 0, failure: null }],
    state: { journalLines: 1, pins: 0, holds: 0, auditFindings: 0, reminders: 3, answerLinks: 0, examples: 0 },
  };
  const open = () => {
    const connection = redis.connect();
    return { connection, store: createTombstoneStore(connection, TENANT, IDENTITY_KEY, protectionOf(connection)) };
  };
  const isGenuine = ({ signature, ...receipt }: ForgetReceipt, publicKey: string) =>
    verify(null, Buffer.from(signedText(receipt)), publicKey, Buffer.from(signature ?? '', 'base64'));

  test('verifies with the published key, read back too, and not with the key of another installation', async () => {
    const { connection, store } = open();
    const stored = await store.storeReceipt(content);
    expect(createPublicKey(store.publicKey()).asymmetricKeyType).toBe('ed25519');
    expect([stored, ...(await store.receipts())].map((one) => isGenuine(one, store.publicKey()))).toEqual([true, true]);
    const other = createTombstoneStore(connection, TENANT, Buffer.alloc(32, 8), protectionOf(connection));
    expect(isGenuine(stored, other.publicKey())).toBe(false);
    expect(createTombstoneStore(connection, 'b', IDENTITY_KEY, protectionOf(connection)).publicKey()).toBe(
      store.publicKey(),
    );
  });

  test('with any changed, added or removed value does not verify', async () => {
    const { store } = open();
    const stored = await store.storeReceipt(content);
    const paths = [
      ...Object.keys(stored).filter((name) => name !== 'signature'),
      ...Object.keys(content.state).map((name) => `state.${name}`),
      ...Object.keys(content.targets[0] ?? {}).map((name) => `targets.0.${name}`),
    ];
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.integer({ min: 5 }), fc.boolean(), (path, value, isRemoved) => {
        const changed = structuredClone(stored) as unknown as Record<string, unknown>;
        const names = path.split('.');
        const last = names.pop() ?? '';
        const parent = names.reduce((at, name) => at[name] as Record<string, unknown>, changed);
        if (isRemoved && last !== 'at') delete parent[last];
        else parent[last] = value;
        expect(isGenuine(changed as unknown as ForgetReceipt, store.publicKey())).toBe(false);
      }),
    );
  });

  test('as the command prints it verifies with jq and openssl, as documented', async ({ skip }) => {
    const isMissing = (program: string, option: string) => spawnSync(program, [option]).status !== 0;
    skip(isMissing('jq', '--version') || isMissing('openssl', 'version'), 'jq or openssl is not installed');
    const { store } = open();
    const folder = mkdtempSync(join(tmpdir(), 'receipt-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'receipt.json'), toJson(await store.storeReceipt(content)));
    writeFileSync(join(folder, 'key.pem'), store.publicKey());
    const document = readFileSync(join(import.meta.dirname, '../../docs/forget.md'), 'utf8');
    const [, script = ''] = /```sh\n([^`]*openssl[^`]*)```/.exec(document) ?? [];
    const run = () => execFileSync('sh', ['-ec', script], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
    expect(run()).toContain('Signature Verified Successfully');
    const receipt = readFileSync(join(folder, 'receipt.json'), 'utf8');
    writeFileSync(join(folder, 'receipt.json'), receipt.replace('"erased": 2', '"erased": 1'));
    expect(run).toThrow();
  });

  test('of a version without signatures is listed without one', async () => {
    const { connection, store } = open();
    await connection.hset(keys.receipts(TENANT), 'f1', JSON.stringify({ receipt: 'f1', ...content }));
    expect((await store.receipts()).map(({ signature }) => signature)).toEqual([null]);
  });
});
