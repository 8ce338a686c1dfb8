import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { profileOf } from '../open-client.ts';
import { ROW } from './documented-row.ts';

const documented = compileAppointmentRows(profileOf());

describe('a record whose start is stated as empty', () => {
  const EMPTY = [
    null,
    '',
    ' ',
    '0000-00-00',
    '0000-00-00 00:00:00',
    '0000-00-00T00:00:00.000Z',
    '0001-01-01T00:00:00',
    '0001-01-01T00:00:00.0000000+01:00',
    '00/00/0000',
    '01/01/0001 00:00:00',
    '1899-12-30T00:00:00',
    '1900-01-01',
    '/Date(-62135596800000)/',
  ];

  it.each(EMPTY)('is not scheduled, and so removed like a cancelled one: %j', (start) => {
    const waiting = { ...ROW, start, end: null, status: 'Booked' };
    const tombstone = { recordId: 'app-1', code: 'tombstone', field: 'start', isTombstone: true };
    expect(documented(waiting)).toMatchObject({ unusable: tombstone });
    expect(documented({ ...waiting, agendaId: null })).toMatchObject({ unusable: tombstone });
    const off = compileAppointmentRows(profileOf({ appointments: { emptyStartMeansUnscheduled: false } }));
    expect(off(waiting)).not.toMatchObject({ unusable: { isTombstone: true } });
  });

  it('by a date apart from its time', () => {
    const fields = { start: ['day + begin'], end: ['day + until'] };
    const map = compileAppointmentRows(profileOf({ appointments: { fields } }));
    for (const day of EMPTY) {
      expect(map({ ...ROW, day, begin: '09:00', until: '09:30' })).toMatchObject({ unusable: { isTombstone: true } });
    }
  });

  it('or absent, if a flag says that the record may have no time', () => {
    const unscheduledFlags = [{ path: 'status', when: ['Waitlist'] }];
    const map = compileAppointmentRows(profileOf({ appointments: { unscheduledFlags } }));
    const { start: _start, end: _end, ...untimed } = ROW;
    expect(map({ ...untimed, status: 'Waitlist' })).toMatchObject({
      unusable: { recordId: 'app-1', field: 'start', isTombstone: true },
    });
    expect(map({ ...untimed, status: 'Booked' })).toMatchObject({ unusable: { code: 'missing-field' } });
    expect(map({ ...ROW, status: 'Waitlist' })).toHaveProperty('record');
    expect(map({ ...ROW, start: 'soon', status: 'Waitlist' })).toMatchObject({ unusable: { code: 'bad-time' } });
  });

  it('is no statement without the field, with another date, or without an id', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1990-01-01'), max: new Date('2150-01-01'), noInvalidDate: true }),
        (date) => {
          const row = { ...ROW, start: date.toISOString(), end: null };
          expect(documented(row)).toMatchObject({ unusable: { code: 'missing-field', field: 'end' } });
        },
      ),
    );
    const others = [undefined, 'soon', 7, {}, '2026-02-30', '1754-01-01'];
    for (const start of others)
      expect(documented({ ...ROW, start })).not.toMatchObject({ unusable: { code: 'tombstone' } });
    expect(documented({ ...ROW, id: null, start: null })).toMatchObject({ unusable: { code: 'missing-id' } });
  });
});
