import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import { keys } from '../../src/state/keys.ts';
import { createAlertStore, createCertificateStore, createReloadReports } from '../../src/state/reports.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const IDENTITY_KEY = Buffer.alloc(32, 7);
const damage = useDamage();

describe('the memory of an alert channel', () => {
  function open() {
    const connection = redis.connect();
    const clock = { now: NOW };
    const openStore = () => createAlertStore({ redis: connection, identityKey: IDENTITY_KEY, clock: () => clock.now });
    return { connection, clock, store: openStore(), openStore };
  }
  const stored = { memory: 'm', failure: null };

  test('is read unchanged, in another process too, and is removed with its channel', async () => {
    const { store, openStore } = open();
    await store.write('mail', stored);
    await store.write('hook', { ...stored, failure: { code: 'refused', sinceAt: NOW } });
    const read = await openStore().read();
    expect(read.get('mail')).toEqual(stored);
    expect(read.get('hook')?.failure).toEqual({ code: 'refused', sinceAt: NOW });
    await store.retainOnly(['mail']);
    expect([...(await store.read()).keys()]).toEqual(['mail']);
  });

  test('is valid for two hours without a write; its failure remains', async () => {
    const { store, clock } = open();
    await store.write('mail', { ...stored, failure: { code: 'refused', sinceAt: NOW } });
    clock.now = NOW + 2 * HOUR_MS - 1;
    expect((await store.read()).get('mail')?.memory).toBe('m');
    clock.now += 1;
    expect((await store.read()).get('mail')).toMatchObject({ memory: null, failure: { code: 'refused' } });
    expect([...damage]).toEqual([]);
  });

  test('that is older than this process saw, or not encrypted, is state-damaged', async () => {
    const { store, connection, openStore } = open();
    await store.write('mail', stored);
    const before = (await connection.hget(keys.alerts(), 'mail')) ?? '';
    await store.write('mail', { ...stored, memory: 'newer' });
    await connection.hset(keys.alerts(), 'mail', before);
    const nothing = { memory: null, failure: null };
    expect((await store.read()).get('mail')).toEqual(nothing);
    expect([...damage]).toEqual(['{alerts} alerts']);
    damage.clear();
    expect((await openStore().read()).get('mail')).toEqual(stored);
    expect([...damage]).toEqual([]);
    await connection.hset(keys.alerts(), 'mail', 'made up');
    expect((await openStore().read()).get('mail')).toEqual(nothing);
    expect([...damage]).toEqual(['{alerts} alerts']);
  });
});

test('certificates replace all that were stored, and expire after seven days', async () => {
  const connection = redis.connect();
  const store = createCertificateStore(connection, IDENTITY_KEY);
  const certificate = (of: string) => ({ kind: 'certificate', of, beganAt: NOW, endsAt: NOW + DAY_MS }) as const;
  await store.write([certificate('a:443'), certificate('b:443')]);
  await store.write([certificate('b:443')]);
  expect(await store.read()).toEqual([certificate('b:443')]);
  expect(await connection.pttl(keys.certificates())).toBeGreaterThan(6 * DAY_MS);
  expect(await createCertificateStore(connection, Buffer.alloc(32, 8)).read()).toEqual([]);
});

test('a report on refused files is valid for a minute, until its process withdraws it, and under the identity key only', async () => {
  const connection = redis.connect();
  const clock = { now: NOW };
  const openReports = (key = IDENTITY_KEY) => createReloadReports(connection, () => clock.now, key);
  const [one, other] = [openReports(), openReports()];
  const report = { refused: [], awaitsRestart: ['http.port'] };
  await one.write(report);
  await other.write(report);
  expect(await other.list()).toEqual([
    { ...report, at: NOW },
    { ...report, at: NOW },
  ]);
  expect(await openReports(Buffer.alloc(32, 8)).list()).toEqual([]);
  await other.write(null);
  expect(await one.list()).toHaveLength(1);
  clock.now = NOW + MINUTE_MS - 1;
  expect(await other.list()).toHaveLength(1);
  clock.now += 1;
  expect(await other.list()).toEqual([]);
  await other.write(null);
  expect(await connection.hlen(keys.reloads())).toBe(0);
});
