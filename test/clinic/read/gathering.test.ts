import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  Gathering,
  nothingGathered,
  type ReusableReading,
  type RowsOfPage,
} from '../../../src/clinic/read/gathering.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';
import { HOUR_MS, overlaps, type TimeWindow } from '../../../src/core/model/time.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';

/** Gathers calls as a read does. */
function read(calls: readonly (readonly RowsOfPage[])[], window: TimeWindow, reusable: ReusableReading | null) {
  const gathered = nothingGathered();
  let looked = 0;
  const isWanted: ConstructorParameters<typeof Gathering>[1] = ({ time }) => {
    looked += 1;
    return overlaps(time, window);
  };
  const gathering = new Gathering(gathered, isWanted, reusable?.holdsIn(window) === true ? reusable : null);
  for (const pages of calls) atOnce(gathering.add(pages));
  const rows = atOnce(gathering.end());
  return { rows, reason: gathered.reason, looked, reusable: gathering.reusable(rows, window) };
}

const windowFrom = (hours: number) => ({ fromAt: NOW + hours * HOUR_MS, toAt: NOW + (hours + 8) * HOUR_MS });
const row = fc.oneof(
  fc
    .record({ id: fc.constantFrom('a', 'b', 'c', 'd'), inHours: fc.integer({ min: -12, max: 12 }) })
    .map(({ id, inHours }) => ({ record: appointmentOf(id, { inHours }) })),
  fc
    .constantFrom('a', 'b', null)
    .map((recordId) => ({ unusable: { recordId, code: 'bad-time' as const, field: 'start' as const } })),
);

describe('the records of a read', () => {
  test('are the same with and without an earlier read', () => {
    const walk = fc.record({
      calls: fc.array(fc.array(fc.nat({ max: 3 }), { maxLength: 3 }), { maxLength: 3 }),
      from: fc.integer({ min: -6, max: 6 }),
    });
    const pages = fc.array(fc.array(row, { maxLength: 4 }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(pages, fc.array(walk, { minLength: 1, maxLength: 2 }), fc.boolean(), (all, walks, repeats) => {
        let reusable: ReusableReading | null = null;
        for (const { calls, from } of repeats ? [...walks, ...walks.slice(-1)] : walks) {
          const those = calls.map((call) => call.map((at) => (all[at] ?? []) as RowsOfPage));
          const here = read(those, windowFrom(from), reusable);
          expect(here.rows).toEqual(read(those, windowFrom(from), null).rows);
          reusable = here.reusable;
        }
      }),
    );
  });

  it('are those of the last read if every page is, without a look at any row', () => {
    const pages = [[{ record: appointmentOf('a', { inHours: 1 }) }], [{ record: appointmentOf('b', { inHours: 2 }) }]];
    const first = read([pages], windowFrom(0), null);
    expect(first.looked).toBe(2);
    const second = read([pages], { ...windowFrom(0), fromAt: NOW + 1 }, first.reusable);
    expect(second).toMatchObject({ looked: 0 });
    expect(second.rows.records).toBe(first.rows.records);
    expect(read([pages], windowFrom(9), first.reusable).rows.records.size).toBe(0);
  });

  it('lack those of a page that is missing, and show the tenant of a new row', () => {
    const page = [{ record: appointmentOf('a', { inHours: 1 }) }];
    const { reusable } = read([[page, page]], windowFrom(0), null);
    expect([...read([[]], windowFrom(0), reusable).rows.records.keys()]).toEqual([]);
    const foreign: RowsOfPage = [{ unusable: { recordId: 'x', code: 'wrong-tenant', field: 'tenantId' } }];
    const mixed = read([[page], [foreign]], windowFrom(0), reusable);
    expect([mixed.reason, [...mixed.rows.records.keys()]]).toEqual(['wrong-tenant', ['a']]);
  });
});
