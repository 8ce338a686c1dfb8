import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS, toZonedIso } from '../../../../../src/core/model/time.ts';
import { type WeekEntryView, type WeekTime, weekOf } from '../../../../../src/operator/control/week.ts';
import { laneClass, rowClass, weekStyles } from '../../../../../src/operator/http-server/pages/assets.ts';
import { gridOf, type PositionedBlock } from '../../../../../src/operator/http-server/pages/week/grid.ts';

/** Zones whose clocks change at night, at midnight, by half an hour, and never. */
const ZONES = ['Europe/Rome', 'America/Sao_Paulo', 'Africa/Cairo', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC'];

const zones = fc.constantFrom(...ZONES);

const dates = fc.nat(366 * 20).map((day) => new Date(Date.UTC(2015, 0, 1) + day * DAY_MS).toISOString().slice(0, 10));

function entryOf(record: string, clinic: WeekTime | null, calendar: WeekTime | null): WeekEntryView {
  return {
    record,
    clinic: clinic === null ? null : { time: clinic, status: 'booked', agenda: 'a1' },
    calendar: calendar === null ? null : { time: calendar, page: null },
    ...{ title: null, omitted: null, difference: null, next: null },
  };
}

const timed = (startAt: number, minutes: number): WeekTime => ({
  kind: 'timed',
  startAt,
  endAt: startAt + minutes * MINUTE_MS,
});

/** A week with appointments that begin in it. Some appointments last several days. */
const weeks = fc
  .record({
    zone: zones,
    date: dates,
    slots: fc.array(fc.tuple(fc.nat(7 * 24 * 12 - 1), fc.oneof(fc.integer({ min: 0, max: 240 }), fc.nat(5_000))), {
      maxLength: 25,
    }),
  })
  .map(({ zone, date, slots }) => {
    const days = weekOf(zone, date, 0);
    const at = days[0]?.startAt ?? 0;
    const entries = slots.map(([slot, minutes], index) => {
      const time = timed(at + slot * 5 * MINUTE_MS, minutes);
      return entryOf(String(index), time, time);
    });
    return { zone, days, entries };
  });

describe('the grid', () => {
  test('shows each appointment once in each day that it touches, at the time of the clock on the wall', () => {
    fc.assert(
      fc.property(weeks, ({ zone, days, entries }) => {
        const grid = gridOf({ zone, days, entries });
        for (const day of grid.days) {
          const shown = [...day.allDay, ...day.positioned, ...day.more].map(({ entry }) => entry.record);
          const touching = entries.filter(({ clinic }) => {
            if (clinic?.time.kind !== 'timed') return false;
            const { startAt, endAt } = clinic.time;
            return startAt < day.endAt && Math.max(endAt, startAt + 1) > day.startAt;
          });
          expect(shown.toSorted()).toEqual(touching.map(({ record }) => record).toSorted());
          for (const block of day.positioned) {
            expect(block.fromMinute).toBeGreaterThanOrEqual(grid.fromHour * 60);
            expect(block.toMinute).toBeLessThanOrEqual(grid.toHour * 60);
            expect(block.toMinute - block.fromMinute).toBeGreaterThanOrEqual(20);
            if (block.time.kind !== 'timed' || block.time.startAt < day.startAt) continue;
            const [hour = 0, minute = 0] = toZonedIso(zone, block.time.startAt).slice(11, 16).split(':').map(Number);
            expect(block.fromMinute).toBe(Math.min(Math.floor((hour * 60 + minute) / 5) * 5, 24 * 60 - 20));
          }
        }
      }),
    );
  });

  test('lets nothing overlap in a lane', () => {
    const overlaps = (one: PositionedBlock, other: PositionedBlock) =>
      one.lane === other.lane && one.fromMinute < other.toMinute && other.fromMinute < one.toMinute;
    fc.assert(
      fc.property(weeks, (week) => {
        for (const { positioned } of gridOf(week).days) {
          for (const [index, block] of positioned.entries()) {
            expect(block.lane).toBeLessThan(block.lanes);
            expect(positioned.slice(index + 1).filter((other) => overlaps(block, other))).toEqual([]);
          }
        }
      }),
    );
  });

  test('has a rule for every position of a block', () => {
    const places = weekStyles();
    fc.assert(
      fc.property(weeks, (week) => {
        const { days, fromHour } = gridOf(week);
        for (const { fromMinute, toMinute, lane, lanes, side } of days.flatMap(({ positioned }) => positioned)) {
          for (const name of [
            rowClass('from', fromMinute, fromHour),
            rowClass('to', toMinute, fromHour),
            laneClass(lane, lanes, side),
          ]) {
            expect(places).toContain(`.${name}{`);
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  test('draws an hour that comes twice once, and nothing in one that is skipped', () => {
    const back = gridOf({
      zone: 'Europe/Rome',
      days: weekOf('Europe/Rome', '2026-10-25', 0),
      // 02:30 in summer time until 02:10 in winter time, 40 minutes later.
      entries: [entryOf('1', timed(Date.UTC(2026, 9, 25, 0, 30), 40), null)],
    });
    expect(back.days[6]).toMatchObject({ hours: 25, positioned: [{ fromMinute: 150, toMinute: 190 }] });
    const on = gridOf({
      zone: 'Europe/Rome',
      days: weekOf('Europe/Rome', '2026-03-29', 0),
      entries: [entryOf('1', timed(Date.UTC(2026, 2, 29, 0, 30), 60), null)],
    });
    expect(on.days[6]).toMatchObject({ hours: 23, positioned: [{ fromMinute: 90, toMinute: 210 }] });
  });

  test('shows both sides as one at the same time, and separately otherwise; a whole day is in the row of whole days', () => {
    const days = weekOf('Europe/Rome', '2026-11-23', 0);
    const at = (day: number, hour: number) => (days[day]?.startAt ?? 0) + hour * HOUR_MS;
    const wholeDay = { kind: 'all-day', startDate: '2026-11-24', endDate: '2026-11-26' } as const;
    const { days: shown } = gridOf({
      zone: 'Europe/Rome',
      days,
      entries: [
        entryOf('same', timed(at(0, 9), 30), timed(at(0, 9), 30)),
        entryOf('moved', timed(at(0, 10), 30), timed(at(0, 11), 30)),
        entryOf('days', wholeDay, wholeDay),
      ],
    });
    expect(shown[0]?.positioned.map(({ entry, side, fromMinute }) => [entry.record, side, fromMinute])).toEqual([
      ['same', 'both', 540],
      ['moved', 'clinic', 600],
      ['moved', 'calendar', 660],
    ]);
    expect(shown.map(({ allDay }) => allDay.length)).toEqual([0, 1, 1, 0, 0, 0, 0]);
  });

  test('lists below the blocks that do not fit side by side', () => {
    const days = weekOf('Europe/Rome', '2026-11-23', 0);
    const time = timed((days[0]?.startAt ?? 0) + 9 * HOUR_MS, 60);
    const entries = Array.from({ length: 9 }, (_, index) => entryOf(String(index), time, time));
    const [monday] = gridOf({ zone: 'Europe/Rome', days, entries }).days;
    expect([monday?.positioned.length, monday?.more.length]).toEqual([6, 3]);
  });
});
