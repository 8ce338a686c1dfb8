import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { nothingMissing } from '../../../src/engine/absence.ts';
import { projectionOf } from '../../../src/engine/memory/projection.ts';
import type { TargetInput } from '../../../src/engine/ports.ts';
import { START as NOW, openMemoryWorld, recordOf, STREAM, TARGET } from './world.ts';

const WINDOW = { fromAt: NOW, toAt: NOW + 9 * DAY_MS };

test('a target shows the list and the records found alone', () => {
  const target = openMemoryWorld().open().targets.get(TARGET) ?? expect.fail('there is no target');
  const found = [recordOf('found', { inHours: -99, subjectId: 'p' })];
  const records = new Map([['a', recordOf('a')]]);
  const projection = projectionOf(
    { target, pinned: new Set<string>() } as unknown as TargetInput<typeof target>,
    {
      confirmations: { [STREAM]: { ...nothingMissing(), found } },
      isForgotten: Object.assign(() => false, { version: '' }),
    },
    { window: WINDOW, windowRead: WINDOW, records, tombstones: ['b'] },
  );
  expect(['a', 'b', 'found'].map(projection.isListed)).toEqual([true, true, false]);
  expect(['a', 'found', 'unknown'].map(projection.isOfPerson)).toEqual([false, true, true]);
  expect([projection.startOf('a'), projection.startOf('found')]).toEqual([NOW + DAY_MS, null]);
  expect(projection.beforeWindow).toEqual(['found']);
});
