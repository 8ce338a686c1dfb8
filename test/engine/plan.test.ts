import { expect, test } from 'vitest';
import type { PendingChange } from '../../src/core/model/plan.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { findAbandoned, type Knowledge } from '../../src/engine/plan.ts';
import { NOW } from '../domain/arbitraries.ts';

const WINDOW = { fromAt: NOW - 7 * DAY_MS, toAt: NOW + 60 * DAY_MS };

/** A write that was decided an hour ago, of an appointment of tomorrow, and was not sent. */
function waiting(changes: Partial<PendingChange> = {}): PendingChange {
  return {
    recordId: '1',
    reason: 'new',
    want: 'present',
    fingerprint: 'f',
    attempts: 0,
    lastError: null,
    sent: false,
    parked: false,
    enqueuedAt: NOW - HOUR_MS,
    dueAt: NOW,
    startAt: NOW + DAY_MS,
    endAt: NOW + DAY_MS + HOUR_MS,
    ...changes,
  };
}

/** Of an appointment that ended before the window begins. */
const LEFT = { startAt: NOW - 8 * DAY_MS, endAt: NOW - 8 * DAY_MS + HOUR_MS };
const OLD = { enqueuedAt: NOW - DAY_MS };

function isGivenUp(changes: Partial<PendingChange>, knowledge: Partial<Knowledge> = {}): boolean {
  const nothingKnown = { window: WINDOW, now: NOW, speaksOf: () => false, isMissing: () => false };
  const ids = findAbandoned([waiting(changes)], { ...nothingKnown, ...knowledge });
  expect(ids.length === 0 ? ['1'] : ids).toEqual(['1']);
  return ids.length === 1;
}

test.each([
  { what: 'a fresh write', changes: {}, missing: false, givesUp: false },
  { what: 'a fresh write of a missing record', changes: {}, missing: true, givesUp: true },
  { what: 'a write decided a day ago', changes: OLD, missing: false, givesUp: true },
  { what: 'a write decided a little less than a day ago', changes: { enqueuedAt: NOW - DAY_MS + 1 }, givesUp: false },
  { what: 'an old write that was sent', changes: { ...OLD, sent: true }, missing: true, givesUp: false },
  { what: 'an old removal', changes: { ...OLD, want: 'absent' as const }, missing: true, givesUp: false },
  { what: 'a parked recent write', changes: { parked: true }, missing: false, givesUp: false },
  { what: 'a fresh write of a record outside the window', changes: LEFT, missing: true, givesUp: false },
  { what: 'an old write of a record outside the window', changes: { ...LEFT, ...OLD }, givesUp: true },
  { what: 'a parked write of a record outside the window', changes: { ...LEFT, parked: true }, givesUp: true },
  {
    what: 'a long-parked removal of a record outside the window',
    changes: { ...LEFT, parked: true, want: 'absent' as const, sent: true },
    givesUp: true,
  },
])(
  '$what is given up: $givesUp, when this cycle has no data of its record',
  ({ changes, missing = false, givesUp }) => {
    expect(isGivenUp(changes, { isMissing: () => missing })).toBe(givesUp);
  },
);

test('what this cycle learned something of is not given up: the plan decides', () => {
  for (const changes of [OLD, { ...LEFT, ...OLD }]) expect(isGivenUp(changes, { speaksOf: () => true })).toBe(false);
});

test('each record is judged separately', () => {
  const pending = ['fresh', 'missing', 'seen'].map((recordId) => waiting({ recordId }));
  const knowledge = {
    window: WINDOW,
    now: NOW,
    speaksOf: (id: string) => id === 'seen',
    isMissing: (id: string) => id !== 'fresh',
  };
  expect(findAbandoned(pending, knowledge)).toEqual(['missing']);
});
