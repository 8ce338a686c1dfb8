import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { fieldOf, recordOf } from '../../src/state/target-record.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const damage = useDamage();
const PROOFS = createProofSealer(Buffer.alloc(32, 7), 'studio-rossi');
const HERE = { target: 'doctor', sealer: PROOFS };
const PROOF = { container: 'c1', firstRunApprovedAt: 4, gone: {} };
const FAILURE = { code: 'login-refused', sinceAt: NOW };

describe('a stored target', () => {
  const fieldsOf = (target: string) => ({
    failure: String(fieldOf('failure', FAILURE, { ...HERE, target })),
    gaps: String(fieldOf('gaps', [], { ...HERE, target })),
    outage: String(fieldOf('outage', 'crm.example', { ...HERE, target })),
    pausedAt: '5',
    pausedUntil: '6',
  });

  test('contains the failure, the gaps and the outage that were encrypted for it', () => {
    expect(recordOf(fieldsOf('doctor'), PROOF, HERE).record).toMatchObject({
      ...{ failure: FAILURE, gaps: [], outage: 'crm.example', pausedUntil: 6 },
      ...{ container: 'c1', firstRunApprovedAt: 4 },
    });
  });

  test('with encrypted fields of another target has none of them, and is tried at once', () => {
    expect(recordOf(fieldsOf('nurse'), PROOF, HERE).record).toMatchObject({
      ...{ failure: null, gaps: null, outage: null, pausedUntil: null },
    });
    expect([...damage]).toEqual(['studio-rossi targets']);
  });

  test('without its encrypted record has no calendar, no approval, and was never read', () => {
    expect(recordOf({ adoptedAt: '1' }, null, HERE).record).toMatchObject({
      ...{ container: null, firstRunApprovedAt: null, adoptedAt: null },
    });
    expect(recordOf({ adoptedAt: '1' }, PROOF, HERE).record.adoptedAt).toBe(1);
  });
});

describe('the removals from a target', () => {
  const NONE = { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };

  test('are counted by reason, a recurring record each time, for an hour and for seven days', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi', PROOFS);
    await targets.recordGone('doctor', { ...NONE, vanished: 3 }, NOW);
    await targets.recordGone('doctor', { ...NONE, vanished: 3, released: 1 }, NOW);
    await targets.recordGone('doctor', { ...NONE, cancelled: 4, excluded: 2 }, NOW + HOUR_MS);
    const all = { cancelled: 4, excluded: 2, vanished: 6, released: 1, restored: 0 };
    expect(await targets.gone('doctor', NOW + HOUR_MS)).toEqual({ hour: all, week: all });
    expect(await targets.gone('doctor', NOW + 2 * HOUR_MS)).toEqual({
      hour: { ...NONE, cancelled: 4, excluded: 2 },
      week: all,
    });
    expect(await targets.gone('doctor', NOW + 7 * DAY_MS)).toEqual({ hour: NONE, week: all });
    expect((await targets.gone('doctor', NOW + 7 * DAY_MS + HOUR_MS)).week).toEqual({
      ...NONE,
      cancelled: 4,
      excluded: 2,
    });
    expect((await targets.gone('nurse', NOW)).week).toEqual(NONE);
  });

  test('are listed by local date for thirty days, today last; days before the first known one are not zero', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi', PROOFS);
    await targets.recordGone('doctor', { ...NONE, vanished: 3 }, NOW);
    await targets.recordGone('doctor', { ...NONE, cancelled: 4, excluded: 2 }, NOW + 2 * DAY_MS);
    const days = await targets.goneByDate('doctor', NOW + 2 * DAY_MS + HOUR_MS, 'Europe/Rome');
    expect(days).toHaveLength(30);
    expect(days.slice(-4)).toEqual([
      { date: '2026-06-14', counts: null },
      { date: '2026-06-15', counts: { ...NONE, vanished: 3 } },
      { date: '2026-06-16', counts: NONE },
      { date: '2026-06-17', counts: { ...NONE, cancelled: 4, excluded: 2 } },
    ]);
    expect((await targets.goneByDate('nurse', NOW, 'UTC')).map(({ counts }) => counts)).toEqual([
      ...Array.from({ length: 29 }, () => null),
      NONE,
    ]);
  });

  test('belong to the date in the zone, and are known since the target was first read', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi', PROOFS);
    const late = Date.UTC(2026, 5, 15, 22, 30);
    await targets.write('doctor', { container: 'c1', adoptedAt: late - 2 * DAY_MS });
    await targets.recordGone('doctor', { ...NONE, vanished: 1 }, late);
    const datesIn = async (zone: string) =>
      (await targets.goneByDate('doctor', late + HOUR_MS, zone)).flatMap(({ date, counts }) =>
        counts === null ? [] : [[date, counts.vanished]],
      );
    expect(await datesIn('UTC')).toEqual([
      ['2026-06-13', 0],
      ['2026-06-14', 0],
      ['2026-06-15', 1],
    ]);
    expect(await datesIn('Europe/Rome')).toEqual([
      ['2026-06-14', 0],
      ['2026-06-15', 0],
      ['2026-06-16', 1],
    ]);
  });

  test('of a day before the last seven are one count, which the guard does not count', async () => {
    const connection = redis.connect();
    const targets = createTargetStore(connection, 'studio-rossi', PROOFS);
    for (let hour = 0; hour < 31 * 24; hour += 1) {
      await targets.recordGone('doctor', { ...NONE, vanished: 1 }, NOW + hour * HOUR_MS);
    }
    const now = NOW + (31 * 24 - 1) * HOUR_MS;
    // 169 hours: the seven days and the hour that began before.
    expect((await targets.gone('doctor', now)).week.vanished).toBe(169);
    const days = (await targets.goneByDate('doctor', now, 'UTC')).map(({ counts }) => counts?.vanished);
    expect(days.slice(0, -1)).toEqual(Array.from({ length: 29 }, () => 24));
    // At most 192 hours and 24 days, each with its reason and count, encrypted.
    expect(await connection.hstrlen('cm:{studio-rossi}:target:doctor', 'proof')).toBeLessThan(6_000);
  });

  test('do not accumulate under hourly deletions, and expire in the end', async () => {
    const connection = redis.connect();
    const targets = createTargetStore(connection, 'studio-rossi', PROOFS);
    for (let hour = 0; hour < 200; hour += 1) {
      await targets.recordGone('doctor', { ...NONE, vanished: 5 }, NOW + hour * HOUR_MS);
    }
    expect(await connection.hstrlen('cm:{studio-rossi}:target:doctor', 'proof')).toBeLessThan(6_000);
    await targets.recordGone('nurse', NONE, NOW);
    expect(await connection.exists('cm:{studio-rossi}:target:nurse')).toBe(0);
  });
});
