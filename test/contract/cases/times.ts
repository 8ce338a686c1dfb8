import { expect } from 'vitest';
import type { ItemTime } from '../../../src/core/model/items.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { allDay, type CalendarKit, createOperation, describeOutcome, itemWith, timed } from '../contract-kit.ts';

const TIMES: Readonly<Record<string, ItemTime>> = {
  'across the gap when summer time begins': timed(
    '2027-03-28T01:30:00+01:00',
    '2027-03-28T03:30:00+02:00',
    'Europe/Rome',
  ),
  'at the first 02:30 when summer time ends': timed(
    '2027-10-31T02:30:00+02:00',
    '2027-10-31T02:45:00+02:00',
    'Europe/Rome',
  ),
  'at the second 02:30 when summer time ends': timed(
    '2027-10-31T02:30:00+01:00',
    '2027-10-31T02:45:00+01:00',
    'Europe/Rome',
  ),
  'from the first 02:30 to the second': timed('2027-10-31T02:30:00+02:00', '2027-10-31T02:30:00+01:00', 'Europe/Rome'),
  'across midnight': timed('2027-06-30T23:30:00+02:00', '2027-07-01T00:15:00+02:00', 'Europe/Rome'),
  'on a leap day': timed('2028-02-29T09:00:00+01:00', '2028-02-29T09:30:00+01:00', 'Europe/Rome'),
  'far in the future': timed('2037-08-14T09:00:00+02:00', '2037-08-14T09:30:00+02:00', 'Europe/Rome'),
  'in a zone west of the server': timed('2027-03-14T08:00:00-04:00', '2027-03-14T09:00:00-04:00', 'America/New_York'),
  'in a zone with odd minutes': timed('2027-05-01T10:00:00+05:45', '2027-05-01T10:20:00+05:45', 'Asia/Kathmandu'),
  'in UTC': timed('2027-05-01T10:00:00+00:00', '2027-05-01T10:20:00+00:00', 'UTC'),
};

const DAYS: Readonly<Record<string, ItemTime>> = {
  'one whole day': allDay('2027-05-01', '2027-05-02'),
  'whole days across the end of summer time and a year': allDay('2027-10-30', '2028-01-02'),
  'a whole leap day': allDay('2028-02-29', '2028-03-01'),
};

/** Instants and wall times survive the way to the server and back. */
export const times = group<CalendarKit>('times', {
  ...Object.fromEntries(Object.entries(TIMES).map(([name, time]) => [`an appointment ${name}`, keepsTime(time)])),
  ...Object.fromEntries(Object.entries(DAYS).map(([name, time]) => [`${name} without times`, keepsTime(time)])),
  'an appointment becomes a whole day and an appointment again': async (kit) => {
    const day = itemWith({ time: allDay('2027-05-01', '2027-05-02') });
    await kit.attempt([createOperation('a')]);
    await kit.attempt([{ ...createOperation('a', day), kind: 'update', versionTag: null, remoteId: null }]);
    expect((await kit.readAll())[0]?.item).toEqual(day);
    await kit.attempt([{ ...createOperation('a'), kind: 'update', versionTag: null, remoteId: null }]);
    expect((await kit.readAll())[0]?.item).toEqual(itemWith());
  },
});

function keepsTime(time: ItemTime): ContractCase<CalendarKit>['run'] {
  return async (kit) => {
    const item = itemWith({ time });
    expect(describeOutcome((await kit.attempt([createOperation('a', item)]))[0])).toBe('written created');
    const object = await kit.object('a');
    expect(object).toMatchObject(
      time.kind === 'all-day'
        ? { startDate: time.startDate, endDate: time.endDate, startAt: null }
        : { startAt: Date.parse(time.start), endAt: Date.parse(time.end), startDate: null },
    );
    expect((await kit.readAll())[0]?.item).toEqual(item);
    expect(describeOutcome((await kit.attempt([createOperation('a', item)]))[0])).toBe('written adopted');
    expect((await kit.object('a')).version, 'written once').toBe(object.version);
  };
}
