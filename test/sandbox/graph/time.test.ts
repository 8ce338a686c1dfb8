import { describe, expect, it } from 'vitest';
import { anEvent, startBench } from './support.ts';

const at = (dateTime: string, timeZone: string) => ({ dateTime, timeZone });
const inZone = (zone: string) => ({ prefer: `outlook.timezone="${zone}"` });

describe('times', () => {
  it.each([
    ['W. Europe Standard Time', 'W. Europe Standard Time'],
    ['Europe/Berlin', 'W. Europe Standard Time'],
    ['Europe/Zurich', 'W. Europe Standard Time'],
    ['Europe/Busingen', 'tzone://Microsoft/Custom'],
  ])('in %s come back in UTC, with the stored zone %s', async (zone, stored) => {
    const { call } = await startBench();
    const event = anEvent({ start: at('2027-07-01T09:00:00', zone), end: at('2027-07-01T09:30:00.0000000', zone) });
    expect((await call('POST', '/me/events', event)).body).toMatchObject({
      start: at('2027-07-01T07:00:00.0000000', 'UTC'),
      end: at('2027-07-01T07:30:00.0000000', 'UTC'),
      originalStartTimeZone: stored,
      originalEndTimeZone: stored,
    });
  });

  it('come in the zone that is preferred, by either name', async () => {
    const { call } = await startBench();
    const { id } = (await call('POST', '/me/events', anEvent())).body;
    for (const zone of ['Pacific Standard Time (Mexico)', 'America/Tijuana']) {
      const answer = await call('GET', `/me/events/${id}`, undefined, inZone(zone));
      expect(answer.body.start).toEqual(at('2027-03-01T01:00:00.0000000', zone));
      expect(answer.headers.get('preference-applied')).toBe(`outlook.timezone="${zone}"`);
    }
    expect(await call('GET', `/me/events/${id}`, undefined, inZone('Nowhere'))).toMatchObject({
      status: 400,
      code: 'TimeZoneNotSupportedException',
    });
  });

  it.each([
    ['a gap, after it', '2027-03-28T02:30:00', '2027-03-28T01:30:00.0000000'],
    ['an overlap, first time round', '2027-10-31T02:30:00', '2027-10-31T00:30:00.0000000'],
    ['the hour before a change', '2027-03-28T01:59:59', '2027-03-28T00:59:59.0000000'],
    ['the hour after a change', '2027-03-28T03:00:00', '2027-03-28T01:00:00.0000000'],
  ])('in %s', async (_what, wall, utc) => {
    const { call } = await startBench();
    const event = anEvent({ start: at(wall, 'Europe/Zurich'), end: at('2027-12-01T00:00:00', 'Europe/Zurich') });
    const { body } = await call('POST', '/me/events', event);
    expect(body.start.dateTime).toBe(utc);
    const zoned = await call('GET', `/me/events/${body.id}`, undefined, inZone('Europe/Zurich'));
    expect(zoned.body.end.dateTime).toBe('2027-12-01T00:00:00.0000000');
  });

  it('may all be in a custom zone', async () => {
    const { call } = await startBench({ customTimeZones: true });
    const { body } = await call('POST', '/me/events', anEvent());
    expect(body.originalStartTimeZone).toBe('tzone://Microsoft/Custom');
  });
});

describe('an all-day event', () => {
  const start = at('2027-03-01T00:00:00', 'Europe/Zurich');
  const end = at('2027-03-02T00:00:00', 'Europe/Zurich');

  it('is the same day in every zone', async () => {
    const { call } = await startBench();
    const made = await call('POST', '/me/events', anEvent({ isAllDay: true, start, end }));
    expect(made.body).toMatchObject({
      isAllDay: true,
      showAs: 'free',
      start: at('2027-03-01T00:00:00.0000000', 'UTC'),
      end: at('2027-03-02T00:00:00.0000000', 'UTC'),
    });
    const view = '/me/calendarView?startDateTime=2027-02-28T22:00:00Z&endDateTime=2027-02-28T23:30:00Z';
    expect((await call('GET', view)).body.value).toHaveLength(1);
  });

  it('is returned as its instant if so configured', async () => {
    const { call } = await startBench({ allDayReads: 'shifted' });
    const made = await call('POST', '/me/events', anEvent({ isAllDay: true, start, end }));
    expect(made.body.start).toEqual(at('2027-02-28T23:00:00.0000000', 'UTC'));
  });

  it('is refused in a zone that is configured as unknown', async () => {
    const { call } = await startBench({ refusedZones: ['Europe/Zurich'] });
    const refused = await call('POST', '/me/events', anEvent({ isAllDay: true, start, end }));
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'TimeZoneNotSupportedException' } } });
    const utc = { start: at('2027-03-01T00:00:00', 'UTC'), end: at('2027-03-02T00:00:00', 'UTC') };
    expect((await call('POST', '/me/events', anEvent({ isAllDay: true, ...utc }))).status).toBe(201);
  });

  it('may last 23 hours, when the clock changes', async () => {
    const { call } = await startBench();
    const day = { start: at('2027-03-28T00:00:00', 'Europe/Zurich'), end: at('2027-03-29T00:00:00', 'Europe/Zurich') };
    expect((await call('POST', '/me/events', anEvent({ isAllDay: true, ...day }))).status).toBe(201);
  });
});
