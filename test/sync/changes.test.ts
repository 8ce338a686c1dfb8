import { expect, test } from 'vitest';
import { AT_HAND } from '../../src/model/packed.ts';
import { atOnce } from '../../src/model/pieces.ts';
import type { PlannedChange } from '../../src/model/plan.ts';
import { PackedChanges, packedBeyond, reasonsOf } from '../../src/sync/changes.ts';
import { NOW } from './arbitraries.ts';

function changesOf(count: number): PlannedChange[] {
  return Array.from({ length: count }, (_, index) => ({
    recordId: `appointment-${index}`,
    reason: index % 3 === 0 ? 'cancelled' : 'vanished',
    wanted: { want: 'absent', startAt: NOW, endAt: NOW },
    fields: [],
  }));
}

test('of a cycle with many changes those of the first targets are kept as they are, those of others packed', () => {
  const changes = changesOf(1_000);
  let laidOut = 0;
  for (let planned = 1_000; planned <= 3 * AT_HAND; planned += 1_000) {
    const kept = atOnce(packedBeyond(changes, planned));
    if (!(kept instanceof PackedChanges)) laidOut += kept.length;
    expect([...kept]).toEqual(changes);
    expect(reasonsOf(kept)).toEqual({ cancelled: 334, vanished: 666 });
  }
  expect(laidOut).toBe(AT_HAND);
});
