import { describe, expect, test } from 'vitest';
import { type BookedAppointment, compileBookings } from '../../../src/clinic/read/appointment-rows.ts';
import { DAY_MS, MINUTE_MS, overlaps } from '../../../src/core/model/time.ts';
import { probeAgendas, probeWindow, probeWindowManners, type WindowSeen } from '../../../src/setup/probe/windows.ts';
import { profileOf } from '../../clinic/open-client.ts';
import { type Answering, askerOf } from './asked-clinic.ts';

const NOW = Date.parse('2026-03-20T09:00:00Z');
const ROWS = [0, 1, 2].map((day) => ({
  ...{ id: `a${day}`, agendaId: `g${day % 2}`, status: 'Booked' },
  start: new Date(NOW + day * DAY_MS).toISOString(),
  end: new Date(NOW + day * DAY_MS + 30 * MINUTE_MS).toISOString(),
}));

const read = (rows: readonly unknown[]) => {
  const map = compileBookings(profileOf());
  return rows.flatMap((row) => {
    const mapped = map(row);
    return 'record' in mapped ? [mapped.record as BookedAppointment] : [];
  });
};

/** A list that needs a window by these names. @param isWithin which rows such a window holds */
function windowed(
  [from, to]: readonly [string, string],
  isWithin: (row: (typeof ROWS)[number], window: { fromAt: number; toAt: number }) => boolean,
): Answering {
  return (query) => {
    const window = { fromAt: Date.parse(query.get(from) ?? ''), toAt: Date.parse(query.get(to) ?? '') };
    if (Number.isNaN(window.fromAt) || Number.isNaN(window.toAt)) return { status: 400 };
    return { body: ROWS.filter((row) => isWithin(row, window)) };
  };
}

const isOverlap: Parameters<typeof windowed>[1] = ({ start, end }, window) =>
  overlaps({ startAt: Date.parse(start), endAt: Date.parse(end) }, window);
const isStart: Parameters<typeof windowed>[1] = ({ start }, { fromAt, toAt }) =>
  Date.parse(start) >= fromAt && Date.parse(start) < toAt;

describe('the parameters of a window', () => {
  const windowOf = (answer: Answering, filters = {}) => {
    const { asker, profile } = askerOf(answer, { appointments: { filters } });
    return probeWindow(asker, NOW, profile);
  };

  test.each([
    ['dal', 'al'],
    ['starts_after', 'starts_before'],
  ] as const)('%s and %s are found among the known ones', async (from, to) => {
    expect(await windowOf(windowed([from, to], isOverlap))).toMatchObject({ from, to });
  });

  test('that only the profile knows are found', async () => {
    const [from, to] = ['ab', 'bis'];
    expect(await windowOf(windowed([from, to], isOverlap))).toBe(null);
    expect(await windowOf(windowed([from, to], isOverlap), { from, to })).toMatchObject({ from, to });
  });

  test('that are ignored are no window: very old rows are returned too', async () => {
    expect(await windowOf(() => ({ body: ROWS }))).toBe(null);
  });

  test('take the form of times that the rows have, when they are numbers', async () => {
    const seconds = ROWS.map((row) => ({ ...row, start: Date.parse(row.start) / 1_000 }));
    const answer: Answering = (query) => {
      const from = query.get('from');
      if (from === null) return { body: seconds };
      if (!/^\d+$/.test(from)) return { status: 422 };
      return { body: seconds.filter(({ start }) => start >= Number(from) && start < Number(query.get('to'))) };
    };
    expect(await windowOf(answer)).toMatchObject({ from: 'from', to: 'to', format: 'epoch-seconds' });
  });
});

describe('the appointments that a window lists', () => {
  const mannersOf = (answer: Answering, format: WindowSeen['format'] = 'utc') => {
    const { asker, profile } = askerOf(answer);
    const seen = { from: 'from', to: 'to', format };
    return probeWindowManners(asker, profile, seen, { rows: read(ROWS), paging: [] });
  };
  const names = ['from', 'to'] as const;

  test.each([
    ['overlap', isOverlap],
    ['start', isStart],
    [null, () => false],
  ] as const)('are recognised by the middle of an appointment: %s', async (lists, isWithin) => {
    expect(await mannersOf(windowed(names, isWithin))).toMatchObject({ lists, toIncluded: null });
  });

  test('remain unknown with dates; the test is whether the end date is included', async () => {
    const byDay = (isIncluded: boolean) =>
      windowed(names, ({ start }, { fromAt, toAt }) => {
        const at = Date.parse(start);
        return at >= fromAt && at < toAt + (isIncluded ? DAY_MS : 0);
      });
    expect(await mannersOf(byDay(true), 'date')).toMatchObject({ lists: null, toIncluded: true });
    expect(await mannersOf(byDay(false), 'date')).toMatchObject({ lists: null, toIncluded: false });
  });

  test.each([
    [40, 30, true],
    [100, 92, true],
    [10_000, 366, false],
  ])('up to %d days is known as %d', async (mostDays, longestDays, isRefusedAbove) => {
    const answer: Answering = (query, path) => {
      const days = (Date.parse(query.get('to') ?? '') - Date.parse(query.get('from') ?? '')) / DAY_MS;
      return days > mostDays ? { status: 422 } : windowed(names, isOverlap)(query, path);
    };
    expect(await mannersOf(answer)).toMatchObject({ longestDays, isRefusedAbove });
  });
});

describe('the parameter for agendas', () => {
  const agendasOf = (wanted: (query: URLSearchParams) => readonly string[], own: string | null = null, rows = ROWS) => {
    const { asker } = askerOf((query) => {
      const agendas = wanted(query);
      return { body: ROWS.filter(({ agendaId }) => agendas.length === 0 || agendas.includes(agendaId)) };
    });
    return probeAgendas(asker, [], own, { rows: read(rows), read });
  };

  test.each([
    ['repeated', (query: URLSearchParams) => query.getAll('calendar_id')],
    ['comma', (query: URLSearchParams) => query.get('calendar_id')?.split(',') ?? []],
    [null, (query: URLSearchParams) => (query.get('calendar_id') === null ? [] : [query.get('calendar_id') ?? ''])],
  ] as const)('is the one with which no other agenda comes, and takes several: %s', async (several, wanted) => {
    expect(await agendasOf(wanted)).toEqual({ name: 'calendar_id', several });
  });

  test('may be one that only the profile knows', async () => {
    const wanted = (query: URLSearchParams) => query.getAll('kalender');
    expect(await agendasOf(wanted, 'kalender')).toEqual({ name: 'kalender', several: 'repeated' });
    expect(await agendasOf(wanted)).toBe(null);
  });

  test('cannot be recognised with the rows of one agenda', async () => {
    const wanted = (query: URLSearchParams) => query.getAll('calendar_id');
    expect(await agendasOf(wanted, null, ROWS.slice(0, 1))).toBe(null);
  });
});
