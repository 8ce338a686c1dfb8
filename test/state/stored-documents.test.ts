import { expect, test } from 'vitest';
import { createSealer } from '../../src/state/sealing.ts';
import { createStoredDocuments } from '../../src/state/stored-documents.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

function open(key = 9) {
  const clock = { now: NOW };
  const sealer = createSealer([{ id: 'k1', key: Buffer.alloc(32, key) }], TENANT);
  const connection = redis.connect();
  const documents = createStoredDocuments<{ n: number; text?: string }>(connection, TENANT, 'plan', {
    sealer,
    clock: () => clock.now,
  });
  return { clock, connection, documents };
}

test('a document is stored encrypted, and the current one replaces the previous one', async () => {
  const { connection, documents } = open();
  await documents.put('a', { n: 1 });
  await documents.put('a', { n: 2 });
  expect(await documents.read('a')).toEqual({ n: 2 });
  expect(await documents.read('b')).toBeNull();
  expect(await connection.get(`cm:{${TENANT}}:document:plan:a`)).not.toContain('"n"');
});

test('the five that were written last stay, the newest first', async () => {
  const { clock, documents } = open();
  for (let n = 0; n < 8; n += 1) {
    clock.now += 1_000;
    await documents.put(`d${n}`, { n });
  }
  const ids = await documents.ids();
  expect(ids).toEqual(['d7', 'd6', 'd5', 'd4', 'd3']);
  expect(await documents.read('d2')).toBeNull();
  expect(await documents.clear()).toBe(5);
  expect(await documents.ids()).toEqual([]);
});

test('one that is too large for Redis is not kept', async () => {
  const { connection, documents } = open();
  const large = { n: 1, text: 'x'.repeat(12_000_000) };
  await expect(documents.put('a', large)).rejects.toMatchObject({ code: 'document-too-large' });
  expect(await connection.keys('*')).toEqual([]);
});

test('one whose hour is over is not named any more', async () => {
  const { connection, documents } = open();
  await documents.put('a', { n: 1 });
  await documents.put('b', { n: 2 });
  await connection.del(`cm:{${TENANT}}:document:plan:a`);
  expect(await documents.ids()).toEqual(['b']);
});

test('what we did not put in, or under another name, is none', async () => {
  const { connection, documents } = open();
  await documents.put('a', { n: 1 });
  await redis.move(`cm:{${TENANT}}:document:plan:a`, `cm:{${TENANT}}:document:plan:b`);
  expect(await documents.read('b')).toBeNull();
  await connection.set(`cm:{${TENANT}}:document:plan:c`, '{"n":3}');
  expect(await documents.read('c')).toBeNull();
  await documents.put('d', { n: 4 });
  expect(await open(8).documents.read('d')).toBeNull();
});
