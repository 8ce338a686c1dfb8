import { z } from 'zod';
import type { HoldKind } from '../../core/model/plan.ts';
import type { GoneDay } from '../../state/target-record.ts';

/** Schema of the usual number of changes of a hold's kind in its target. */
export const usualChanges = z.object({
  days: z
    .array(
      z.object({
        date: z.string().describe("Day in the clinic's time zone, `YYYY-MM-DD`"),
        count: z.number().nullable().describe('Changes of this kind on this day; null: not known'),
      }),
    )
    .describe('The last thirty days, oldest first, today last'),
  range: z
    .object({ least: z.number(), most: z.number(), days: z.number() })
    .nullable()
    .describe(
      '`least` and `most` changes a day on at least nine of ten known days, and the number of known days; null if no day is known',
    ),
});
/** Comparable changes of the last thirty days. Removals that an operator approved are not counted. */
export type UsualChanges = z.infer<typeof usualChanges>;

type Counts = NonNullable<GoneDay['counts']>;

/** Counters of comparable changes; absent for kinds without such a counter. */
const COUNTED: Partial<Record<HoldKind, (counts: Counts) => number>> = {
  cancelled: ({ cancelled }) => cancelled,
  vanished: ({ vanished, excluded }) => vanished + excluded,
  'manual-changes': ({ restored }) => restored,
};

/** Returns the usual number of changes of a kind; null for kinds that are not counted. @param read the last thirty days, oldest first */
export async function usualOf(kind: HoldKind, read: () => Promise<readonly GoneDay[]>): Promise<UsualChanges | null> {
  const countOf = COUNTED[kind];
  if (countOf === undefined) return null;
  const days = (await read()).map(({ date, counts }) => ({ date, count: counts === null ? null : countOf(counts) }));
  return { days, range: rangeOf(days.flatMap(({ count }) => count ?? [])) };
}

/** The largest tenth is left out, so that one unusual day does not make the next one usual. */
function rangeOf(counts: readonly number[]): UsualChanges['range'] {
  if (counts.length === 0) return null;
  const sorted = counts.toSorted((one, other) => one - other);
  return { least: sorted[0] ?? 0, most: sorted[Math.ceil(sorted.length * 0.9) - 1] ?? 0, days: sorted.length };
}
