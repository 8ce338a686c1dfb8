import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, toZonedIso } from '../../../src/core/model/time.ts';
import { weekOf } from '../../../src/operator/control/week.ts';

/** Zones whose clocks change at night, at midnight, by half an hour, and never. */
const ZONES = ['Europe/Rome', 'America/Sao_Paulo', 'Africa/Cairo', 'Australia/Lord_Howe', 'Asia/Kolkata', 'UTC'];

const zones = fc.constantFrom(...ZONES);

const dates = fc.nat(366 * 20).map((day) => new Date(Date.UTC(2015, 0, 1) + day * DAY_MS).toISOString().slice(0, 10));

describe('a week', () => {
  test('has seven consecutive days from Monday on, of whole hours despite clock changes', () => {
    fc.assert(
      fc.property(zones, dates, (zone, date) => {
        const days = weekOf(zone, date, 0);
        expect(days).toHaveLength(7);
        expect(new Date(`${days[0]?.date}T00:00Z`).getUTCDay()).toBe(1);
        expect(days.map((day) => day.date)).toContain(date);
        for (const [index, day] of days.entries()) {
          if (index > 0) expect(day.startAt).toBe(days[index - 1]?.endAt);
          expect([22.5, 23, 23.5, 24, 24.5, 25]).toContain((day.endAt - day.startAt) / HOUR_MS);
          expect(toZonedIso(zone, day.startAt).slice(0, 10)).toBe(day.date);
          expect(toZonedIso(zone, day.startAt - 1_000).slice(0, 10)).not.toBe(day.date);
        }
      }),
    );
  });

  test('is the current week if no date is given', () => {
    const now = Date.UTC(2026, 10, 22, 23, 30);
    // In Rome it is Monday already.
    expect(weekOf('Europe/Rome', null, now)[0]?.date).toBe('2026-11-23');
    expect(weekOf('UTC', 'yesterday', now)[0]?.date).toBe('2026-11-16');
  });
});
