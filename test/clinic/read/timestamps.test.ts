import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatInstant, parseTimestamp, timestampOf } from '../../../src/clinic/read/timestamps.ts';
import { createZone } from '../../../src/clinic/read/zone.ts';

const rome = createZone('Europe/Rome');
const RULES = { gap: 'later', overlap: 'earlier' } as const;

function read(text: string, rules: Parameters<typeof parseTimestamp>[2] = RULES): string | null {
  const timestamp = parseTimestamp(text, rome, rules);
  if (timestamp === null) return null;
  if (timestamp.kind === 'date') return new Date(timestamp.dateMs).toISOString().slice(0, 10);
  return new Date(timestamp.at).toISOString();
}

describe('parseTimestamp', () => {
  it.each([
    ['2026-03-29T09:00:00+02:00', '2026-03-29T07:00:00.000Z'],
    ['2026-03-29T09:00:00+0200', '2026-03-29T07:00:00.000Z'],
    ['2026-03-29T09:00-05', '2026-03-29T14:00:00.000Z'],
    ['2026-03-29 09:00:00.1239Z', '2026-03-29T09:00:00.123Z'],
    ['2026-01-10T09:00:00', '2026-01-10T08:00:00.000Z'],
    ['2026-07-10 09:00', '2026-07-10T07:00:00.000Z'],
    ['2026-03-29T02:30:00', '2026-03-29T01:30:00.000Z'],
    ['2026-10-25T02:30:00', '2026-10-25T00:30:00.000Z'],
    ['2028-02-29', '2028-02-29'],
  ])('reads %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    '2026-02-30T10:00:00Z',
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-01-10T24:00:00',
    '2026-01-10T10:60:00',
    '2026-01-10T10:00:60',
    '2026-01-10T10:00:00+25:00',
    '9999-01-10T10:00:00Z',
    '0001-01-01T00:00:00',
    '10/01/2026 10:00',
    '2026-01-10T10:00:00+02:00 ',
    'domani',
    '',
  ])('refuses %s', (text) => {
    expect(read(text)).toBeNull();
  });

  it('sets a skipped or repeated local time aside when the rules say so', () => {
    const rules = { gap: 'set-aside', overlap: 'set-aside' } as const;
    expect(read('2026-03-29T02:30:00', rules)).toBeNull();
    expect(read('2026-10-25T02:30:00', rules)).toBeNull();
    expect(read('2026-10-25T02:30:00+01:00', rules)).toBe('2026-10-25T01:30:00.000Z');
  });

  it('reads back every instant, however its offset is written', () => {
    const instants = fc.integer({ min: Date.UTC(1971, 0), max: Date.UTC(2198, 0) });
    fc.assert(
      fc.property(instants, fc.integer({ min: -14 * 60, max: 14 * 60 }), (at, offsetMinutes) => {
        const local = new Date(at + offsetMinutes * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(offsetMinutes);
        const pad = (value: number) => String(value).padStart(2, '0');
        const text = `${local}${offsetMinutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
        expect(parseTimestamp(text, rome, RULES)).toEqual({ kind: 'instant', at });
      }),
    );
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string(), (text) => void parseTimestamp(text, rome, RULES)));
  });
});

describe('timestampOf', () => {
  const newYork = createZone('America/New_York');
  const told = (value: unknown, epochUnit: 'seconds' | 'ms' | null = null, zone = rome, firstYear?: number) => {
    const timestamp = timestampOf(value, { zone, localTimes: RULES, epochUnit }, firstYear);
    if (timestamp === null) return null;
    return timestamp.kind === 'date' ? new Date(timestamp.dateMs).toISOString().slice(0, 10) : timestamp.at;
  };
  const at = Date.parse('2026-03-29T07:00:00Z');

  it.each([
    ['a number of seconds', at / 1000, 'seconds', at],
    ['a fraction of one', at / 1000 + 0.5, 'seconds', at + 500],
    ['a number of milliseconds', at, 'ms', at],
    ['its digits', String(at), 'ms', at],
    ['text beside numbers', '2026-03-29T09:00:00+02:00', 'ms', at],
    ['a day and a time of day', '2026-03-29 + 09:00', null, at],
    ['one with one digit', '2026-03-29 + 9:00', null, at],
    ['one with its own offset', '2026-03-29 + 03:00:00-04:00', null, at],
    ['one with a date that is not meant', '2026-03-29 + 0001-01-01T09:00:00', null, at],
    ['a day with a midnight', '2026-03-29T00:00:00 + 09:00', null, at],
    ['a day with the midnight of UTC', '2026-03-29T00:00:00Z + 09:00', null, at],
    ['a day whose local midnight is told in UTC', '2026-03-28T23:00:00Z + 09:00', null, at],
    ['a day as a number', `${Date.parse('2026-03-29') / 1000} + 09:00`, 'seconds', at],
    ['a day without a time', '2026-03-29 + ', null, '2026-03-29'],
  ] as const)('reads %s', (_what, value, unit, expected) => {
    expect(told(value, unit)).toBe(expected);
  });

  it('takes the midnight of UTC for the date that it is written with, also where it is still the evening before', () => {
    expect(told('2026-03-29T00:00:00Z + 09:00', null, newYork)).toBe(Date.parse('2026-03-29T13:00:00Z'));
  });

  it.each([
    ['a number where there are none', at, null],
    ['digits where there are none', String(at), null],
    ['seconds taken for milliseconds', at / 1000, 'ms'],
    ['milliseconds taken for seconds', at, 'seconds'],
    ['no number', Number.NaN, 'ms'],
    ['a time of day that is none', '2026-03-29 + noon', null],
    ['a day that is none', 'oggi + 09:00', null],
    ['the end of a day', '2026-03-29 + 24:00', null],
    ['a time of day that is an object', '2026-03-29 + ?', null],
    ['true', true, 'ms'],
  ] as const)('refuses %s', (_what, value, unit) => {
    expect(told(value, unit)).toBeNull();
  });

  it('takes a number of 1970, and before, for a date of birth alone', () => {
    expect(told(86_400, 'seconds')).toBeNull();
    expect(told(86_400, 'seconds', rome, 1850)).toBe(86_400_000);
    expect(told(-86_400, 'seconds', rome, 1850)).toBe(-86_400_000);
  });

  it('is what is asked for in whole seconds', () => {
    expect(formatInstant(at + 999, 'epoch-seconds', rome)).toBe(String(at / 1000));
  });
});
