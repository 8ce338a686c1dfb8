import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { inTurn, nextOutside } from '../../src/jobs/absence.ts';
import type { ClinicReading } from '../../src/jobs/clinic-reading.ts';
import type { OpenTarget, OpenTenant } from '../../src/jobs/tenant.ts';
import type { Link } from '../../src/model/operations.ts';
import { DAY_MS, HOUR_MS } from '../../src/model/time.ts';
import { NOW } from '../sync/arbitraries.ts';

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
  /** Records that the target shows beyond the far end of its window. */
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
  const clinicReading = {
    startedAt: NOW,
    snapshot: { records, unusable: [] },
    streams: {},
  } as unknown as ClinicReading;
  const cycle = {
    clinicReading,
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
  test('are asked for twenty at a time, and the next cycle goes on behind the last', async () => {
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

  test('are left to what tells of them already: the list, or their being asked for as absent', async () => {
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

  test('are not passed over because somebody looked at a plan', async () => {
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
