import { describe, expect, test } from 'vitest';
import { windowNameOf } from '../../src/profile-finder/names.ts';

describe('the name of a parameter', () => {
  test.each([
    ['starts_from', 'starts_to'],
    ['startsFrom', 'startsTo'],
    ['starting_after', 'starts_before'],
    ['start[gte]', 'start[lt]'],
    ['start_min', 'start_max'],
  ])('%s and %s ask for what starts in a window', (from, to) => {
    expect([windowNameOf(from), windowNameOf(to)]).toEqual([
      { end: 'from', isOfStart: true },
      { end: 'to', isOfStart: true },
    ]);
  });

  test.each([
    ['from', 'to'],
    ['dateFrom', 'date_to'],
    ['start_date', 'endDate'],
    ['startdate', 'enddate'],
    ['timeMin', 'timeMax'],
    ['ends_after', 'starts_before'],
    ['dal', 'al'],
    ['appointment_date_from', 'appointment_date_until'],
  ])('%s and %s ask for a window, by what is not told', (from, to) => {
    expect([windowNameOf(from)?.end, windowNameOf(to)?.end]).toEqual(['from', 'to']);
    expect(windowNameOf(from)?.isOfStart).toBe(false);
  });

  test.each([
    'created_from',
    'updatedAfter',
    'modified_to',
    'state',
    'stato',
    'location',
    'total',
    'patientId',
    'page',
    'q',
    '',
  ])('%s speaks of no window', (name) => expect(windowNameOf(name)).toBe(null));
});
