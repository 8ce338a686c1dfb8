import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  compileAppointmentRows,
  compileBookings,
  compileStatuses,
  compileTeleVisit,
  statusMeant,
} from '../../../src/clinic/read/appointment-rows.ts';
import { compilePatientRows } from '../../../src/clinic/read/catalogue-rows.ts';
import { committedProfile, profileOf, type WrittenProfile } from '../open-client.ts';
import { ROW, recordOf } from './documented-row.ts';

const documented = compileAppointmentRows(profileOf());

const VALUE = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom('2026-03-30', '2026-03-30T09:00:00Z', '2026-02-30', 'app-9', 7, '', null, true),
);
/** Rows with the usual fields, and anything in them. */
const ANY_ROW = fc.record(Object.fromEntries(Object.keys(ROW).map((name) => [name, VALUE])), { requiredKeys: [] });

describe('an appointment row', () => {
  it('becomes a record', () => {
    expect(documented(ROW)).toEqual({
      record: {
        id: 'app-1',
        agendaId: 'ag-1',
        locationId: 'loc-1',
        patientId: 'pat-1',
        patient: { id: 'pat-1', firstName: 'Anna', lastName: 'Bianchi' },
        treatmentId: 'tr-1',
        time: {
          kind: 'timed',
          startAt: Date.parse('2026-03-30T07:00:00Z'),
          endAt: Date.parse('2026-03-30T07:30:00Z'),
        },
        status: 'booked',
        rawStatus: 'Booked',
        updatedAt: Date.parse('2026-03-01T11:00:00Z'),
      },
    });
  });

  it('without a patient is blocked time, and without names has no patient', () => {
    expect(recordOf({ ...ROW, patientId: null, patient: null })).toMatchObject({ patientId: null, patient: null });
    expect(recordOf({ ...ROW, patient: undefined })).toMatchObject({ patientId: 'pat-1', patient: null });
  });

  it('takes the first path that holds a value', () => {
    const fields = { start: ['slot.from', 'start'] };
    const at = (row: object) => recordOf(row, { appointments: { fields } }).time.startAt;
    expect(at({ ...ROW, slot: { from: '2026-03-30T08:00:00+02:00' } })).toBe(Date.parse('2026-03-30T06:00:00Z'));
    expect(at({ ...ROW, slot: { from: null } })).toBe(Date.parse('2026-03-30T07:00:00Z'));
    expect(at({ ...ROW, slot: 'none' })).toBe(Date.parse('2026-03-30T07:00:00Z'));
    expect(at({ ...ROW, slot: { from: '' } })).toBe(Date.parse('2026-03-30T07:00:00Z'));
    expect(recordOf({ ...ROW, patientId: '' })).toMatchObject({ patientId: 'pat-1', patient: { lastName: 'Bianchi' } });
  });

  it('may have numbers for ids, but none that JSON has rounded', () => {
    expect(recordOf({ ...ROW, id: 17, agendaId: 4, patientId: 9 })).toMatchObject({ id: '17', agendaId: '4' });
    expect(documented({ ...ROW, agendaId: JSON.parse('12345678901234567890') })).toEqual({
      unusable: { recordId: 'app-1', code: 'wrong-type', field: 'agendaId' },
    });
  });

  it('without an end lasts as long as its duration says, in the unit of the profile', () => {
    const row = { ...ROW, end: undefined, durationMinutes: '45' };
    expect(recordOf(row).time.endAt).toBe(Date.parse('2026-03-30T07:45:00Z'));
    expect(recordOf(row, { appointments: { durationUnit: 'seconds' } }).time.endAt).toBe(
      Date.parse('2026-03-30T07:00:45Z'),
    );
  });

  it('may have numeric times; 0 means no time', () => {
    const seconds = (text: string) => Date.parse(text) / 1000;
    const row = { ...ROW, start: seconds('2026-03-30T07:00:00Z'), end: 0, durationMinutes: 45, updatedAt: 0 };
    const record = recordOf(row, { epochUnit: 'seconds' });
    expect(record).toMatchObject({ time: { endAt: Date.parse('2026-03-30T07:45:00Z') }, updatedAt: null });
    expect(documented(row)).toMatchObject({ unusable: { code: 'wrong-type', field: 'start' } });
    expect(compileAppointmentRows(profileOf({ epochUnit: 'ms' }))(row)).toMatchObject({
      unusable: { code: 'bad-time', field: 'start' },
    });
  });

  it('may have a date and times of day; without a time it is a whole day', () => {
    const { start: _, end: __, ...rest } = ROW;
    const apart = { appointments: { fields: { start: ['day + slot.from'], end: ['day + slot.to'] } } };
    const read = (more: object, written: WrittenProfile = apart) =>
      compileAppointmentRows(profileOf(written))({ ...rest, ...more });
    expect(read({ day: '2026-03-30', slot: { from: '09:00', to: '09:30' } })).toEqual(documented(ROW));
    expect(read({ day: '2026-03-30', slot: { from: null } })).toMatchObject({
      record: { time: { kind: 'all-day', startDate: '2026-03-30', endDate: '2026-03-31' } },
    });
    expect(read({ day: '2026-03-30', slot: { from: '09:00' }, durationMinutes: 30 })).toEqual(documented(ROW));
    for (const slot of [{ from: '22:00', to: '02:00' }, { from: '09:00' }, { from: { hour: 9 }, to: '10:00' }])
      expect(read({ day: '2026-03-30', slot })).toHaveProperty('unusable');
    expect(read({ slot: { from: '09:00', to: '09:30' } })).toMatchObject({ unusable: { code: 'missing-field' } });
  });

  it('in the hour of a clock change follows the profile, and is skipped if its end precedes its start', () => {
    const night = (start: string, end: string) => documented({ ...ROW, start, end });
    expect(night('2026-10-25T01:30', '2026-10-25T02:15')).toMatchObject({
      record: { time: { startAt: Date.parse('2026-10-24T23:30:00Z'), endAt: Date.parse('2026-10-25T00:15:00Z') } },
    });
    expect(night('2026-03-29T02:30', '2026-03-29T03:00')).toMatchObject({ unusable: { code: 'end-before-start' } });
  });

  it('may lack its change time or have one that is no time', () => {
    expect(recordOf({ ...ROW, updatedAt: undefined }).updatedAt).toBeNull();
    expect(recordOf({ ...ROW, updatedAt: 'ieri' }).updatedAt).toBeNull();
  });
});

