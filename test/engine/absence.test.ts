import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, type Instant } from '../../src/core/model/time.ts';
import { type Confirmation, evidenceOf, missesAfter, nothingMissing } from '../../src/engine/absence.ts';
import { NOW } from '../domain/arbitraries.ts';

interface Row {
  id: string;
}

function ids(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

function missedAt(instants: Record<string, Instant>): Map<string, Instant> {
  return new Map(Object.entries(instants));
}

describe('absent records of one target', () => {
  const learned: Confirmation<Row> = {
    ...nothingMissing<Row>(),
    vanished: new Set(['twice']),
    missedOnce: new Set(['once', 'sampled-once']),
    held: new Set(['kept']),
    sampled: new Set(['sampled-once', 'sampled-there', 'elsewhere']),
  };
  const missing = ['twice', 'once', 'sampled-once', 'sampled-there', 'kept', 'not-asked'];
  const evidence = (isWritten: (id: string) => boolean) => evidenceOf(learned, missing, isWritten);

  test('a record missed twice is proven gone; one miss is enough for a record never written', () => {
    const proven = (isWritten: boolean) => missing.filter((id) => evidence(() => isWritten).isProven(id));
    expect(proven(true)).toEqual(['twice']);
    expect(proven(false)).toEqual(['twice', 'once', 'sampled-once']);
  });

  test('a record that was not queried is unknown; a vanished or kept record is not', () => {
    expect(missing.filter((id) => evidence(() => true).isUnknown(id))).toEqual(['sampled-there', 'not-asked']);
  });

  test('its own share of the sample stands for the rest', () => {
    // One of two was gone: with three more or fewer anything is possible.
    expect(evidence(() => true).goneShare).toEqual({ atLeast: 0, atMost: 1 });
    const asked = ids('a', 40);
    const all = { ...learned, sampled: new Set([...asked, 'elsewhere']), missedOnce: new Set(asked.slice(0, 10)) };
    expect(evidenceOf(all, [...asked, 'not-asked'], () => true).goneShare).toEqual({
      atLeast: 7 / 40,
      atMost: 13 / 40,
    });
  });
});

describe('the misses stored for the next cycle', () => {
  const nextMisses = (known: Record<string, Instant>, found: Partial<Confirmation<Row>>, seen: string[] = []) =>
    missesAfter({ missedSince: missedAt(known), readAt: NOW }, { ...nothingMissing<Row>(), ...found }, (id) =>
      seen.includes(id),
    );

  test('are those of this cycle, from the time of its reading', () => {
    expect(nextMisses({}, { missedOnce: new Set(['1']) })).toEqual(missedAt({ 1: NOW }));
  });

  test('keep the time of the first scan that missed them', () => {
    const known = { 1: NOW - HOUR_MS, 2: NOW - HOUR_MS };
    expect(nextMisses(known, { missedOnce: new Set(['1']) })).toEqual(missedAt(known));
  });

  test('are removed by any evidence that the record exists', () => {
    const known = { listed: NOW - HOUR_MS, found: NOW - HOUR_MS, unusable: NOW - HOUR_MS, away: NOW - HOUR_MS };
    const there = { found: [{ id: 'found' }], unusable: new Set(['unusable']) };
    expect(nextMisses(known, there, ['listed'])).toEqual(missedAt({ away: NOW - HOUR_MS }));
  });

  test('are forgotten after a week: what is missed then is missed again', () => {
    const known = { old: NOW - 7 * DAY_MS, recent: NOW - 7 * DAY_MS + 1 };
    expect(nextMisses(known, {})).toEqual(missedAt({ recent: NOW - 7 * DAY_MS + 1 }));
    expect(nextMisses(known, { missedOnce: new Set(['old']) }).get('old')).toBe(NOW);
  });
});
