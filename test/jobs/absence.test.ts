import { describe, expect, test, vi } from 'vitest';
import { confirmAbsence } from '../../src/jobs/absence.ts';
import { silentLogger } from '../../src/log/logger.ts';
import { MirrorError } from '../../src/model/errors.ts';
import type { Hold } from '../../src/model/plan.ts';
import type { Lookup } from '../../src/model/snapshots.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../../src/model/time.ts';
import { nothingMissing } from '../../src/sync/absence.ts';
import { NOW } from '../sync/arbitraries.ts';

interface Row {
  id: string;
}

type Answer = 'gone' | 'there' | 'unusable' | 'away';

/** What the tests choose; else everything missing is gone, nothing was missed before, and nobody decided anything. */
interface Choice {
  missing: Record<string, readonly string[]>;
  missedSince?: Record<string, Instant>;
  holds?: Partial<Hold>[];
  answer?: (id: string) => Answer;
  /** What a steady clock says; else as much as the other one. */
  elapsedBetween?: () => number;
  random?: () => number;
  /** Whether the list should have shown a record that is there; default: it need not. */
  belongsOnList?: (row: Row) => boolean;
  signal?: AbortSignal;
}

const MISSED_FOR_MS = 5 * MINUTE_MS;

function ids(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

function holdOf(changes: Partial<Hold>): Hold {
  const times = { createdAt: NOW, decidedAt: null, expiresAt: NOW + DAY_MS };
  return {
    id: 'h',
    target: 'doctor',
    kind: 'vanished',
    state: 'open',
    recordIds: [],
    linkCount: 9,
    ...times,
    ...changes,
  };
}

function missedAt(instants: Record<string, Instant>): Map<string, Instant> {
  return new Map(Object.entries(instants));
}

/** Asks the clinic for what is missing, and tells what was asked and what came of it. */
async function confirm(choice: Choice) {
  const asked: string[] = [];
  const signal = choice.signal ?? new AbortController().signal;
  const list = vi.fn(async () => (choice.holds ?? []).map(holdOf));
  const warn = vi.fn();
  const readAlone = async (id: string, given: AbortSignal): Promise<Lookup<Row>> => {
    expect(given).toBe(signal);
    asked.push(id);
    const answer = choice.answer?.(id) ?? 'gone';
    if (answer === 'away') throw new MirrorError('x', { actor: 'remote', code: 'server-error', retry: 'later' });
    if (answer === 'there') return { found: { id } };
    return answer === 'gone' ? { absent: true } : { unusable: { recordId: id, field: 'start', code: 'bad-time' } };
  };
  const tenant = {
    holds: { list },
    log: { ...silentLogger, warn },
    random: choice.random ?? (() => 0.5),
    missedForMs: MISSED_FOR_MS,
    elapsedBetween: choice.elapsedBetween ?? ((from: Instant, to: Instant) => to - from),
  };
  const missing = new Map(Object.entries(choice.missing));
  const misses = { missedSince: missedAt(choice.missedSince ?? {}), readAt: NOW };
  const confirmation = await confirmAbsence<Row>(
    tenant,
    { missing, misses },
    { readAlone, belongsOnList: choice.belongsOnList ?? (() => false) },
    signal,
  );
  return { ...confirmation, asked, list, warn };
}

describe('a record that the list should have shown and that is there', () => {
  const missedSince = { 1: NOW - MISSED_FOR_MS, 2: NOW - MISSED_FOR_MS };
  const proof = { missing: { doctor: ['1', '2', '3'] }, missedSince, belongsOnList: ({ id }: Row) => id === '3' };
  const answer = (id: string) => (id === '3' ? 'there' : 'gone');

  test('proves the list incomplete: what is gone by two readings waits for a complete list', async () => {
    const { unlisted, vanished, missedOnce, unconfirmed } = await confirm({ ...proof, answer });
    expect([unlisted, [...vanished], [...missedOnce].sort(), unconfirmed]).toEqual([1, [], ['1', '2'], 2]);
    const complete = await confirm({ ...proof, answer, belongsOnList: () => false });
    expect([complete.unlisted, [...complete.vanished].sort()]).toEqual([0, ['1', '2']]);
  });

  test('does not keep back a removal that an administrator approved', async () => {
    const holds = [holdOf({ state: 'approved', recordIds: ['1'] })];
    const { vanished, missedOnce } = await confirm({ ...proof, answer, holds });
    expect([[...vanished], [...missedOnce]]).toEqual([['1'], ['2']]);
  });
});

describe('a record that a complete list should have shown', () => {
  test('when there is none, nobody asks for anything', async () => {
    const { asked, list, ...confirmation } = await confirm({ missing: { doctor: [] } });
    expect(confirmation).toMatchObject(nothingMissing());
    expect([asked, list.mock.calls]).toEqual([[], []]);
  });

  test('is gone for the first time, which is not believed yet', async () => {
    const { missedOnce, vanished, sampled, unconfirmed } = await confirm({ missing: { doctor: ['1'] } });
    expect([[...missedOnce], [...vanished], [...sampled], unconfirmed]).toEqual([['1'], [], ['1'], 1]);
  });

  test('is believed to be gone when a reading that began long enough before missed it too', async () => {
    const second = await confirm({ missing: { doctor: ['1'] }, missedSince: { 1: NOW - MISSED_FOR_MS } });
    expect([[...second.vanished], [...second.missedOnce], second.unconfirmed]).toEqual([['1'], [], 0]);
    // What it told is no sample of those that nobody asked for: those were picked for having been gone before.
    expect([...second.sampled]).toEqual([]);
    const early = await confirm({ missing: { doctor: ['1'] }, missedSince: { 1: NOW - MISSED_FOR_MS + 1 } });
    expect([[...early.vanished], [...early.missedOnce], early.unconfirmed]).toEqual([[], ['1'], 1]);
    expect(early.asked).toEqual([]);
  });

  test('is not believed to be gone where the clock jumped between the two readings', async () => {
    const choice = { missing: { doctor: ['1'] }, missedSince: { 1: NOW - HOUR_MS } };
    const early = await confirm({ ...choice, elapsedBetween: () => MISSED_FOR_MS - 1 });
    expect([[...early.vanished], [...early.missedOnce], early.asked]).toEqual([[], ['1'], []]);
    const later = await confirm({ ...choice, elapsedBetween: () => MISSED_FOR_MS });
    expect([...later.vanished]).toEqual(['1']);
  });

  test('is there after all, or there and of no use, also at the second look', async () => {
    const answer = (id: string): Answer => (id.startsWith('there') ? 'there' : 'unusable');
    for (const missedSince of [{}, { there1: NOW - HOUR_MS, unusable1: NOW - HOUR_MS }]) {
      const result = await confirm({ missing: { doctor: ['there1', 'unusable1', 'unusable2'] }, missedSince, answer });
      expect(result.found).toEqual([{ id: 'there1' }]);
      expect([...result.unusable].sort()).toEqual(['unusable1', 'unusable2']);
      expect([...result.vanished, ...result.missedOnce]).toEqual([]);
      expect(result.unconfirmed).toBe(2);
    }
  });

  test('is asked for once, in however many targets it is missed', async () => {
    const { asked, unconfirmed } = await confirm({ missing: { doctor: ['1', '2'], reception: ['2', '1'] } });
    expect(asked.sort()).toEqual(['1', '2']);
    expect(unconfirmed).toBe(2);
  });

  test('is counted as one of which too little is missedSince until it is there, proven gone, or kept', async () => {
    const result = await confirm({
      missing: { doctor: ['there', 'gone', 'once', 'kept', 'kept-too'] },
      missedSince: { gone: NOW - HOUR_MS },
      holds: [{ recordIds: ['kept', 'kept-too'] }],
      answer: (id) => (id === 'there' ? 'there' : 'gone'),
    });
    expect([...result.present].sort()).toEqual(['kept', 'kept-too']);
    expect(result.unconfirmed).toBe(1);
  });
});

describe('when much is missing', () => {
  test('200 are asked for in a cycle', async () => {
    const { asked, sampled, missedOnce, unconfirmed } = await confirm({ missing: { doctor: ids('a', 250) } });
    expect([asked.length, sampled.size, missedOnce.size, unconfirmed]).toEqual([200, 200, 200, 250]);
  });

  test('second looks leave half of them to first ones, and take what those leave', async () => {
    const looks = async (due: number, others: number) => {
      const missedSince = Object.fromEntries(ids('due', due).map((id) => [id, NOW - HOUR_MS]));
      const { asked } = await confirm({
        missing: { doctor: [...ids('due', due), ...ids('new', others)] },
        missedSince,
      });
      return { second: asked.filter((id) => id.startsWith('due')).length, all: asked.length };
    };
    expect(await looks(150, 250)).toEqual({ second: 100, all: 200 });
    expect(await looks(150, 80)).toEqual({ second: 120, all: 200 });
    expect(await looks(250, 0)).toEqual({ second: 200, all: 200 });
    expect(await looks(30, 250)).toEqual({ second: 30, all: 200 });
  });

  test('a target with few missing gets its answers beside one with very many', async () => {
    const { asked } = await confirm({ missing: { big: ids('big', 1_000), small: ids('small', 3) } });
    expect(asked.filter((id) => id.startsWith('small'))).toHaveLength(3);
    expect(new Set(asked).size).toBe(200);
    expect(asked).not.toContain(undefined);
  });

  test('each one is as likely to be asked for first, for the first and for the second time', async () => {
    const random = seeded();
    for (const missedSince of [{}, { a0: NOW - HOUR_MS, a1: NOW - HOUR_MS, a2: NOW - HOUR_MS }]) {
      const orders = new Map<string, number>();
      for (let round = 0; round < 300; round += 1) {
        const { asked } = await confirm({ missing: { doctor: ids('a', 3) }, missedSince, random });
        orders.set(asked.join(), (orders.get(asked.join()) ?? 0) + 1);
      }
      expect(orders.size).toBe(6);
      for (const count of orders.values()) expect(count).toBeGreaterThan(25);
    }
  });
});

describe('a clinic that fails', () => {
  test('three times in turn is not asked on, and each failure is told', async () => {
    const { asked, warn, unconfirmed, missedOnce } = await confirm({
      missing: { doctor: ids('a', 10) },
      answer: () => 'away',
    });
    expect(asked).toHaveLength(3);
    const told = [{ code: 'server-error' }, 'an absent record could not be read alone'];
    expect(warn.mock.calls).toEqual([told, told, told]);
    expect([unconfirmed, missedOnce.size]).toEqual([10, 0]);
  });

  test('now and then is asked on', async () => {
    let calls = 0;
    const { asked, missedOnce, sampled } = await confirm({
      missing: { doctor: ids('a', 9) },
      answer: () => (++calls % 3 === 0 ? 'gone' : 'away'),
    });
    expect(asked).toHaveLength(9);
    expect([missedOnce.size, sampled.size]).toEqual([3, 3]);
  });

  test('because the work is to stop ends the questions at once', async () => {
    const stop = new AbortController();
    const work = confirm({
      missing: { doctor: ids('a', 10) },
      signal: stop.signal,
      answer: () => {
        stop.abort(new Error('the lease was lost'));
        return 'away';
      },
    });
    await expect(work).rejects.toThrow('the lease was lost');
  });
});

describe('a person’s decision', () => {
  test('to approve a removal makes the first miss enough', async () => {
    const { vanished, missedOnce } = await confirm({
      missing: { doctor: ['1', '2'] },
      holds: [{ state: 'approved', recordIds: ['1'] }],
    });
    expect([[...vanished], [...missedOnce]]).toEqual([['1'], ['2']]);
  });

  test.each(['open', 'rejected'] as const)(
    'a hold that is %s keeps its records: they are neither missed nor removed',
    async (state) => {
      const result = await confirm({
        missing: { doctor: ['1'] },
        missedSince: { 1: NOW - MINUTE_MS },
        holds: [{ state, recordIds: ['1'] }],
      });
      expect([[...result.present], [...result.vanished], [...result.missedOnce]]).toEqual([['1'], [], []]);
      expect([...result.sampled]).toEqual([]);
    },
  );

  test.each([
    { why: 'cancelled ones', hold: { kind: 'cancelled', recordIds: ['1'] } },
    { why: 'approved cancelled ones', hold: { kind: 'cancelled', state: 'approved', recordIds: ['1'] } },
    { why: 'another target', hold: { target: 'reception', recordIds: ['1'] } },
    { why: 'another record', hold: { recordIds: ['2'] } },
  ] as const)('a hold of $why says nothing of a record that is missing', async ({ hold }) => {
    const { present: kept, vanished, missedOnce } = await confirm({ missing: { doctor: ['1'] }, holds: [hold] });
    expect([[...kept], [...vanished], [...missedOnce]]).toEqual([[], [], ['1']]);
  });

  test('speaks for its own target only: a record that another one misses too is asked for as ever', async () => {
    const missing = { doctor: ['1'], reception: ['1'] };
    for (const state of ['approved', 'rejected'] as const) {
      const inOne = await confirm({ missing, holds: [{ state, recordIds: ['1'] }] });
      expect([[...inOne.missedOnce], [...inOne.present], [...inOne.vanished]], state).toEqual([['1'], [], []]);
    }
    const undecided = await confirm({
      missing,
      holds: [
        { state: 'approved', recordIds: ['1'] },
        { target: 'reception', recordIds: ['1'] },
      ],
    });
    expect([[...undecided.missedOnce], [...undecided.vanished]]).toEqual([['1'], []]);
    const both = ['doctor', 'reception'].map((target) => ({ target, recordIds: ['1'] }));
    expect([...(await confirm({ missing, holds: both })).present]).toEqual(['1']);
    const approved = both.map((hold) => ({ ...hold, state: 'approved' as const }));
    expect([...(await confirm({ missing, holds: approved })).vanished]).toEqual(['1']);
  });
});

describe('what a hold keeps', () => {
  const kept = { missing: { doctor: ids('a', 250) }, holds: [{ recordIds: ids('a', 250) }] };

  test('is looked at all the same, twenty of them in a cycle, and stays in the hold', async () => {
    const { asked, present: staying, found, unconfirmed } = await confirm(kept);
    expect([asked.length, staying.size, found, unconfirmed]).toEqual([20, 250, [], 0]);
  });

  test('leaves the hold when it is there, and then more are looked at', async () => {
    const { asked, present: staying, found, unconfirmed } = await confirm({ ...kept, answer: () => 'there' });
    expect([asked.length, staying.size, found.length, unconfirmed]).toEqual([200, 50, 200, 0]);
    expect(found.map(({ id }) => id)).toEqual(asked);
    expect(asked.some((id) => staying.has(id))).toBe(false);
  });

  test('stays in the hold when it can’t be used, or the clinic doesn’t answer', async () => {
    const unusable = await confirm({ ...kept, answer: () => 'unusable' });
    expect([unusable.asked.length, unusable.present.size]).toEqual([20, 250]);
    const away = await confirm({ ...kept, answer: () => 'away' });
    expect([away.asked.length, away.present.size]).toEqual([3, 250]);
  });

  test('gets its turn by chance', async () => {
    const random = seeded();
    const asked = new Set<string>();
    for (let cycles = 0; cycles < 200; cycles += 1)
      for (const id of (await confirm({ ...kept, random })).asked) asked.add(id);
    expect(asked.size).toBe(250);
  });
});

/** Always the same numbers, and spread. */
function seeded(): () => number {
  let seed = 1;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}