describe('a whole-day row', () => {
  const day = { ...ROW, allDay: true };

  it.each([
    ['dates, end exclusive', { start: '2026-03-28', end: '2026-03-30' }, '2026-03-28', '2026-03-30'],
    ['one date twice', { start: '2026-03-28', end: '2026-03-28' }, '2026-03-28', '2026-03-29'],
    ['no end', { start: '2026-03-28', end: null }, '2026-03-28', '2026-03-29'],
    ['dates without the flag', { start: '2026-03-28', end: '2026-03-29', allDay: false }, '2026-03-28', '2026-03-29'],
    [
      'midnights in local time',
      { start: '2026-03-28T00:00:00+01:00', end: '2026-03-30T00:00:00+02:00' },
      '2026-03-28',
      '2026-03-30',
    ],
    ['midnights of UTC', { start: '2026-03-28T00:00:00Z', end: '2026-03-30T00:00:00Z' }, '2026-03-28', '2026-03-30'],
    ['an end within its day', { start: '2026-03-28T00:00', end: '2026-03-29T23:59' }, '2026-03-28', '2026-03-30'],
  ])('of %s', (_what, times, startDate, endDate) => {
    const midnights = [startDate, endDate].map((date) =>
      Date.parse(`${date}T00:00:00${date > '2026-03-29' ? '+02:00' : '+01:00'}`),
    );
    expect(recordOf({ ...day, ...times }).time).toEqual({
      kind: 'all-day',
      startDate,
      endDate,
      startAt: midnights[0],
      endAt: midnights[1],
    });
  });

  it('of dates whose last day is included', () => {
    const row = { ...day, start: '2026-03-28', end: '2026-03-29' };
    expect(recordOf(row, { appointments: { allDayEnd: 'inclusive' } }).time).toMatchObject({ endDate: '2026-03-30' });
  });
});

