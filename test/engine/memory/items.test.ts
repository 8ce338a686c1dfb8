import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { describeRecord, itemOf, memoryForm, spanIn, spanOf } from '../../../src/engine/memory/items.ts';
import { START as NOW, recordOf } from './world.ts';

test('an object shows title and time of its record', () => {
  const record = recordOf('a', { inHours: 0, subjectId: 'p' });
  const span = { startAt: NOW, endAt: NOW + HOUR_MS };
  expect([spanOf(record), spanIn(itemOf(record)), memoryForm('rows').spanOf(itemOf(record))]).toEqual([
    span,
    span,
    span,
  ]);
  expect(describeRecord(record)).toEqual({ id: 'a', isCancelled: false, subjectId: 'p', ...span });
  expect(memoryForm('rows').values(itemOf(record))).toEqual(['title of a', expect.objectContaining({ zone: 'UTC' })]);
});

test('a record without a time fills all time', () => {
  const span = { startAt: 0, endAt: 8.64e15 };
  const record = { id: 'a', title: 'x' };
  expect([spanOf(record), spanIn(itemOf(record))]).toEqual([span, span]);
});
