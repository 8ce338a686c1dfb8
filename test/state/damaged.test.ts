import { describe, expect, onTestFinished, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { treatmentOf } from '../../src/core/model/damaged-kinds.ts';
import { DAY_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { openDamagedStore, reportDamaged } from '../../src/state/damaged.ts';
import { keys } from '../../src/state/keys.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis({ appendOnly: false });

/** The reports of one process, by a clock of the test. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const clock = { now: NOW };
  const lines: object[] = [];
  const log: Logger = { ...silentLogger, error: (data) => void lines.push(data) };
  const store = openDamagedStore({ redis: connection, clock: () => clock.now, log });
  onTestFinished(store.close);
  return { connection, clock, lines, store };
}

describe('a damaged value', () => {
  test('is logged once a minute for its tenant and kind, and counted each time', async () => {
    const { clock, lines, store } = await open();
    for (let time = 0; time < 3; time += 1) reportDamaged('aurora', 'holds');
    reportDamaged('borea', 'holds');
    expect(lines).toEqual(
      ['aurora', 'borea'].map((tenant) => ({ code: 'state-damaged', kind: 'holds', tenant, treatment: 'rebuild' })),
    );
    clock.now += MINUTE_MS;
    reportDamaged('aurora', 'holds');
    expect(lines).toHaveLength(3);
    expect([...store.counts]).toEqual([['holds', 5]]);
  });

  test('is shown for a day, by tenant, to another process too', async () => {
    const { connection, clock, store } = await open();
    reportDamaged('aurora', 'runs');
    reportDamaged('{alerts}', 'alerts');
    clock.now += MINUTE_MS;
    reportDamaged('aurora', 'holds');
    const found = [
      { tenant: 'aurora', kinds: ['holds', 'runs'], sinceAt: clock.now },
      { tenant: null, kinds: ['alerts'], sinceAt: NOW },
    ];
    store.close();
    const other = openDamagedStore({ redis: connection, clock: () => clock.now, log: silentLogger });
    onTestFinished(other.close);
    const byTenant = async () => (await other.list()).toSorted((one, two) => two.sinceAt - one.sinceAt);
    expect(await byTenant()).toEqual(found);
    expect(await connection.pttl(keys.damaged())).toBeGreaterThan(DAY_MS - MINUTE_MS);
    clock.now += DAY_MS;
    expect(await byTenant()).toEqual([]);
  });

  test('that stops work is logged, and shown by what stops', async () => {
    const { lines, store } = await open();
    for (const kind of ['safeguards', 'managed-tenants', 'credentials', 'access'] as const) {
      expect(treatmentOf(kind)).not.toBe('rebuild');
      reportDamaged('aurora', kind);
    }
    expect(lines).toHaveLength(4);
    expect(await store.list()).toEqual([]);
  });

  test('is logged without a writable Redis', async () => {
    const { connection, lines, store } = await open();
    await connection.set(keys.damaged(), 'of another type');
    reportDamaged('aurora', 'holds');
    expect(lines).toHaveLength(1);
    await connection.del(keys.damaged());
    expect(await store.list()).toMatchObject([{ tenant: 'aurora', kinds: ['holds'] }]);
  });
});

test('a foreign record shows known kinds and usable times only', async () => {
  const { connection, store } = await open();
  const lure = 'https://clinic-mirror.example.net/unlock';
  await connection.hset(keys.damaged(), {
    [`aurora ${lure}`]: NOW,
    'aurora constructor': NOW,
    'aurora holds': lure,
    'borea runs': NOW,
  });
  expect(await store.list()).toEqual([{ tenant: 'borea', kinds: ['runs'], sinceAt: NOW }]);
});
