import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { Link } from '../../src/core/model/operations.ts';
import type { Hold } from '../../src/core/model/plan.ts';
import type { Lookup } from '../../src/core/model/snapshots.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../../src/core/model/time.ts';
import { readingOf } from '../../src/domain/clinic-source.ts';
import type { ReadClinic } from '../../src/domain/read-clinic.ts';
import { nothingMissing } from '../../src/engine/absence.ts';
import { confirmAbsence, inTurn, nextOutside } from '../../src/engine/confirm.ts';
import { decideHold } from '../../src/features/holds/holds.ts';
import type { OpenTarget, OpenTenant } from '../../src/tenant/tenant.ts';
import { NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';

interface Row {
  id: string;
}

type Answer = 'gone' | 'there' | 'unusable' | 'away';

/** Choices of a test. Defaults: every missing record is gone, no record was missed before, and nothing was decided. */
interface Choice {
  toConfirm: Record<string, readonly string[]>;
  missedSince?: Record<string, Instant>;
  holds?: Partial<Hold>[];
  answer?: (id: string) => Answer;
  /** Time on a steady clock; default: equal to the other clock. */
  elapsedBetween?: () => number;
  random?: () => number;
  /** Whether the list should contain an existing record; default: false. */
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

/** Queries the clinic for missing records, and returns the queries with their results. */
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
  const missing = new Map(Object.entries(choice.toConfirm));
  const misses = { missedSince: missedAt(choice.missedSince ?? {}), readAt: NOW };
  const confirmation = await confirmAbsence<Row>(
    tenant,
    { toConfirm: missing, misses },
    { readAlone, belongsOnList: choice.belongsOnList ?? (() => false) },
    signal,
  );
  return { ...confirmation, asked, list, warn };
}

describe('a record that exists but is absent from a list that should contain it', () => {
  const missedSince = { 1: NOW - MISSED_FOR_MS, 2: NOW - MISSED_FOR_MS };
  const proof = { toConfirm: { doctor: ['1', '2', '3'] }, missedSince, belongsOnList: ({ id }: Row) => id === '3' };
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
  test('sends no query when no record is missing', async () => {
    const { asked, list, ...confirmation } = await confirm({ toConfirm: { doctor: [] } });
    expect(confirmation).toMatchObject(nothingMissing());
    expect([asked, list.mock.calls]).toEqual([[], []]);
  });

  test('is gone for the first time, which is not believed yet', async () => {
    const { missedOnce, vanished, sampled, unconfirmed } = await confirm({ toConfirm: { doctor: ['1'] } });
    expect([[...missedOnce], [...vanished], [...sampled], unconfirmed]).toEqual([['1'], [], ['1'], 1]);
  });

  test('is proven absent when an earlier fetch, long enough ago, missed it too', async () => {
    const second = await confirm({ toConfirm: { doctor: ['1'] }, missedSince: { 1: NOW - MISSED_FOR_MS } });
    expect([[...second.vanished], [...second.missedOnce], second.unconfirmed]).toEqual([['1'], [], 0]);
    // The sample excludes records that were not queried: those were selected because they were gone before.
    expect([...second.sampled]).toEqual([]);
    const early = await confirm({ toConfirm: { doctor: ['1'] }, missedSince: { 1: NOW - MISSED_FOR_MS + 1 } });
    expect([[...early.vanished], [...early.missedOnce], early.unconfirmed]).toEqual([[], ['1'], 1]);
    expect(early.asked).toEqual([]);
  });

  test('is not believed to be gone where the clock jumped between the two readings', async () => {
    const choice = { toConfirm: { doctor: ['1'] }, missedSince: { 1: NOW - HOUR_MS } };
    const early = await confirm({ ...choice, elapsedBetween: () => MISSED_FOR_MS - 1 });
    expect([[...early.vanished], [...early.missedOnce], early.asked]).toEqual([[], ['1'], []]);
    const later = await confirm({ ...choice, elapsedBetween: () => MISSED_FOR_MS });
    expect([...later.vanished]).toEqual(['1']);
  });

  test('is not removed when the second query finds it, usable or not', async () => {
    const answer = (id: string): Answer => (id.startsWith('there') ? 'there' : 'unusable');
    for (const missedSince of [{}, { there1: NOW - HOUR_MS, unusable1: NOW - HOUR_MS }]) {
      const result = await confirm({
        toConfirm: { doctor: ['there1', 'unusable1', 'unusable2'] },
        missedSince,
        answer,
      });
      expect(result.found).toEqual([{ id: 'there1' }]);
      expect([...result.unusable].sort()).toEqual(['unusable1', 'unusable2']);
      expect([...result.vanished, ...result.missedOnce]).toEqual([]);
      expect(result.unconfirmed).toBe(2);
    }
  });

  test('is queried once, regardless of how many targets miss it', async () => {
    const { asked, unconfirmed } = await confirm({ toConfirm: { doctor: ['1', '2'], reception: ['2', '1'] } });
    expect(asked.sort()).toEqual(['1', '2']);
    expect(unconfirmed).toBe(2);
  });

  test('keeps its missedSince while it is unconfirmed, until it is found, proven absent, or held', async () => {
    const result = await confirm({
      toConfirm: { doctor: ['there', 'gone', 'once', 'kept', 'kept-too'] },
      missedSince: { gone: NOW - HOUR_MS },
      holds: [{ recordIds: ['kept', 'kept-too'] }],
      answer: (id) => (id === 'there' ? 'there' : 'gone'),
    });
    expect([...result.held].sort()).toEqual(['kept', 'kept-too']);
    expect(result.unconfirmed).toBe(1);
  });
});

describe('when much is missing', () => {
  test('queries 200 records in a cycle', async () => {
    const { asked, sampled, missedOnce, unconfirmed } = await confirm({ toConfirm: { doctor: ids('a', 250) } });
    expect([asked.length, sampled.size, missedOnce.size, unconfirmed]).toEqual([200, 200, 200, 250]);
  });

  test('second queries leave half of the quota to first queries, and use the rest of it', async () => {
    const looks = async (due: number, others: number) => {
      const missedSince = Object.fromEntries(ids('due', due).map((id) => [id, NOW - HOUR_MS]));
      const { asked } = await confirm({
        toConfirm: { doctor: [...ids('due', due), ...ids('new', others)] },
        missedSince,
      });
      return { second: asked.filter((id) => id.startsWith('due')).length, all: asked.length };
    };
    expect(await looks(150, 250)).toEqual({ second: 100, all: 200 });
    expect(await looks(150, 80)).toEqual({ second: 120, all: 200 });
    expect(await looks(250, 0)).toEqual({ second: 200, all: 200 });
    expect(await looks(30, 250)).toEqual({ second: 30, all: 200 });
  });

  test('a target with few missing records gets answers although another one misses many', async () => {
    const { asked } = await confirm({ toConfirm: { big: ids('big', 1_000), small: ids('small', 3) } });
    expect(asked.filter((id) => id.startsWith('small'))).toHaveLength(3);
    expect(new Set(asked).size).toBe(200);
    expect(asked).not.toContain(undefined);
  });

  test('each record has the same chance of an early query, for first and second queries', async () => {
    const random = seeded();
    for (const missedSince of [{}, { a0: NOW - HOUR_MS, a1: NOW - HOUR_MS, a2: NOW - HOUR_MS }]) {
      const orders = new Map<string, number>();
      for (let round = 0; round < 300; round += 1) {
        const { asked } = await confirm({ toConfirm: { doctor: ids('a', 3) }, missedSince, random });
        orders.set(asked.join(), (orders.get(asked.join()) ?? 0) + 1);
      }
      expect(orders.size).toBe(6);
      for (const count of orders.values()) expect(count).toBeGreaterThan(25);
    }
  });
});

describe('a clinic that fails', () => {
  test('three times in a row gets no more queries, and each failure is reported', async () => {
    const { asked, warn, unconfirmed, missedOnce } = await confirm({
      toConfirm: { doctor: ids('a', 10) },
      answer: () => 'away',
    });
    expect(asked).toHaveLength(3);
    const told = [{ code: 'server-error' }, 'missing record could not be read individually'];
    expect(warn.mock.calls).toEqual([told, told, told]);
    expect([unconfirmed, missedOnce.size]).toEqual([10, 0]);
  });

  test('occasionally is still queried', async () => {
    let calls = 0;
    const { asked, missedOnce, sampled } = await confirm({
      toConfirm: { doctor: ids('a', 9) },
      answer: () => (++calls % 3 === 0 ? 'gone' : 'away'),
    });
    expect(asked).toHaveLength(9);
    expect([missedOnce.size, sampled.size]).toEqual([3, 3]);
  });

  test('because the work is to stop ends the questions at once', async () => {
    const stop = new AbortController();
    const work = confirm({
      toConfirm: { doctor: ids('a', 10) },
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
      toConfirm: { doctor: ['1', '2'] },
      holds: [{ state: 'approved', recordIds: ['1'] }],
    });
    expect([[...vanished], [...missedOnce]]).toEqual([['1'], ['2']]);
  });

  test.each(['open', 'rejected'] as const)(
    'a hold that is %s keeps its records: they are neither missed nor removed',
    async (state) => {
      const result = await confirm({
        toConfirm: { doctor: ['1'] },
        missedSince: { 1: NOW - MINUTE_MS },
        holds: [{ state, recordIds: ['1'] }],
      });
      expect([[...result.held], [...result.vanished], [...result.missedOnce]]).toEqual([['1'], [], []]);
      expect([...result.sampled]).toEqual([]);
    },
  );

  test.each([
    { why: 'cancelled ones', hold: { kind: 'cancelled', recordIds: ['1'] } },
    { why: 'approved cancelled ones', hold: { kind: 'cancelled', state: 'approved', recordIds: ['1'] } },
    { why: 'another target', hold: { target: 'reception', recordIds: ['1'] } },
    { why: 'another record', hold: { recordIds: ['2'] } },
  ] as const)('a hold of $why decides nothing about a missing record', async ({ hold }) => {
    const { held: kept, vanished, missedOnce } = await confirm({ toConfirm: { doctor: ['1'] }, holds: [hold] });
    expect([[...kept], [...vanished], [...missedOnce]]).toEqual([[], [], ['1']]);
  });

  test('applies to its own target only: a record that another target misses too is still queried', async () => {
    const missing = { doctor: ['1'], reception: ['1'] };
    for (const state of ['approved', 'rejected'] as const) {
      const inOne = await confirm({ toConfirm: missing, holds: [{ state, recordIds: ['1'] }] });
      expect([[...inOne.missedOnce], [...inOne.held], [...inOne.vanished]], state).toEqual([['1'], [], []]);
    }
    const undecided = await confirm({
      toConfirm: missing,
      holds: [
        { state: 'approved', recordIds: ['1'] },
        { target: 'reception', recordIds: ['1'] },
      ],
    });
    expect([[...undecided.missedOnce], [...undecided.vanished]]).toEqual([['1'], []]);
    const both = ['doctor', 'reception'].map((target) => ({ target, recordIds: ['1'] }));
    expect([...(await confirm({ toConfirm: missing, holds: both })).held]).toEqual(['1']);
    const approved = both.map((hold) => ({ ...hold, state: 'approved' as const }));
    expect([...(await confirm({ toConfirm: missing, holds: approved })).vanished]).toEqual(['1']);
  });
});

describe('what a hold keeps', () => {
  const kept = { toConfirm: { doctor: ids('a', 250) }, holds: [{ recordIds: ids('a', 250) }] };

  test('is still queried, twenty records in a cycle, and remains in the hold', async () => {
    const { asked, held: staying, found, unconfirmed } = await confirm(kept);
    expect([asked.length, staying.size, found, unconfirmed]).toEqual([20, 250, [], 0]);
  });

  test('leaves the hold when it exists, and then further records are queried', async () => {
    const { asked, held: staying, found, unconfirmed } = await confirm({ ...kept, answer: () => 'there' });
    expect([asked.length, staying.size, found.length, unconfirmed]).toEqual([200, 50, 200, 0]);
    expect(found.map(({ id }) => id)).toEqual(asked);
    expect(asked.some((id) => staying.has(id))).toBe(false);
  });

  test('stays in the hold when it can’t be used, or the clinic doesn’t answer', async () => {
    const unusable = await confirm({ ...kept, answer: () => 'unusable' });
    expect([unusable.asked.length, unusable.held.size]).toEqual([20, 250]);
    const away = await confirm({ ...kept, answer: () => 'away' });
    expect([away.asked.length, away.held.size]).toEqual([3, 250]);
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

const redis = useRedis();

test('a removal that was rejected in one target proves nothing for another', async () => {
  const clinic = createModelClinic(20);
  const models = { doctor: createModelTarget(), reception: createModelTarget() };
  const open = (doctorShows: 'all' | string[]) =>
    openTenant({
      redis: redis.connect(),
      clinic,
      clock: () => NOW,
      targets: [
        { id: 'doctor', model: models.doctor, configuration: { agendas: doctorShows } },
        { id: 'reception', model: models.reception },
      ],
    });
  await cycle(open('all'));
  // The doctor's calendar no longer shows this agenda; the removal of its appointments there is rejected.
  const tenant = open(['a2']);
  await cycle(tenant);
  const [hold] = await tenant.holds.list();
  expect(hold).toMatchObject({ target: 'doctor', state: 'open' });
  await decideHold(openInstallation({ tenants: [tenant] }), {
    tenant: tenant.id,
    hold: hold!.id,
    decision: 'rejected',
  });

  // One list omits an appointment that a single fetch finds.
  const readAppointments = clinic.readAppointments.bind(clinic);
  clinic.readAppointments = async (query, signal) => {
    const snapshot = await readAppointments(query, signal);
    snapshot.records.delete('0');
    return snapshot;
  };
  const run = await cycle(tenant);
  expect(run.targets.find(({ target }) => target === 'reception')).toMatchObject({ stillThere: 1, planned: {} });
  expect(models.reception.objects()).toHaveLength(20);
  expect(models.doctor.objects()).toHaveLength(20);
});

describe('records that are fetched singly', () => {
  const TARGET = {
    id: 'doctor',
    stream: 'appointments',
    configuration: { window: { pastDays: 7, futureDays: 60 } },
  } as unknown as OpenTarget;

  function linkOf(recordId: string, inDays: number): Link {
    const startAt = NOW + inDays * DAY_MS;
    return {
      recordId,
      fingerprint: 'f',
      versionTag: null,
      startAt,
      endAt: startAt + HOUR_MS,
      idAttempt: 0,
      remoteId: null,
      drift: null,
    };
  }

  function ids(count: number): string[] {
    return Array.from({ length: count }, (_, index) => `r${String(index).padStart(3, '0')}`);
  }

  interface Choice {
    /** Records in the target after the end of its window. */
    beyond?: readonly string[];
    listed?: readonly string[];
    absent?: readonly string[];
    targets?: number;
    lookedOutsideTo?: string | null;
    isRecorded?: boolean;
    stream?: OpenTarget['stream'];
  }

  async function next(choice: Choice) {
    const read = vi.fn(async () => ({ lookedOutsideTo: choice.lookedOutsideTo ?? null }));
    const write = vi.fn(async () => {});
    const store = { read, write } as unknown as OpenTenant['targetStore'];
    const links = new Map((choice.beyond ?? []).map((id) => [id, linkOf(id, 90)]));
    links.set('inside', linkOf('inside', 1));
    const records = new Map((choice.listed ?? []).map((id) => [id, { id }]));
    const answers = { startedAt: NOW, snapshot: { records, unusable: [] }, streams: {} } as unknown as ReadClinic;
    const cycle = {
      reading: readingOf(
        openTenant({ redis: redis.connect(), clinic: createModelClinic(), targets: [], clock: () => NOW }),
        [],
        answers,
      ),
      state: { links, pending: new Map() },
      targets: choice.targets ?? 1,
      isRecorded: choice.isRecorded ?? true,
    };
    const asked = await nextOutside(
      store,
      { ...TARGET, stream: choice.stream ?? 'appointments' },
      cycle,
      choice.absent ?? [],
    );
    return { asked, read, write };
  }

  describe('records outside the window', () => {
    test('are queried twenty at a time, and the next cycle continues after the last one', async () => {
      const first = await next({ beyond: ids(50) });
      expect(first.asked).toEqual(ids(20));
      expect(first.write.mock.calls).toEqual([['doctor', { lookedOutsideTo: 'r019' }]]);
      const second = await next({ beyond: ids(50), lookedOutsideTo: 'r019' });
      expect(second.asked).toEqual(ids(40).slice(20));
      const third = await next({ beyond: ids(50), lookedOutsideTo: 'r039' });
      expect(third.asked).toEqual([...ids(50).slice(40), ...ids(10)]);
    });

    test('share the twenty with those of the tenant’s other targets, and each target has one', async () => {
      expect((await next({ beyond: ids(50), targets: 3 })).asked).toEqual(ids(7));
      expect((await next({ beyond: ids(50), targets: 40 })).asked).toEqual(ids(1));
    });

    test('are not queried when a list or a query for absent records covers them', async () => {
      const { asked } = await next({ beyond: ids(4), listed: ['r001'], absent: ['r002'] });
      expect(asked).toEqual(['r000', 'r003']);
    });

    test('that are none cost nothing', async () => {
      const { asked, read, write } = await next({ beyond: ['r000'], listed: ['r000'] });
      expect([asked, read.mock.calls, write.mock.calls]).toEqual([[], [], []]);
    });

    test('are not asked for when the target’s stream could not be read', async () => {
      const { asked, write } = await next({ beyond: ids(3), stream: 'invoices' });
      expect([asked, write.mock.calls]).toEqual([[], []]);
    });

    test('are not skipped after a plan preview', async () => {
      const { asked, write } = await next({ beyond: ids(3), isRecorded: false });
      expect([asked, write.mock.calls]).toEqual([ids(3), []]);
    });
  });

  describe('records in turn', () => {
    test('come in the order of their ids, from the first again after the last', () => {
      expect(inTurn(['c', 'a', 'b'], null, 2)).toEqual(['a', 'b']);
      expect(inTurn(['c', 'a', 'b'], 'b', 2)).toEqual(['c', 'a']);
      expect(inTurn(['c', 'a', 'b'], 'c', 2)).toEqual(['a', 'b']);
      expect(inTurn(['c', 'a'], 'b', 5)).toEqual(['c', 'a']);
      expect(inTurn(['a', 'a', 'b'], 'a', 5)).toEqual(['b', 'a']);
    });

    test('all come, however many there are and wherever one begins', () => {
      const some = fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 30 });
      fc.assert(
        fc.property(some, fc.option(fc.string()), fc.integer({ min: 1, max: 10 }), (all, begin, count) => {
          const seen = new Set<string>();
          let after = begin;
          for (let cycle = 0; cycle < Math.ceil(all.length / count); cycle += 1) {
            const turn = inTurn(all, after, count);
            for (const id of turn) seen.add(id);
            after = turn.at(-1) ?? null;
          }
          expect([...seen].sort()).toEqual([...all].sort());
        }),
      );
    });
  });
});
