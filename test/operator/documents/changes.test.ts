import { expect, test } from 'vitest';
import { printTerminal } from '../../../src/operator/cli/print-terminal.ts';
import type { TargetChange, TargetChangesView } from '../../../src/operator/control/history-schemas.ts';
import { changesDocument } from '../../../src/operator/documents/changes.ts';

const DAY = Date.parse('2026-06-15T00:00:00Z');
const HOUR = 3_600_000;
const CHANGE: TargetChange = {
  ...{ record: 'apt-1', run: 'r1', changedAt: DAY + 9 * HOUR, effect: 'updated', reason: 'content-changed' },
  before: { startAt: DAY + 30 * HOUR, endAt: DAY + 31 * HOUR },
  after: { startAt: DAY + 32 * HOUR, endAt: DAY + 33 * HOUR },
};

const shown = (changes: readonly TargetChange[], view: Partial<TargetChangesView> = {}, language: 'en' | 'it' = 'en') =>
  printTerminal(
    changesDocument(
      {
        ...{ tenant: 'rossi', target: 'doctor', name: 'Dr Bianchi', zone: 'UTC', date: '2026-06-15', startAt: DAY },
        ...{ endAt: DAY + 24 * HOUR, created: 4, updated: 1, deleted: 0, journalSince: DAY - 9 * HOUR, isCut: false },
        changes: [...changes],
        ...view,
      },
      language,
    ),
  );

test('a moved appointment has its times before and after, in lines of at most 100 characters', () => {
  const text = shown([CHANGE]);
  expect(text).toContain('What changed in Dr Bianchi on 2026-06-15');
  expect(text).toContain('4 created, 1 changed, 0 deleted.');
  expect(text).toContain('before: 2026-06-16 06:00:00Z to 2026-06-16 07:00:00Z');
  expect(text).toContain('after: 2026-06-16 08:00:00Z to 2026-06-16 09:00:00Z');
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100);
});

test('an equal time says that other content changed, a deletion has only a time before, and unknown times say nothing', () => {
  expect(shown([{ ...CHANGE, after: CHANGE.before }])).toContain('same time; other content changed: 2026-06-16 06:00');
  const deleted = shown([{ ...CHANGE, effect: 'deleted', reason: 'cancelled', after: null }]);
  expect(deleted).toContain('deleted');
  expect(deleted).not.toContain('after:');
  expect(shown([{ ...CHANGE, before: null, after: null }])).not.toMatch(/before:|after:/);
});

test('a day without changes differs from a day before the journals, and a cut list says so', () => {
  expect(shown([])).toContain('No change or deletion is recorded');
  expect(shown([], { journalSince: DAY + 24 * HOUR })).toContain('do not reach back to this day');
  expect(shown([CHANGE], { isCut: true })).toContain('more changes than this list');
  expect(shown([CHANGE], { name: null }, 'it')).toContain('Che cosa è cambiato in doctor il 2026-06-15');
});
