import { describe, expect, test } from 'vitest';
import { HOLD_KINDS } from '../../../src/core/model/plan.ts';
import { usualOf } from '../../../src/features/holds/usual.ts';
import type { GoneDay } from '../../../src/state/target-record.ts';

const NONE = { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };

function daysOf(counts: readonly (Partial<GoneDay['counts']> | null)[]): GoneDay[] {
  return counts.map((each, at) => ({
    date: `2026-06-${String(at + 1).padStart(2, '0')}`,
    counts: each === null ? null : { ...NONE, ...each },
  }));
}
const usual = (kind: Parameters<typeof usualOf>[0], days: readonly GoneDay[]) => usualOf(kind, async () => days);

describe('the usual number', () => {
  test('counts the changes of the kind of the hold', async () => {
    const days = daysOf([{ cancelled: 1, vanished: 2, excluded: 4, restored: 8, released: 16 }]);
    const counted = await Promise.all(
      HOLD_KINDS.map(async (kind) => [kind, (await usual(kind, days))?.days[0]?.count]),
    );
    expect(Object.fromEntries(counted)).toEqual({
      ...{ cancelled: 1, vanished: 6, 'manual-changes': 8 },
      ...{ 'first-run': undefined, replaced: undefined, people: undefined, corrections: undefined },
    });
  });

  test('does not read the days of a kind that is not counted', async () => {
    const read = async () => {
      throw new Error('not read');
    };
    expect(await usualOf('people', read)).toBeNull();
  });

  test('keeps a day without changes apart from a day that is not known', async () => {
    const known = await usual('vanished', daysOf([null, {}, { vanished: 3 }]));
    expect(known?.days.map(({ count }) => count)).toEqual([null, 0, 3]);
    expect(known?.range).toEqual({ least: 0, most: 3, days: 2 });
    expect((await usual('vanished', daysOf([null, null])))?.range).toBeNull();
  });

  test('leaves out one unusual day of ten, and none of nine', async () => {
    const counts = [40, 1, 2, 3, 1, 2, 3, 1, 2].map((vanished) => ({ vanished }));
    expect((await usual('vanished', daysOf(counts)))?.range).toEqual({ least: 1, most: 40, days: 9 });
    expect((await usual('vanished', daysOf([...counts, {}])))?.range).toEqual({ least: 0, most: 3, days: 10 });
  });
});
