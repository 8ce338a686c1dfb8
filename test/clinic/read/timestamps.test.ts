import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import {
  createZone,
  formatInstant,
  type LocalTimeRules,
  parseTimestamp,
  timestampOf,
} from '../../../src/clinic/read/timestamps.ts';

const rome = createZone('Europe/Rome');
const RULES = { gap: 'later', overlap: 'earlier' } as const;

function read(text: string, rules: Parameters<typeof parseTimestamp>[2] = RULES): string | null {
  const timestamp = parseTimestamp(text, rome, rules);
  if (timestamp === null) return null;
  if (timestamp.kind === 'date') return new Date(timestamp.dateMs).toISOString().slice(0, 10);
  return new Date(timestamp.at).toISOString();
}

const iso = (at: Date) => at.toISOString().slice(0, 19);
const clock = (at: Date) => iso(at).slice(11);
const american = (at: Date) =>
  `${((at.getUTCHours() + 11) % 12) + 1}${clock(at).slice(2)} ${at.getUTCHours() < 12 ? 'AM' : 'p.m.'}`;
/** An instant as systems write it. */
const SPELLINGS: ((at: Date) => string)[] = [
  (at) => at.toISOString(),
  (at) => `${iso(at).toLowerCase()}z`,
  (at) => `${iso(at).replace('T', ' ')} UTC`,
  (at) => `${iso(at)}.${'0'.repeat(10)}Z`,
  (at) => `${iso(at)},000Z`,
  (at) => `${iso(at)}Z[Europe/Rome]`,
  (at) => `${iso(at)}+00:00[UTC]`,
  (at) => `${iso(at).replace(/[-:]/g, '')}Z`,
  (at) => `${iso(at).replaceAll('-', '/').replace('T', ' ')} GMT`,
  (at) => `${iso(at).replace('T0', 'T')}\u22120000`,
  (at) => `${iso(at).slice(0, 10)}, ${american(at)} UTC`,
  (at) => `/Date(${at.getTime()})/`,
  (at) => `/Date(${at.getTime()}-0530)/`,
  (at) => at.toUTCString(),
  (at) => `${iso(new Date(at.getTime() + 5.5 * 3_600_000))}+0530`,
  (at) => `${iso(new Date(at.getTime() + 3_600_000)).replace('T', ' ')} +1`,
  (at) => `${iso(new Date(at.getTime() - 3_600_000)).replace('T', ' ')} GMT-0100 (somewhere)`,
];

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
    ['2026-12-01T09:00:00+01:00[Europe/Rome]', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01T09:00:00[America/New_York]', '2026-12-01T14:00:00.000Z'],
    ['2026-12-01T08:00:00Z[Europe/Rome]', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01 09:00:00 Europe/Rome', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01T24:00:00', '2026-12-01T23:00:00.000Z'],
    ['2026-12-31T24:00Z', '2027-01-01T00:00:00.000Z'],
    ['20261201T090000Z', '2026-12-01T09:00:00.000Z'],
    ['20261201T0900+0100', '2026-12-01T08:00:00.000Z'],
    ['20261201090000', '2026-12-01T08:00:00.000Z'],
    ['20261201', '2026-12-01'],
    ['2026-12-01 08:00:00 UTC', '2026-12-01T08:00:00.000Z'],
    ['/Date(1796112000000+0100)/', '2026-12-01T08:00:00.000Z'],
    ['\\/Date(1796112000000)\\/', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01T9:00:00', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01t09:00:00z', '2026-12-01T09:00:00.000Z'],
    [' 2026-12-01T09:00:00+01:00 ', '2026-12-01T08:00:00.000Z'],
    ['\u00a02026-12-01\u202f09:00', '2026-12-01T08:00:00.000Z'],
    ['\ufeff2026-12-01T09:00:00\u200b', '2026-12-01T08:00:00.000Z'],
    ['2026-12-01T09:00:00.9999999999+01:00', '2026-12-01T08:00:00.999Z'],
    ['2026-12-01T09:00:00\u221201:00', '2026-12-01T10:00:00.000Z'],
    ['2026/12/1 9:00 PM', '2026-12-01T20:00:00.000Z'],
    ['2026-W49-2T09:00', '2026-12-01T08:00:00.000Z'],
    ['2026-W53-5', '2027-01-01'],
    ['2026-335', '2026-12-01'],
    ['25/12/2026 9:00', '2026-12-25T08:00:00.000Z'],
    ['12/25/2026 12:00:00 AM', '2026-12-24T23:00:00.000Z'],
    ['05/05/2026', '2026-05-05'],
    ['Tue, 01 Dec 2026 09:00:00 +0100', '2026-12-01T08:00:00.000Z'],
    ['Tue Dec 01 2026 09:00:00 GMT+0100 (Central European Standard Time)', '2026-12-01T08:00:00.000Z'],
    ['Dec 1, 2026, 9:00 AM', '2026-12-01T08:00:00.000Z'],
  ])('reads %s', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    '2026-02-30T10:00:00Z',
    '2026-02-29',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-01-10T24:00:01',
    '2026-01-10T25:00:00',
    '2026-01-10T10:60:00',
    '2026-01-10T10:00:60',
    '2026-01-10T10:00:00+25:00',
    '9999-01-10T10:00:00Z',
    '0001-01-01T00:00:00',
    '10/01/2026 10:00',
    '01/02/2026',
    '10.01.2026',
    '25/12/26',
    '2026-12',
    '2026-366',
    '2026-W60-1',
    '2025-W53-1',
    '2026-13-12T09:00',
    '2026/12-01',
    '2026-12-01T09:00:00Z+01:00',
    '2026-12-01T09:00:00 (UTC)',
    '2026-12-01 09:00:00 CST',
    '2026-12-01 13:00:00 PM',
    '2026-12-01T09:00:00+02:00[Europe/Rome]',
    '2026-12-01T09:00:00[Europe/Nowhere]',
    'Mon, 01 Dec 2026 09:00:00 +0100',
    '/Date(-62135596800000)/',
    '/Date(domani)/',
    '1796112000',
    '1796112000000',
    'domani',
    '',
  ])('refuses %s', (text) => {
    expect(read(text)).toBeNull();
  });

  it('refuses a skipped or repeated local time if the rules require it', () => {
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

  it('reads every instant exactly, in any unambiguous notation', () => {
    const instants = fc.integer({ min: Date.UTC(1971, 0) / 1000, max: Date.UTC(2198, 0) / 1000 });
    const spaces = fc.constantFrom('', ' ', '\u00a0', '\u200b', '\ufeff', '\t');
    fc.assert(
      fc.property(instants, fc.constantFrom(...SPELLINGS), spaces, spaces, (seconds, spell, before, behind) => {
        const text = `${before}${spell(new Date(seconds * 1000))}${behind}`;
        expect([text, parseTimestamp(text, rome, RULES)]).toEqual([text, { kind: 'instant', at: seconds * 1000 }]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads a day as itself or not at all, whatever the order of its numbers', () => {
    const days = fc.integer({ min: Date.UTC(1971, 0) / 86_400_000, max: Date.UTC(2198, 0) / 86_400_000 });
    fc.assert(
      fc.property(days, fc.constantFrom('/', '-', '.'), fc.boolean(), (day, separator, dayFirst) => {
        const dateMs = day * 86_400_000;
        const [year = '', month = '', date = ''] = new Date(dateMs).toISOString().slice(0, 10).split('-');
        const text = [...(dayFirst ? [date, month] : [month, date]), year].join(separator);
        const isClear = Number(date) > 12 || date === month;
        expect(parseTimestamp(text, rome, RULES)).toEqual(isClear ? { kind: 'date', dateMs } : null);
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
    ['text among numbers', '2026-03-29T09:00:00+02:00', 'ms', at],
    ['a day and a time of day', '2026-03-29 + 09:00', null, at],
    ['one with one digit', '2026-03-29 + 9:00', null, at],
    ['one with its own offset', '2026-03-29 + 03:00:00-04:00', null, at],
    ['one with a date that is not meant', '2026-03-29 + 0001-01-01T09:00:00', null, at],
    ['a day with a midnight', '2026-03-29T00:00:00 + 09:00', null, at],
    ['a day with the midnight of UTC', '2026-03-29T00:00:00Z + 09:00', null, at],
    ['a day with its local midnight in UTC', '2026-03-28T23:00:00Z + 09:00', null, at],
    ['a day as a number', `${Date.parse('2026-03-29') / 1000} + 09:00`, 'seconds', at],
    ['a day without a time', '2026-03-29 + ', null, '2026-03-29'],
    ['a time of day in the basic format', '2026-03-29 + 0900', null, at],
    ['a time of day among spaces', '2026-03-29 +  9:00\u00a0', null, at],
    ['the end of a day', '2026-03-28 + 24:00', null, Date.parse('2026-03-28T23:00:00Z')],
    ['a number whose digits are a day', 20_260_329, null, '2026-03-29'],
    ['a number whose digits are a time', 20_260_329_090_000, null, at],
    ['digits that are a day, where times are numbers', '20260329', 'seconds', '2026-03-29'],
    ['the same with an instant', '20260329090000', 'ms', at],
    ['the same with a day as a number and a time of day', '20260329 + 09:00', 'seconds', at],
  ] as const)('reads %s', (_what, value, unit, expected) => {
    expect(told(value, unit)).toBe(expected);
  });

  it('takes a date of birth in digits for what it is, and a number of seconds of that year too', () => {
    expect(told('19800301', 'seconds', rome, 1850)).toBe('1980-03-01');
    expect(told('19700101', 'seconds', rome, 1850)).toBe('1970-01-01');
    const midnight = Date.parse('1970-08-18T00:00:00Z');
    expect(told(midnight / 1000, 'seconds', rome, 1850)).toBe(midnight);
    expect(told(String(midnight), 'ms', rome, 1850)).toBe(midnight);
  });

  it('reads a midnight in UTC as the written date, even where the local date is the day before', () => {
    expect(told('2026-03-29T00:00:00Z + 09:00', null, newYork)).toBe(Date.parse('2026-03-29T13:00:00Z'));
  });

  it('reads an ambiguous range as a time with an offset if the zone has that offset then', () => {
    expect(told('2026-03-29 + 03:00-04:00', null, newYork)).toBe(at);
    expect(told('2026-03-29 + 03:00-05:00', null, newYork)).toBeNull();
  });

  it.each([
    ['a number without a unit', at, null],
    ['digits without a unit', String(at), null],
    ['seconds taken for milliseconds', at / 1000, 'ms'],
    ['milliseconds taken for seconds', at, 'seconds'],
    ['no number', Number.NaN, 'ms'],
    ['a time of day that is none', '2026-03-29 + noon', null],
    ['a day that is none', 'oggi + 09:00', null],
    ['a time behind the end of a day', '2026-03-29 + 24:01', null],
    ['a time of day that may be a range or an offset', '2026-03-29 + 09:00-10:00', null],
    ['a time of day that is an object', '2026-03-29 + ?', null],
    ['true', true, 'ms'],
  ] as const)('refuses %s', (_what, value, unit) => {
    expect(told(value, unit)).toBeNull();
  });

  it('reads a number of 1970, or earlier, only as a date of birth', () => {
    expect(told(86_400, 'seconds')).toBeNull();
    expect(told(86_400, 'seconds', rome, 1850)).toBe(86_400_000);
    expect(told(-86_400, 'seconds', rome, 1850)).toBe(-86_400_000);
  });

  it('is requested in whole seconds', () => {
    expect(formatInstant(at + 999, 'epoch-seconds', rome)).toBe(String(at / 1000));
  });
});

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

const RULES_BY_NAME: Record<'earlier' | 'later' | 'reject', LocalTimeRules> = {
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
        expect(zoneOf(name).instantOf(wallMs, RULES_BY_NAME[rule])).toBe(instantByTemporal(wallMs, name, rule));
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
