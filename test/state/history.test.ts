import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { createHistoryStore, hourOf, localDayOf, recordPastOutage, targetsIn } from '../../src/state/history.ts';
import { keys } from '../../src/state/keys.ts';
import { createOutageStore } from '../../src/state/outages.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const PROOFS = createProofSealer(Buffer.alloc(32, 7), TENANT);
const TEN = Date.parse('2026-06-15T10:00:00Z');
const KEY = keys.history(TENANT, 'doctor');
const at = (minutes: number) => TEN + minutes * MINUTE_MS;

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const targets = createTargetStore(connection, TENANT, PROOFS, 'Europe/Rome');
  const history = createHistoryStore(connection, TENANT);
  /** A cycle that read the clinic at these minutes after ten. */
  const cycle = (minutes: number, { isIdle = true, tookMs = 0 } = {}) =>
    targets.recordFreshness('doctor', 0, { plannedAsOf: at(minutes), tookMs, isIdle });
  /** Ages in minutes, by the hour of the day. */
  const ages = async () =>
    Object.fromEntries([...(await history.read('doctor')).ages].map(([hour, ms]) => [hour % 24, ms / MINUTE_MS]));
  return { connection, targets, history, cycle, ages };
}

describe('the ages of a target', () => {
  test('are the largest of each hour, just before a cycle replaced the data, with the time of the cycle', async () => {
    const { cycle, ages } = await open();
    await cycle(0);
    expect(await ages()).toEqual({});
    await cycle(5);
    await cycle(20);
    await cycle(22, { tookMs: 90_000 });
    expect(await ages()).toEqual({ 10: 15 });
    await cycle(25, { tookMs: 15 * MINUTE_MS });
    expect(await ages()).toEqual({ 10: 18 });
  });

  test('grow while changes are not written', async () => {
    const { cycle, ages } = await open();
    await cycle(30);
    for (const minutes of [45, 60, 75, 130]) await cycle(minutes, { isIdle: false });
    expect(await ages()).toEqual({ 10: 30, 11: 45, 12: 100 });
  });

  test('grow until the end of the last hour with a cycle, and hours without a cycle stay empty', async () => {
    const { cycle, ages } = await open();
    await cycle(5);
    await cycle(10);
    await cycle(185);
    expect(await ages()).toEqual({ 10: 50, 13: 175 });
  });

  test('say nothing before the target was in sync, and nothing of a plan that was overtaken', async () => {
    const { cycle, ages, targets } = await open();
    await cycle(0, { isIdle: false });
    await cycle(50, { isIdle: false });
    expect(await ages()).toEqual({});
    await cycle(51);
    await targets.recordOvertaken('doctor');
    await cycle(59);
    expect(await ages()).toEqual({});
  });

  test('end at the largest number, and are not negative for a clock that was set back', async () => {
    const { cycle, ages } = await open();
    await cycle(0);
    await cycle(4 * 24 * 60);
    expect(await ages()).toEqual({ 10: 4_095 });
    await cycle(3 * 24 * 60 + 60);
    expect(await ages()).toEqual({ 10: 4_095, 11: 0 });
  });
});

describe('the changes of a target', () => {
  test('are counted for the local day, and for the record of the target', async () => {
    const { targets, history } = await open();
    const midnight = Date.parse('2026-06-14T22:00:00Z');
    await targets.count('doctor', { created: 2, updated: 1 }, midnight - 1);
    await targets.count('doctor', { created: 1, deleted: 4 }, midnight);
    await targets.count('doctor', { deleted: 1, adopted: 3 }, midnight + 1);
    await targets.count('doctor', { adopted: 3, updated: 0 }, midnight + 3 * DAY_MS);
    expect([...(await history.read('doctor')).changes]).toEqual([
      [localDayOf(midnight - 1, 'Europe/Rome'), { created: 2, updated: 1, deleted: 0 }],
      [localDayOf(midnight, 'Europe/Rome'), { created: 1, updated: 0, deleted: 5 }],
    ]);
    expect(localDayOf(midnight, 'Europe/Rome') * DAY_MS).toBe(Date.parse('2026-06-15'));
    expect(await targets.read('doctor')).toMatchObject({ created: 3, updated: 1, deleted: 5, adopted: 6 });
  });
});