describe('a row that can not be used', () => {
  it.each([
    ['no object', 'app-1', null, 'wrong-type', 'row'],
    ['null', null, null, 'wrong-type', 'row'],
    ['no id', { ...ROW, id: undefined }, null, 'missing-id', 'id'],
    ['an empty id', { ...ROW, id: '' }, null, 'missing-id', 'id'],
    ['an object for an id', { ...ROW, id: { value: 1 } }, null, 'missing-id', 'id'],
    ['no agenda', { ...ROW, agendaId: null }, 'app-1', 'missing-field', 'agendaId'],
    ['a status that is a list', { ...ROW, status: ['Booked', 'Confirmed'] }, 'app-1', 'wrong-type', 'status'],
    ['no start', { ...ROW, start: undefined }, 'app-1', 'missing-field', 'start'],
    ['an impossible start', { ...ROW, start: '2026-02-30T09:00:00+01:00' }, 'app-1', 'bad-time', 'start'],
    ['a start that is a number', { ...ROW, start: 1774854000 }, 'app-1', 'wrong-type', 'start'],
    ['an impossible end', { ...ROW, end: '2026-03-30T25:00:00' }, 'app-1', 'bad-time', 'end'],
    ['a date for the end of a time', { ...ROW, end: '2026-03-31' }, 'app-1', 'bad-time', 'end'],
    ['no end and no duration', { ...ROW, end: null }, 'app-1', 'missing-field', 'end'],
    ['empty texts for both', { ...ROW, end: '', durationMinutes: '' }, 'app-1', 'missing-field', 'end'],
    ['an end before its start', { ...ROW, end: '2026-03-30T08:59:00+02:00' }, 'app-1', 'end-before-start', 'end'],
    [
      'dates the wrong way round',
      { ...ROW, start: '2026-03-30', end: '2026-03-28' },
      'app-1',
      'end-before-start',
      'end',
    ],
    ['years of duration', { ...ROW, end: '2028-03-30T09:00:00+02:00' }, 'app-1', 'absurd-duration', 'end'],
  ])('has %s', (_what, row, recordId, code, field) => {
    expect(documented(row)).toMatchObject({ unusable: { recordId, code, field } });
  });

  it('is reported by id, code and field, never by a value', () => {
    const codes = [
      'tombstone',
      'missing-id',
      'missing-field',
      'wrong-type',
      'bad-time',
      'end-before-start',
      'absurd-duration',
    ];
    const fields = ['row', ...Object.keys(profileOf().appointments.fields)];
    fc.assert(
      fc.property(fc.oneof(ANY_ROW, fc.jsonValue()), (json) => {
        const mapped = documented(json);
        if ('record' in mapped) {
          expect(mapped.record.time.endAt).toBeGreaterThanOrEqual(mapped.record.time.startAt);
          expect(mapped.record.id).not.toBe('');
          return;
        }
        expect(codes).toContain(mapped.unusable.code);
        expect(fields).toContain(mapped.unusable.field);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the same row, read completely for an operator', () => {
  const whole = compileBookings(profileOf());
  const one = (changes: object) => [documented({ ...ROW, ...changes }), whole({ ...ROW, ...changes })] as const;

  it('says the same in each field that both have, whatever it holds', () => {
    const mostlyUsable = ANY_ROW.map((changes) => ({
      ...ROW,
      ...Object.fromEntries(Object.entries(changes).slice(0, 2)),
    }));
    let compared = 0;
    fc.assert(
      fc.property(mostlyUsable, (row) => {
        const [kept, shown] = [documented(row), whole(row)];
        if ('unusable' in shown) {
          expect('unusable' in kept || shown.unusable.field === 'updatedAt').toBe(true);
          return;
        }
        if ('unusable' in kept) {
          expect(['start', 'end']).toContain(kept.unusable.field);
          return;
        }
        const { time, patient, rawStatus, updatedAt, agendaIds, cut, ...shared } = kept.record;
        expect(shown.record).toMatchObject({ ...shared, statusWord: rawStatus });
        if (time.kind === 'timed') expect(shown.record).toMatchObject({ start: time.startAt });
        if (patient !== null) expect(shown.record).toMatchObject({ patientFirstName: patient.firstName });
        compared += 1;
      }),
      { numRuns: 1_000 },
    );
    expect(compared).toBeGreaterThan(100);
  });

  it('has no value where it contains an empty string', () => {
    for (const mapped of one({ locationId: '', patientId: '', patient: null, treatmentId: '', status: '' })) {
      expect(mapped).toMatchObject({
        record: { locationId: null, patientId: null, treatmentId: null, status: 'unknown' },
      });
    }
  });

  it('may have a numeric status, which the profile maps to a known status', () => {
    for (const mapped of one({ status: 3 })) expect(mapped).toMatchObject({ record: { status: 'unknown' } });
    expect(recordOf({ ...ROW, status: 3 }, { appointments: { statuses: { 3: 'arrived' } } })).toMatchObject({
      status: 'arrived',
      rawStatus: '3',
    });
  });

  it('stays usable for readers that do not use the faulty field', () => {
    const [kept, shown] = one({ isPaid: 'perhaps', durationMinutes: 'long' });
    expect(kept).toMatchObject({ record: { id: 'app-1' } });
    expect(shown).toMatchObject({ unusable: { recordId: 'app-1', code: 'wrong-type', field: 'duration' } });
  });
});

describe('a status', () => {
  it.each([
    ['CheckedIn', 'arrived'],
    ['checked_in', 'arrived'],
    ['NO-SHOW', 'no_show'],
    ['canceled', 'cancelled'],
    ['In Progress', 'in_progress'],
    ['Rescheduled', 'unknown'],
  ])('%s is %s', (raw, status) => {
    expect(recordOf({ ...ROW, status: raw })).toMatchObject({ status, rawStatus: raw });
  });

  it('that is not told is what the profile says', () => {
    expect(recordOf({ ...ROW, status: null })).toMatchObject({ status: 'unknown', rawStatus: null });
    expect(recordOf({ ...ROW, status: null }, { appointments: { statusMissing: 'booked' } }).status).toBe('booked');
  });

  it('is overridden by the flags of the profile, in order and only over the statuses named', () => {
    const map = compileAppointmentRows(committedProfile('pages'));
    const statusOf = (more: object) => {
      const row = { id: 1, agenda_id: 2, starts_at: '2026-03-30T09:00', ends_at: '2026-03-30T10:00', ...more };
      const mapped = map(row);
      return 'record' in mapped ? mapped.record.status : mapped.unusable;
    };
    expect(statusOf({ status: 'booked', confirmed: true })).toBe('confirmed');
    expect(statusOf({ status: 'done', confirmed: true })).toBe('completed');
    expect(statusOf({ confirmed: true, arrived_at: '2026-03-30T08:55' })).toBe('arrived');
    expect(statusOf({ status: 'booked', arrived_at: '', cancelled_at: null })).toBe('booked');
    expect(statusOf({ status: 'waiting', cancelled_at: '2026-03-29T08:55' })).toBe('cancelled');
  });
});

const ROSSI = { id: 'p1', firstName: 'Niccolò', lastName: 'De Rossi' };
const read = compileTeleVisit(['video.url', 'videoUrl']);
const of = (url: unknown) => read({ videoUrl: url }, ROSSI);

describe('the URL of a video visit', () => {
  test('comes from the first path that has a value', () => {
    expect(read({ video: { url: ' https://visit.example/r/7?k=x#room ' } }, ROSSI)).toBe(
      'https://visit.example/r/7?k=x#room',
    );
    expect(read({ video: null, videoUrl: 'https://visit.example/r/7' }, null)).toBe('https://visit.example/r/7');
  });

  test('is absent if the row or the profile has none', () => {
    for (const nothing of [undefined, null, '', 7, { url: 'https://visit.example' }]) expect(of(nothing)).toBeNull();
    expect(compileTeleVisit([])({ videoUrl: 'https://visit.example/r/7' }, ROSSI)).toBeNull();
  });

  test.each([
    'http://visit.example/r/7',
    'javascript:alert(1)',
    'visit.example/r/7',
    'https://doctor:secret@visit.example/r/7',
    `https://visit.example/${'x'.repeat(500)}`,
  ])('is ignored if it is no plain https URL: %s', (url) => {
    expect(of(url)).toBeNull();
  });

  test.each([
    'https://visit.example/de-rossi?name=Niccol%C3%B2',
    'https://visit.example/r/7?name=NICCOLO',
    'https://visit.example/r/7?name=De+Rossi',
    'https://visit.example/r/7?mail=n%40example.org',
    'https://visit.example/r/7#de%20rossi',
  ])('is not taken where it names the patient: %s', (url) => {
    expect(of(url)).toBeNull();
  });

  test('is accepted if it contains a short name by chance', () => {
    const patient = { id: 'p2', firstName: 'Jo', lastName: null };
    expect(read({ videoUrl: 'https://visit.example/join/7' }, patient)).toBe('https://visit.example/join/7');
  });
});

type Written = NonNullable<WrittenProfile['appointments']>;

function statusOf(written: Written, raw: string | null, row: Record<string, unknown> = {}) {
  return compileStatuses(profileOf({ appointments: written }).appointments)(raw, row);
}

describe('the status of a row', () => {
  test('matches words in any spelling', () => {
    for (const word of ['NO SHOW', 'no-show', 'noshow', 'No_Show']) expect(statusOf({}, word)).toBe('no_show');
  });

  test('matches a number including its sign', () => {
    const statuses = { 1: 'booked', '-1': 'cancelled' } as const;
    expect(['1', '-1', '-2'].map((raw) => statusOf({ statuses }, raw))).toEqual(['booked', 'cancelled', 'unknown']);
    expect(statusOf({ statuses: { 1: 'booked' } }, '-1')).toBe('unknown');
  });

  test('matches signs and letters, in exact case if both cases are mapped', () => {
    const statuses = { '-': 'booked', '@': 'arrived', C: 'confirmed', c: 'cancelled', x: 'no_show' } as const;
    expect(['-', '@', 'C', 'c', 'X', '_'].map((raw) => statusOf({ statuses }, raw))).toEqual([
      'booked',
      'arrived',
      'confirmed',
      'cancelled',
      'no_show',
      'unknown',
    ]);
  });

  test.each([
    ['any value', 'present', ['x', 1, true, '0000-00-00'], [null, false, 'false', 0, '0', '', undefined]],
    ['one value', 1, [1], [true, '1', 2, null]],
    ['some values', ['present', 'late', 1], ['present', 'late', 1], ['absent', true, '1', null]],
    ['yes', true, [true, 1, '1', 'True', 'sì'], [false, 0, 'no', 'x', 2, null]],
    ['no', [false], [false, 0, '0', 'N'], [true, 1, '', 'x', null]],
  ] as const)('matches a flag that %s raises', (_what, when, raising, others) => {
    const flags = [{ path: 'seen.at', when: typeof when === 'object' ? [...when] : when, status: 'arrived' as const }];
    const read = (at: unknown) => statusOf({ flags }, 'Booked', { seen: { at } });
    expect(raising.map(read)).toEqual(raising.map(() => 'arrived'));
    expect(others.map(read)).toEqual(others.map(() => 'booked'));
  });
});

test('a requested status is written as the exact clinic word, before an alternative spelling', () => {
  const { appointments } = profileOf({ appointments: { statuses: { C: 'confirmed', c: 'cancelled' } } });
  expect(statusMeant('c', appointments)).toEqual({ status: 'cancelled', word: 'c', isTheirs: true });
  expect(statusMeant('C', appointments)).toEqual({ status: 'confirmed', word: 'C', isTheirs: true });
});

const STONE = { recordId: '17', code: 'tombstone', field: 'status', isTombstone: true };
const readDocumented = compileAppointmentRows(profileOf());

test('the content of a record with a deletion flag stays readable, but is no part of the tombstone', () => {
  const mapped = readDocumented({ ...ROW, deleted: true });
  if (!('unusable' in mapped)) throw new Error('the row is no tombstone');
  expect(JSON.stringify(mapped.unusable)).not.toContain('pat-1');
  expect(mapped.deleted).toMatchObject({ patientId: 'pat-1' });
});

describe('a row that says no more than that its record is off', () => {
  test.each([
    ['a deletion flag and an id', { id: '17', deleted: true, modified: '2026-03-01T08:00:00Z' }],
    ['another usual name of the flag', { id: 17, isDeleted: true }],
    ['a deletion flag that is a number', { id: 17, deleted: 1 }],
    ['a deletion flag that is a string', { id: 17, deleted: 'True' }],
    ['a cancelled status without a time', { id: '17', agendaId: 'a1', status: 'Cancelled' }],
    [
      'a cancelled status and a time that cannot be read',
      { id: '17', agendaId: 'a1', start: 'soon', status: 'Cancelled' },
    ],
  ])('is a tombstone: %s', (_, row) => {
    expect(readDocumented(row)).toEqual({ unusable: expect.objectContaining(STONE) });
  });

  test('is known by a flag of the profile', () => {
    const written = {
      appointments: { flags: [{ path: 'voidedAt', when: 'present' as const, status: 'cancelled' as const }] },
    };
    expect(compileAppointmentRows(profileOf(written))({ id: '17', voidedAt: '2026-03-01' })).toMatchObject({
      unusable: STONE,
    });
    const named = { appointments: { deletedFlags: [{ path: 'meta.state', when: ['X', 'Z'] }] } };
    expect(compileAppointmentRows(profileOf(named))({ id: '17', meta: { state: 'Z' } })).toMatchObject({
      unusable: STONE,
    });
  });

  test('of a patient blanks nothing: it is no patient without a name', () => {
    expect(compilePatientRows(profileOf())({ id: '17', deleted: true })).toMatchObject({ unusable: STONE });
  });

  test('needs an id, and is no tombstone without a value that marks the deletion', () => {
    expect(readDocumented({ deleted: true })).toMatchObject({ unusable: { code: 'missing-id' } });
    expect(readDocumented({ id: '17', deleted: false })).toMatchObject({ unusable: { code: 'missing-field' } });
    expect(readDocumented({ id: '17', agendaId: 'a1', status: 'Booked' })).toMatchObject({
      unusable: { code: 'missing-field' },
    });
  });

  test('whatever else it holds', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (more) => {
        expect(readDocumented({ ...more, id: '17', deleted: true })).toMatchObject({ unusable: STONE });
      }),
    );
  });
});

describe('a date with the year last', () => {
  const START = { ...ROW, start: '03/12/2026 09:00', end: '03/12/2026 09:30' };
  const startOf = (row: object, written: WrittenProfile = {}) => {
    const mapped = compileAppointmentRows(profileOf(written))(row);
    return 'record' in mapped ? new Date(mapped.record.time.startAt).toISOString() : mapped.unusable.code;
  };

  it('is read in the order of the profile, and never without one', () => {
    expect(startOf(START)).toBe('ambiguous-date');
    expect(startOf(START, { dateOrder: 'day-first' })).toBe('2026-12-03T08:00:00.000Z');
    expect(startOf(START, { dateOrder: 'month-first' })).toBe('2026-03-12T08:00:00.000Z');
    const clear = { start: '13/12/2026 09:00', end: '13/12/2026 09:30' };
    expect(startOf({ ...ROW, ...clear })).toBe('2026-12-13T08:00:00.000Z');
    expect(startOf({ ...ROW, ...clear }, { dateOrder: 'month-first' })).toBe('bad-time');
    expect(startOf({ ...ROW, start: '31/02/2026 09:00' })).toBe('bad-time');
    const fields = { start: ['day + begin'], end: ['day + until'] };
    const apart = { ...ROW, day: '3.12.2026', begin: '09:00', until: '09:30' };
    expect(startOf(apart, { appointments: { fields } })).toBe('ambiguous-date');
    expect(startOf(apart, { appointments: { fields }, dateOrder: 'day-first' })).toBe('2026-12-03T08:00:00.000Z');
  });

  it('means the same as the form with the year first, for every day and separator', () => {
    const day = fc.date({ min: new Date('2001-01-01'), max: new Date('2090-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(day, fc.constantFrom('/', '-', '.'), fc.boolean(), (date, separator, isDayFirst) => {
        const [year = '', month = '', dayOfMonth = ''] = date.toISOString().slice(0, 10).split('-');
        const text = (isDayFirst ? [dayOfMonth, month, year] : [month, dayOfMonth, year]).join(separator);
        const dateOrder = isDayFirst ? 'day-first' : 'month-first';
        const written = startOf({ ...ROW, start: `${text} 12:00`, end: `${text} 12:30` }, { dateOrder });
        const iso = `${year}-${month}-${dayOfMonth}`;
        expect(written).toBe(startOf({ ...ROW, start: `${iso}T12:00`, end: `${iso}T12:30` }));
      }),
    );
  });
});
