import { expect, test } from 'vitest';
import type { Link } from '../../src/core/model/operations.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { CALENDAR_FORM } from '../../src/domain/item-forms.ts';
import { replacedBy } from '../../src/domain/moves.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { appointmentOf, NOW } from './arbitraries.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);
const ITEM = {
  ...{ title: 'Appointment', description: null, location: null, busy: true },
  time: { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' },
} as const;

interface World {
  /** Listed appointments with an event, created this many minutes ago; absent: long ago. */
  created: Record<string, { minutes?: number; of?: Partial<Appointment> }>;
  /** Removed events with their patient; `of`: the listed appointment. */
  removed: Record<string, { minutes?: number; patientId?: string; of?: Partial<Appointment> }>;
  pending?: string[];
  withinMinutes?: number;
  drift?: Link['drift'];
  policy?: 'sync' | 'create-only';
}

function replaced({ created, removed, pending = [], withinMinutes = 10, drift = null, policy = 'sync' }: World) {
  const records = new Map<string, Appointment>();
  const recent = new Map();
  const links = new Map<string, Link>();
  for (const [id, { minutes, of = {} }] of Object.entries(created)) {
    records.set(id, appointmentOf(id, of));
    links.set(id, { drift } as Link);
    if (minutes !== undefined) recent.set(id, { at: NOW - minutes * MINUTE_MS });
  }
  for (const [id, { minutes = 0, patientId = null, of }] of Object.entries(removed)) {
    if (of !== undefined) records.set(id, appointmentOf(id, of));
    const fingerprint = identity.fingerprint(ITEM, patientId);
    recent.set(id, { at: NOW - minutes * MINUTE_MS, removed: { additions: 'x', fingerprint } });
  }
  const state = { links, pending: new Map(pending.map((id) => [id, {}])) };
  const input = { target: { identity, configuration: { policy } }, state, recent } as unknown as Parameters<
    typeof replacedBy
  >[0];
  const cycle = { clinicReading: { snapshot: { records } }, rescheduleWithinMs: withinMinutes * MINUTE_MS };
  return Object.fromEntries(replacedBy(input, cycle as unknown as Parameters<typeof replacedBy>[1]));
}

const GONE = { from: { patientId: 'p1' } };

test.each<[string, World, Record<string, string>]>([
  ['a new appointment of the patient', { created: { to: { minutes: 9 } }, removed: GONE }, { to: 'from' }],
  ['none created too early', { created: { to: { minutes: 11 } }, removed: GONE }, {}],
  ['none created long ago', { created: { to: {} }, removed: GONE }, {}],
  ['none of another patient', { created: { to: { minutes: 0, of: { patientId: 'p2' } } }, removed: GONE }, {}],
  ['none without a patient', { created: { to: { minutes: 0, of: { patientId: null } } }, removed: GONE }, {}],
  [
    'none of several patients',
    { created: { to: { minutes: 0, of: { patientIds: ['p1', 'p2'] } } }, removed: GONE },
    {},
  ],
  ['none of an unknown patient', { created: { to: { minutes: 0 } }, removed: { from: {} } }, {}],
  [
    'one of the patient that the list shows',
    { created: { to: { minutes: 0 } }, removed: { from: { of: { status: 'cancelled' } } } },
    { to: 'from' },
  ],
  ['none that is not written yet', { created: { to: { minutes: 0 } }, removed: GONE, pending: ['to'] }, {}],
  ['none that a user edited', { created: { to: { minutes: 0 } }, removed: GONE, drift: 'edited' }, {}],
  ['none in a target without updates', { created: { to: { minutes: 0 } }, removed: GONE, policy: 'create-only' }, {}],
  ['none if moves are not recognised', { created: { to: { minutes: 0 } }, removed: GONE, withinMinutes: 0 }, {}],
  [
    'one of the same treatment before a nearer one',
    {
      created: { near: { minutes: 0 }, to: { minutes: 8, of: { treatmentId: 't1' } } },
      removed: { from: { patientId: 'p1', of: { status: 'cancelled', treatmentId: 't1' } } },
    },
    { to: 'from' },
  ],
  ['the nearest one', { created: { far: { minutes: 8 }, to: { minutes: 1 } }, removed: GONE }, { to: 'from' }],
  [
    'one each',
    { created: { a: { minutes: 1 }, b: { minutes: 2 } }, removed: { x: { patientId: 'p1' }, y: { patientId: 'p1' } } },
    { a: 'x', b: 'y' },
  ],
  ['itself if it is back', { created: { from: {}, to: { minutes: 0 } }, removed: GONE }, { from: 'from' }],
  [
    'one that the clinic changed together with it',
    {
      created: { to: { minutes: 60, of: { updatedAt: NOW } } },
      removed: { from: { patientId: 'p1', of: { status: 'cancelled', updatedAt: NOW + 9 * MINUTE_MS } } },
    },
    { to: 'from' },
  ],
])('a removed appointment is replaced by %s', (_, world, expected) => {
  expect(replaced(world)).toEqual(expected);
});