describe('the stored value', () => {
  test('has 32 days in less than 4 kB, however long the daemon runs, and expires', async () => {
    const { connection, targets, history, cycle } = await open();
    for (let hour = 0; hour < 40 * 24; hour += 1) {
      await cycle(hour * 60);
      if (hour % 24 === 0) await targets.count('doctor', { created: 1_234, updated: 567, deleted: 89 }, at(hour * 60));
    }
    const last = at(40 * 24 * 60 - 60);
    const { ages, changes } = await history.read('doctor');
    expect([changes.size, Math.max(...ages.keys())]).toEqual([32, hourOf(last)]);
    expect(hourOf(last) - Math.min(...ages.keys())).toBeGreaterThanOrEqual(31 * 24);
    expect(hourOf(last) - Math.min(...ages.keys())).toBeLessThan(32 * 24);
    expect(await connection.object('ENCODING', KEY)).toBe('listpack');
    const bytes = Number(await connection.memory('USAGE', KEY));
    expect(bytes).toBeGreaterThan(1_000);
    expect(bytes).toBeLessThan(4_096);
    expect(await connection.pttl(KEY)).toBeGreaterThan(31 * DAY_MS);
  });

  test('starts again if it is damaged, and stops no cycle', async () => {
    const { connection, targets, history, cycle, ages } = await open();
    await cycle(0);
    await connection.set(KEY, 'x');
    expect(await history.read('doctor')).toEqual({ ages: new Map(), changes: new Map() });
    await cycle(5);
    expect(await ages()).toEqual({ 10: 5 });
    const [field = ''] = await connection.hkeys(KEY);
    for (const damaged of ['', 'short', '~'.repeat(48), '!'.repeat(48)]) {
      await connection.hset(KEY, field, damaged, 'c20000', 'many');
      expect(await history.read('doctor')).toEqual({ ages: new Map(), changes: new Map() });
    }
    await cycle(12);
    expect(await ages()).toEqual({ 10: 7 });
    await connection.del(KEY);
    await connection.set(KEY, 'x');
    await targets.count('doctor', { created: 1 }, TEN);
    expect([...(await history.read('doctor')).changes.values()]).toEqual([{ created: 1, updated: 0, deleted: 0 }]);
  });
});

describe('past outages', () => {
  const work = (target: string | null, tenant = TENANT) => ({ tenant, target });

  test('are recorded when the server answers again, for the targets that waited', async () => {
    const { connection, history } = await open();
    const store = createOutageStore(connection, Buffer.alloc(32, 7));
    const facts = { code: 'connection-failed', mayTry: true, lastsAfterMs: HOUR_MS };
    const other = { ...work(null), other: { kind: 'channel', id: 'sms' } } as const;
    for (const each of [work('doctor'), other, work(null, 'clinic-b')])
      await store.wait('dav.example', each, { ...facts, now: TEN });
    await store.end('dav.example', TEN + HOUR_MS);
    const times = { sinceAt: TEN, untilAt: TEN + HOUR_MS };
    expect(await history.outages(TEN)).toEqual([{ ...times, targets: ['doctor'] }]);
    expect(await createHistoryStore(connection, 'clinic-b').outages(TEN)).toEqual([{ ...times, targets: null }]);
    expect(await history.outages(TEN + HOUR_MS)).toEqual([]);
  });

  test('concern no target if only other work waits', async () => {
    const { connection, history } = await open();
    const works = [{ ...work(null), other: {} }];
    expect(targetsIn(works, TENANT)).toEqual([]);
    await recordPastOutage(connection, { sinceAt: TEN, works }, TEN + 1);
    expect(await history.outages(0)).toEqual([]);
  });

  test('are at most 200 of the last 32 days, and expire', async () => {
    const { connection, history } = await open();
    const record = (sinceAt: number) =>
      recordPastOutage(connection, { sinceAt, works: [work('doctor')] }, sinceAt + MINUTE_MS);
    await record(TEN - 33 * DAY_MS);
    for (let minute = 0; minute < 210; minute += 1) await record(at(minute));
    const found = await history.outages(0);
    expect([found.length, found[0]?.sinceAt, found.at(-1)?.sinceAt]).toEqual([200, at(10), at(209)]);
    expect(await connection.pttl(keys.pastOutages(TENANT))).toBeGreaterThan(31 * DAY_MS);
  });

  test('never stop the work that waits, if the value is damaged', async () => {
    const { connection, history } = await open();
    const key = keys.pastOutages(TENANT);
    await connection.set(key, 'x');
    await recordPastOutage(connection, { sinceAt: TEN, works: [work('doctor')] }, TEN + 1);
    expect(await history.outages(0)).toEqual([]);
    await connection.del(key);
    await connection.zadd(key, TEN, 'x', TEN, '1 2', TEN, `${TEN} ${TEN + 1} *`);
    expect(await history.outages(0)).toEqual([{ sinceAt: TEN, untilAt: TEN + 1, targets: null }]);
  });
});
