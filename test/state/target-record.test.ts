import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/model/time.ts';
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

  test('are listed day by day, the newest first', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi', PROOFS);
    await targets.recordGone('doctor', { ...NONE, vanished: 3 }, NOW);
    await targets.recordGone('doctor', { ...NONE, cancelled: 4, excluded: 2 }, NOW + 2 * DAY_MS);
    const days = await targets.goneByDay('doctor', NOW + 2 * DAY_MS + HOUR_MS);
    expect(days).toEqual([
      { ...NONE, cancelled: 4, excluded: 2 },
      NONE,
      { ...NONE, vanished: 3 },
      NONE,
      NONE,
      NONE,
      NONE,
    ]);
  });

  test('do not accumulate under hourly deletions, and expire in the end', async () => {
    const connection = redis.connect();
    const targets = createTargetStore(connection, 'studio-rossi', PROOFS);
    for (let hour = 0; hour < 200; hour += 1) {
      await targets.recordGone('doctor', { ...NONE, vanished: 5 }, NOW + hour * HOUR_MS);
    }
    // 169 hours, each with its reason and count, encrypted.
    expect(await connection.hstrlen('cm:{studio-rossi}:target:doctor', 'proof')).toBeLessThan(5_000);
    await targets.recordGone('nurse', NONE, NOW);
    expect(await connection.exists('cm:{studio-rossi}:target:nurse')).toBe(0);
  });
});
