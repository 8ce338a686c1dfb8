import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { createOutageStore, createUnansweredStore, PROBE_EVERY_MS, type WaitingWork } from '../../src/state/outages.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const HOST = 'crm.example:443';
const LANE = { tenant: 'rossi', target: 'crm' };
const CYCLE = { tenant: 'rossi', target: null };

function open() {
  const store = createOutageStore(redis.connect(), Buffer.alloc(32, 7));
  const wait = (work: WaitingWork, now = NOW, mayTry = true) =>
    store.wait(HOST, work, { now, code: 'connection-failed', mayTry, lastsAfterMs: 15 * MINUTE_MS });
  return { store, wait };
}

describe('a host that is down', () => {
  test('is tried by one work each ten seconds, and its begin and its duration are answered once', async () => {
    const { wait } = open();
    expect(await wait(LANE)).toEqual({ isChosen: true, became: 'began' });
    expect(await wait(CYCLE)).toEqual({ isChosen: false, became: null });
    expect(await wait(CYCLE, NOW + PROBE_EVERY_MS)).toEqual({ isChosen: true, became: null });
    expect(await wait(LANE, NOW + 15 * MINUTE_MS)).toEqual({ isChosen: true, became: 'lasts' });
    expect(await wait(LANE, NOW + 16 * MINUTE_MS)).toMatchObject({ became: null });
  });

  test('is tried and recovers with damaged times', async () => {
    const { store, wait } = open();
    await wait(LANE);
    const [key = ''] = await redis.connect().keys('*:outage');
    await redis.connect().hset(key, { 'probe:': 'x', 'since:': '[1' });
    expect(await store.list(NOW)).toMatchObject([{ triedAt: NOW }]);
    expect(await wait(CYCLE)).toMatchObject({ isChosen: true });
    await redis.connect().set(`${key}:ended`, 'null');
    expect(await store.end(HOST, NOW)).toMatchObject({ works: expect.arrayContaining([LANE, CYCLE]) });
  });

  test('is no outage while the waiting jobs must not try it', async () => {
    const { store, wait } = open();
    expect(await wait(LANE, NOW, false)).toEqual({ isChosen: false, became: null });
    expect([await store.works(HOST), await store.list(NOW)]).toEqual([[LANE], []]);
  });

  test('returns each waiting job once, of any kind, and the outage', async () => {
    const { store, wait } = open();
    const other = { tenant: 'rossi', target: null, other: { kind: 'channel', id: 'sms' } } as const;
    for (const work of [LANE, CYCLE, other]) await wait(work);
    const { works, outage } = await store.end(HOST, NOW + 1_000);
    expect(works).toHaveLength(3);
    expect(works).toEqual(expect.arrayContaining([LANE, CYCLE, other]));
    expect(outage).toMatchObject({ host: HOST, code: 'connection-failed', sinceAt: NOW });
    expect(await store.end(HOST, NOW + 1_000)).toEqual({ works: [], outage: null });
    expect(await store.list(NOW + 1_000)).toEqual([]);
  });

  test('that fails now and then wakes its works each five seconds at most, and is reported again only if it lasts', async () => {
    const { store, wait } = open();
    await wait(LANE);
    await store.end(HOST, NOW);
    expect(await wait(LANE, NOW + 1_000)).toMatchObject({ became: null });
    expect(await store.end(HOST, NOW + 4_999)).toEqual({ works: [], outage: null });
    expect(await store.end(HOST, NOW + 5_000)).toEqual({ works: [LANE], outage: null });
    await wait(LANE, NOW + 6_000);
    expect(await wait(LANE, NOW + 6_000 + 15 * MINUTE_MS)).toMatchObject({ became: 'lasts' });
  });

  test('is listed, longest first, until no job has tried it for two hours', async () => {
    const { store, wait } = open();
    await wait(LANE, NOW + 1);
    await store.wait('older.example', CYCLE, { now: NOW, code: 'x', mayTry: true, lastsAfterMs: DAY_MS });
    expect((await store.list(NOW + 1)).map(({ host }) => host)).toEqual(['older.example', HOST]);
    expect((await store.list(NOW + 2 * HOUR_MS)).map(({ host }) => host)).toEqual([HOST]);
    expect(await store.list(NOW + 2 * HOUR_MS + 1)).toEqual([]);
  });

  test('keeps the code and the texts of the last error, and its begin', async () => {
    const { store, wait } = open();
    await wait(LANE);
    const texts = { message: 'expired', remedy: 'renew the certificate' };
    const facts = { now: NOW + 1_000, code: 'timeout', texts, lastsAfterMs: DAY_MS };
    await store.wait(HOST, CYCLE, { ...facts, mayTry: true });
    await store.wait(HOST, CYCLE, { ...facts, code: 'other', mayTry: false });
    expect(await store.list(NOW)).toMatchObject([{ code: 'timeout', texts, sinceAt: NOW, isReported: true }]);
  });

  test('is not reported while it follows an answer, unless it lasts', async () => {
    const { store, wait } = open();
    await wait(LANE);
    await store.end(HOST, NOW);
    await wait(LANE, NOW + 6_000);
    expect(await store.list(NOW)).toMatchObject([{ isReported: false }]);
    await wait(LANE, NOW + 6_000 + 15 * MINUTE_MS);
    expect(await store.list(NOW)).toMatchObject([{ isReported: true }]);
  });

  test('with data in Redis other than the encrypted data is not listed', async () => {
    const { wait } = open();
    await wait(LANE);
    expect(await createOutageStore(redis.connect(), Buffer.alloc(32, 8)).list(NOW)).toEqual([]);
  });
});

test('an unanswered write is due at the latest of its times, until it was checked', async () => {
  const store = createUnansweredStore(redis.connect(), 'rossi');
  expect(await store.nextAt('doctor')).toBeNull();
  await store.record(
    'doctor',
    new Map([
      ['a', NOW + 5],
      ['b', NOW + 9],
    ]),
  );
  await store.record(
    'doctor',
    new Map([
      ['a', NOW + 7],
      ['b', NOW + 1],
    ]),
  );
  expect(await store.nextAt('doctor')).toBe(NOW + 7);
  expect(await store.due('doctor', NOW + 6, 10)).toEqual([]);
  expect(await store.due('doctor', NOW + 9, 10)).toEqual(['a', 'b']);
  expect(await store.due('doctor', NOW + 9, 1)).toEqual(['a']);
  expect(await store.due('nurse', NOW + 9, 10)).toEqual([]);
  await store.done('doctor', ['a']);
  expect(await store.nextAt('doctor')).toBe(NOW + 9);
});
