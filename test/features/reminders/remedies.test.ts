import { expect, test } from 'vitest';
import type { LedgerEntry } from '../../../src/core/model/reminders.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { isCoveredByCorrection } from '../../../src/features/reminders/remedies.ts';
import { NOW } from '../../domain/arbitraries.ts';

const REMINDER: LedgerEntry = {
  ...{ id: 'r', appointmentId: 'one', startAt: NOW + DAY_MS, rule: 'day-before', channel: 'text', zone: 'Europe/Rome' },
  ...{ correction: null, state: 'planned', plannedAt: NOW, wakeAt: NOW, dueAt: NOW, attempts: 0, finishedAt: null },
  ...{ reason: null, lastCode: null, reference: null, answer: null, handedAs: null, patientProof: null },
  ...{ locationProof: null, movedTo: null, recipient: null },
};
const MOVED: LedgerEntry = { ...REMINDER, id: 'c', correction: { kind: 'moved', fact: 'f' } };

test.each<[string, Partial<LedgerEntry>, boolean]>([
  ['due now', {}, true],
  ['during delivery', { state: 'sending' }, true],
  ['sent an hour ago', { state: 'sent', finishedAt: NOW - HOUR_MS }, true],
  ['sent five hours ago', { state: 'sent', finishedAt: NOW - 5 * HOUR_MS }, false],
  ['due later', { dueAt: NOW + HOUR_MS }, false],
  ['dropped', { state: 'dropped' }, false],
  ['of another time', { startAt: NOW + HOUR_MS }, false],
  ['in another channel', { channel: 'mail' }, false],
  ['of a cancellation', { correction: { kind: 'cancelled', fact: 'f' } }, false],
])('a reminder and a correction %s', (_, changes, isTold) => {
  expect(isCoveredByCorrection(REMINDER, [{ ...MOVED, ...changes }], NOW)).toBe(isTold);
});
