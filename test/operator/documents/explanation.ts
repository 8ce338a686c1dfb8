import type { Explanation, TargetExplanation } from '../../../src/operator/control/record-schemas.ts';

export const NOW = Date.UTC(2026, 5, 22, 8);

/** A target that holds the current appointment, and was read back. */
export const EXPLAINED: TargetExplanation = {
  ...{ target: 'doctor', name: 'Dr Rossi (CalDAV)', isConcerned: true, connector: 'caldav' },
  ...{ byHand: null, pending: null, holds: [], failure: null },
  decision: { shown: true, code: 'shown', because: 'in english words' },
  link: { startAt: NOW, idAttempt: 0, remoteId: 'remote-1' },
  way: {
    compared: { at: NOW, found: 'same', fields: [] },
    written: { at: NOW, version: '"7"', revision: 3, changes: [] },
    readBack: { at: NOW, covers: true },
  },
};

/** A change that waits after two attempts. */
export const PENDING: NonNullable<TargetExplanation['pending']> = {
  ...{ reason: 'content-changed', want: 'present', attempts: 2, lastError: null, parked: false },
  ...{ enqueuedAt: NOW, dueAt: NOW },
};

/** An explanation for one target. */
export function explanationOf(target: Partial<TargetExplanation> = {}, rest: Partial<Explanation> = {}): Explanation {
  return {
    ...{ tenant: 'rossi', appointment: 'apt-1', doctor: 'Dr Rossi', askedAt: NOW, lastCycle: null },
    source: { state: 'there', status: 'booked', agenda: 'a1', startAt: NOW, updatedAt: null },
    targets: [{ ...EXPLAINED, ...target }],
    ...rest,
  };
}
