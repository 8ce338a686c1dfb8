import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Link } from '../../src/core/model/operations.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { HOUR_MS, hasPassed, MINUTE_MS, overlaps, type TimeSpan } from '../../src/core/model/time.ts';
import { idleUntil } from '../../src/engine/idle-target.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';

const PAST_MS = 10 * HOUR_MS;
const FUTURE_MS = 20 * HOUR_MS;
const windowAt = (now: number) => ({ fromAt: now - PAST_MS, toAt: now + FUTURE_MS });

function linkOf({ id, time: { startAt, endAt } }: Appointment, changes: Partial<Link> = {}): Link {
  return {
    recordId: id,
    fingerprint: 'f',
    versionTag: null,
    startAt,
    endAt,
    idAttempt: 0,
    drift: null,
    ...changes,
  } as Link;
}

function inputOf(own: readonly Appointment[], links: readonly Link[], pending = new Map()) {
  return {
    own: new Map(own.map(({ id, time }) => [id, time])),
    state: { links: new Map(links.map((link) => [link.recordId, link])), pending },
    window: windowAt(NOW),
    now: NOW,
  };
}

const minutes = fc.integer({ min: -40 * 60, max: 40 * 60 });
const appointments = fc.array(fc.tuple(minutes, fc.integer({ min: 0, max: 20 * 60 }))).map((spans) =>
  spans.map(([from, lasts], index) => {
    const startAt = NOW + from * MINUTE_MS;
    return appointmentOf(`${index}`, { time: { kind: 'timed', startAt, endAt: startAt + lasts * MINUTE_MS } });
  }),
);

describe('a calendar without pending changes', () => {
  test('stands to its window as it did until then, whatever the time', () => {
    fc.assert(
      fc.property(appointments, fc.integer({ min: 0, max: 60 * 60 * 1_000 }), (own, laterMs) => {
        const links = own.filter(({ time }) => overlaps(time, windowAt(NOW))).map((one) => linkOf(one));
        const untilAt = idleUntil(inputOf(own, links));
        if (untilAt === null) throw new Error('the target is not idle');
        const later = Math.min(NOW + laterMs, untilAt - 1);
        const standing = ({ time }: { time: TimeSpan }, now: number) => [
          overlaps(time, windowAt(now)),
          hasPassed(time, windowAt(now)),
        ];
        for (const one of own) expect(standing(one, Math.max(NOW, later))).toEqual(standing(one, NOW));
      }),
    );
  });

  test('stays idle until a window edge crosses an appointment', () => {
    const own = [appointmentOf('1', { inHours: 1 }), appointmentOf('2', { inHours: 25 })];
    // The first leaves the window ten hours after its end; the second comes into it five hours from now.
    expect(idleUntil(inputOf(own, [linkOf(own[0] as Appointment)]))).toBe(NOW + 5 * HOUR_MS);
    expect(idleUntil(inputOf(own.slice(0, 1), []))).toBe(NOW + 12 * HOUR_MS);
    expect(idleUntil(inputOf([], []))).toBe(Number.POSITIVE_INFINITY);
  });

  test('also considers written links, and treats an event without duration as one millisecond long', () => {
    const written = linkOf(one, { startAt: NOW - 8 * HOUR_MS, endAt: NOW - 7 * HOUR_MS });
    expect(idleUntil(inputOf([one], [written]))).toBe(NOW + 3 * HOUR_MS);
    const startAt = NOW - 9 * HOUR_MS;
    const moment = appointmentOf('1', { time: { kind: 'timed', startAt, endAt: startAt } });
    expect(idleUntil(inputOf([moment], []))).toBe(NOW + HOUR_MS + 1);
    expect(idleUntil(inputOf([appointmentOf('1', { inHours: 20 })], [])), 'it begins as the window ends').toBe(NOW);
  });

  const one = appointmentOf('1', { inHours: 1 });
  const beyond = appointmentOf('1', { inHours: 30 });
  test.each([
    ['something waits', inputOf([one], [linkOf(one)], new Map([['2', { recordId: '2' }]]))],
    ['a link is of a record that is not listed', inputOf([], [linkOf(one)])],
    ['a link lies outside of the window', inputOf([beyond], [linkOf(beyond)])],
    ['a user edited an object', inputOf([one], [linkOf(one, { drift: 'edited' })])],
    ['a user removed an object', inputOf([one], [linkOf(one, { drift: 'removed' })])],
  ])('is not known to have nothing to do while %s', (_, input) => {
    expect(idleUntil(inputOf([one], [linkOf(one)]))).not.toBeNull();
    expect(idleUntil(input)).toBeNull();
  });
});
