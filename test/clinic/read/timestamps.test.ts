import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTimestamp } from '../../../src/clinic/read/timestamps.ts';
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
