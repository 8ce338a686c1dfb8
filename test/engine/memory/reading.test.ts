import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { nothingMissing } from '../../../src/engine/absence.ts';
import { MemoryReading } from '../../../src/engine/memory/reading.ts';
import { START as NOW, recordOf, STREAM } from './world.ts';

const WINDOW = { fromAt: NOW, toAt: NOW + 9 * DAY_MS };

function open() {
  const list = { records: new Map([['a', recordOf('a')]]), tombstones: ['b'], isComplete: true, unread: null };
  const readAlone = async () => ({ absent: true }) as const;
  const parts = { reach: 'whole' as const, startedAt: NOW, window: WINDOW, windowRead: WINDOW };
  return new MemoryReading({ ...parts, lists: new Map([[STREAM, list]]), readAlone });
}

test('a list shows its records and its deletions', () => {
  const listing = open().listing(STREAM);
  expect(['a', 'b', 'c'].map((id) => listing?.isListed(id))).toEqual([true, true, false]);
  expect(open().listing('other')).toBeNull();
});

test('a complete list must show a record that is where it was', () => {
  const { belongsOnList } = open().single(STREAM);
  const record = recordOf('c');
  expect(belongsOnList(record, [record.startAt ?? 0])).toBe(true);
  expect(belongsOnList(record, [NOW + 5 * DAY_MS])).toBe(false);
  expect(belongsOnList(recordOf('c', { inHours: 900 }), [NOW + 900 * 3_600_000])).toBe(false);
});

test('a list that a single read refuted is incomplete', async () => {
  const refuted = await open().confirmed({ [STREAM]: { ...nothingMissing(), unlisted: 1 } });
  expect([open().completeness, refuted.completeness]).toEqual(['complete', 'partial']);
});

test('suspect absences are not learned', () => {
  const confirmations = { [STREAM]: { ...nothingMissing<{ id: string }>(), vanished: new Set(['a']) } };
  const learned = (isSuspect: boolean) => open().learned(confirmations, isSuspect).vanished.get(STREAM);
  expect([learned(false), learned(true)]).toEqual([new Set(['a']), new Set()]);
});
