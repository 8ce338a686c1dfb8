import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import type { StoredAppointment } from '../../../src/core/model/triggers.ts';
import { changeName, changeOf, unusableAtFirst, vanished } from '../../../src/features/triggers/lists.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { booking } from './trigger-world.ts';

const visit = (changes: Parameters<typeof booking>[2] = {}) => booking('1', NOW + HOUR_MS, changes);
const later = { kind: 'timed', startAt: NOW + 2 * HOUR_MS, endAt: NOW + 3 * HOUR_MS } as const;

/** Returns the appointment as it is stored after its booking. */
function stored(): StoredAppointment {
  const change = changeOf(null, visit());
  if (change === null) throw new Error('a booked appointment is stored');
  return change.now;
}

describe('an appointment', () => {
  test.each([
    ['is booked', 'appointment.booked', null, visit()],
    ['is moved in time', 'appointment.moved', stored(), visit({ time: later })],
    ['is put into another agenda', 'appointment.moved', stored(), visit({ agendaId: 'a2' })],
    ['is cancelled', 'appointment.cancelled', stored(), visit({ status: 'cancelled' })],
    ['loses its patient', 'appointment.cancelled', stored(), visit({ patientId: null })],
    ['is moved while it is cancelled', null, vanished(stored()).now, visit({ status: 'cancelled', time: later })],
    ['exists again after its cancellation', 'appointment.booked', vanished(stored()).now, visit()],
    ['gets another treatment and status', null, stored(), visit({ treatmentId: 't', status: 'confirmed' })],
  ] as const)('that %s: the event is %s', (_, event, before, now) => {
    expect(changeOf(before, now)?.event).toBe(event);
  });

  test('that was never booked for a patient is not stored', () => {
    expect(changeOf(null, visit({ status: 'cancelled' }))).toBeNull();
    expect(changeOf(null, visit({ patientId: null }))).toBeNull();
  });

  test('whose row could not be used at first is no event when it can, and one when it changes after that', () => {
    const first = unusableAtFirst('1', { fromAt: NOW, toAt: NOW + HOUR_MS });
    const usable = changeOf(first, visit());
    expect(usable?.event).toBeNull();
    expect(changeOf(usable?.now ?? null, visit({ time: later }))?.event).toBe('appointment.moved');
  });
});

test('each change has a unique name, also a move there, back and there again; without a change the name stays', () => {
  const names: string[] = [];
  let now: StoredAppointment | null = null;
  for (const time of [visit().time, later, visit().time, later]) {
    now = changeOf(now, visit({ time }))?.now ?? null;
    if (now !== null) names.push(changeName(now));
  }
  expect(new Set(names).size).toBe(4);
  const same = changeOf(now, visit({ time: later, status: 'confirmed' }));
  expect(same === null ? null : changeName(same.now)).toBe(names.at(-1));
});
