import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { createZone, type LocalTimeRules } from '../../../src/clinic/read/zone.ts';

const ZONES = ['Europe/Rome', 'America/New_York', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC'];
const zones = new Map(ZONES.map((name) => [name, createZone(name)]));

function zoneOf(name: string) {
  const zone = zones.get(name);
  if (zone === undefined) throw new Error(`no zone ${name}`);
  return zone;
}

function instantByTemporal(wallMs: number, name: string, disambiguation: 'earlier' | 'later' | 'reject') {
  const wall = Temporal.Instant.fromEpochMilliseconds(wallMs).toZonedDateTimeISO('UTC').toPlainDateTime();
  try {
    return wall.toZonedDateTime(name, { disambiguation }).epochMilliseconds;
  } catch {
    return null;
  }
}

const RULES: Record<'earlier' | 'later' | 'reject', LocalTimeRules> = {
  earlier: { gap: 'earlier', overlap: 'earlier' },
  later: { gap: 'later', overlap: 'later' },
  reject: { gap: 'set-aside', overlap: 'set-aside' },
};

const minutes = fc.integer({ min: Date.UTC(2001, 0) / 60_000, max: Date.UTC(2037, 0) / 60_000 });
/** Minutes near the clock changes of the European Union in 2026, where the rules differ. */
const nearChange = fc
  .tuple(fc.constantFrom(Date.UTC(2026, 2, 29, 2), Date.UTC(2026, 9, 25, 2)), fc.integer({ min: -180, max: 180 }))
  .map(([change, offset]) => change / 60_000 + offset);

describe('local time', () => {
  it('becomes the instant that Temporal finds, under each rule', () => {
    const anyRule = fc.constantFrom('earlier' as const, 'later' as const, 'reject' as const);
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.oneof(minutes, nearChange), anyRule, (name, minute, rule) => {
        const wallMs = minute * 60_000;
        expect(zoneOf(name).instantOf(wallMs, RULES[rule])).toBe(instantByTemporal(wallMs, name, rule));
      }),
      { numRuns: 3_000 },
    );
  });

  it('is what an instant shows there', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), minutes, (name, minute) => {
        const at = minute * 60_000;
        const offset = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(name).offsetNanoseconds / 1e6;
        expect(zoneOf(name).offsetAt(at)).toBe(offset);
      }),
    );
  });

  it('starts a day at its first instant, also where midnight is skipped', () => {
    const saoPaulo = zoneOf('America/Sao_Paulo');
    expect(new Date(saoPaulo.startOfDay(Date.UTC(2018, 10, 4))).toISOString()).toBe('2018-11-04T03:00:00.000Z');
    expect(new Date(zoneOf('Europe/Rome').startOfDay(Date.UTC(2026, 2, 29))).toISOString()).toBe(
      '2026-03-28T23:00:00.000Z',
    );
  });
});
