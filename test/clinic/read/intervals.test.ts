import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import { profileOf } from '../open-client.ts';
import { ROW, recordOf } from './documented-row.ts';

const documented = compileAppointmentRows(profileOf());

describe('an interval in one text', () => {
  it('is read as its start and end', () => {
    const plain = recordOf({ ...ROW, start: '2026-12-03T09:00', end: '2026-12-03T09:30' }).time;
    fc.assert(
      fc.property(
        fc.constantFrom(
          '2026-12-03T09:00',
          '2026-12-03 09:00:00',
          '2026-12-03T09:00+01:00',
          '2026-12-03T09:00[Europe/Rome]',
        ),
        fc.constantFrom(
          'PT30M',
          'PT0.5H',
          '2026-12-03T09:30',
          '2026-12-03T08:30Z',
          '09:30',
          '2026-12-03T09:30[Europe/Rome]',
        ),
        (start, end) => {
          expect(recordOf({ ...ROW, start: `${start}/${end}`, end: undefined }).time).toEqual(plain);
        },
      ),
    );
    const days = recordOf({ ...ROW, start: '2026-12-03/2026-12-05', end: null }).time;
    expect(days).toMatchObject({ kind: 'all-day', startDate: '2026-12-03', endDate: '2026-12-05' });
  });

  it.each([
    '2026-12-03T09:00/',
    '2026-12-03T09:00/PT',
    '2026-12-03T09:00/soon',
    '/PT30M',
    '2026-12-03T09:00/2026-12-03T08:00',
  ])('is unusable without two readable parts: %s', (start) =>
    expect(documented({ ...ROW, start, end: null })).toHaveProperty('unusable.recordId', 'app-1'),
  );
});
