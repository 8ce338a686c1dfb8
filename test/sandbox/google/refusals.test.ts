import { describe, expect, it } from 'vitest';
import { serviceAccountToken } from './service-account-token.ts';
import { anEvent, DOCTOR, startBench } from './support.ts';

const zoned = { timeZone: 'Europe/Zurich' };
const at = (time: string, more: object = zoned): object => ({ dateTime: `2027-03-01T${time}`, ...more });
const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 'v']));

const REFUSED: [what: string, fields: Record<string, unknown>, reason: string][] = [
  ['an unknown visibility', { visibility: 'secret' }, 'invalid'],
  ['an unknown transparency', { transparency: 'grey' }, 'invalid'],
  ['an unknown status', { status: 'maybe' }, 'invalid'],
  ['an unknown colour', { colorId: '12' }, 'invalid'],
  ['a colour that is no string', { colorId: 5 }, 'invalid'],
  ['a summary that is no string', { summary: 7 }, 'invalid'],
  ['an unknown field', { sumary: 'typo' }, 'badRequest'],
  ['an unknown reminder method', { reminders: { overrides: [{ method: 'sms', minutes: 5 }] } }, 'invalid'],
  ['a reminder too early', { reminders: { overrides: [{ method: 'popup', minutes: 40_321 }] } }, 'invalid'],
  ['a negative reminder', { reminders: { overrides: [{ method: 'popup', minutes: -1 }] } }, 'invalid'],
  ['six reminders', { reminders: { overrides: Array(6).fill({ method: 'popup', minutes: 5 }) } }, 'invalid'],
  [
    'default reminders with overrides',
    { reminders: { useDefault: true, overrides: [{ method: 'popup', minutes: 5 }] } },
    'cannotUseDefaultRemindersAndSpecifyOverride',
  ],
  ['a negative sequence', { sequence: -1 }, 'invalid'],
  ['a guest without an e-mail address', { attendees: [{ displayName: 'x' }] }, 'invalid'],
  ['a source that is not a web URL', { source: { title: 'x', url: 'file:///etc' } }, 'invalid'],
  ['a property that is no string', { extendedProperties: { private: { a: 1 } } }, 'invalid'],
  ['too many properties', { extendedProperties: { private: many(301) } }, 'invalid'],
  ['more than 32 kB of properties', { extendedProperties: { shared: fat(33) } }, 'invalid'],
  ['no start', { start: null }, 'required'],
  ['no end', { end: undefined }, 'required'],
  ['an empty start', { start: {} }, 'required'],
  ['date and dateTime in one', { start: { date: '2027-03-01', ...at('09:00:00') } }, 'invalid'],
  ['date with dateTime', { start: { date: '2027-03-01' } }, 'invalid'],
  ['no offset and no zone', { start: at('09:00:00', {}) }, 'required'],
  ['an unknown zone', { start: at('09:00:00', { timeZone: 'Mars/Olympus' }) }, 'invalid'],
  ['an offset as zone', { start: at('09:00:00', { timeZone: '+01:00' }) }, 'invalid'],
  ['a time that is none', { start: at('25:00:00') }, 'invalid'],
  ['a day that is none', { start: { date: '2027-02-30' }, end: { date: '2027-03-01' } }, 'invalid'],
  ['a time without seconds', { start: at('09:00') }, 'invalid'],
  ['an end equal to the start', { end: at('09:00:00') }, 'timeRangeEmpty'],
  ['an end before the start', { end: at('08:00:00') }, 'timeRangeEmpty'],
  ['an all-day event without length', { start: { date: '2027-03-01' }, end: { date: '2027-03-01' } }, 'timeRangeEmpty'],
  ['a series', { recurrence: ['RRULE:FREQ=DAILY'] }, 'notImplemented'],
  ['a conference', { conferenceData: { createRequest: { requestId: 'x' } } }, 'notImplemented'],
];

function fat(kilobytes: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: kilobytes }, (_, index) => [`k${index}`, 'x'.repeat(1024)]));
}

describe('an event is refused', () => {
  it.each(REFUSED)('with %s', async (_what, fields, reason) => {
    const { call, events, sandbox, calendarId } = await startBench();
    const answer = await call('POST', events, anEvent(fields));
    expect(answer).toMatchObject({ status: 400, reason });
    expect(answer.body.error).toMatchObject({ code: 400, message: expect.any(String) });
    expect(sandbox.events(calendarId)).toEqual([]);
  });

  it.each(['{"summary":', '[]', '"text"', ''])('when the body is %s', async (body) => {
    const { call, events } = await startBench();
    const answer = await call('POST', events, body);
    expect(answer).toMatchObject({ status: 400, reason: 'parseError' });
  });

  it('without its content being repeated in the error', async () => {
    const { call, events } = await startBench();
    const { body } = await call('POST', events, anEvent({ visibility: 'Jane Doe' }));
    expect(JSON.stringify(body)).not.toContain('Jane');
  });
});

describe('an event is accepted', () => {
  it.each([
    ['with an offset and no zone', { start: at('09:00:00Z', {}), end: at('10:00:00+00:00', {}) }],
    ['with fractions of a second', { start: at('09:00:00.000') }],
    ['as a whole day', { start: { date: '2027-03-01' }, end: { date: '2027-03-02' } }],
    ['without reminders', { reminders: { useDefault: false, overrides: [] } }],
    ['with nulls for absent', { description: null, recurrence: null, colorId: null }],
    ['with an empty recurrence', { recurrence: [] }],
    ['with the most properties', { extendedProperties: { private: many(150), shared: many(150) } }],
  ])('%s', async (_what, fields) => {
    const { call, events } = await startBench();
    expect((await call('POST', events, anEvent(fields))).status).toBe(200);
  });

  it('with too long property keys dropped and values cut, silently but counted', async () => {
    const { call, events, sandbox } = await startBench();
    const kept = 'k'.repeat(44);
    const extendedProperties = { private: { [kept]: 'v'.repeat(1025), [`${kept}x`]: 'v' } };
    const { body } = await call('POST', events, anEvent({ extendedProperties }));
    expect(body.extendedProperties.private).toEqual({ [kept]: 'v'.repeat(1024) });
    expect(sandbox.counts.droppedProperties).toBe(2);
  });
});

describe('access is refused', () => {
  it('without a token, with an unknown one, and with an expired one', async () => {
    let now = 1_800_000_000_000;
    const { sandbox, as, call, events } = await startBench({ now: () => now });
    const bare = await fetch(`${sandbox.url}/calendar/v3${events}`);
    expect(bare.status).toBe(401);
    expect(await bare.json()).toMatchObject({ error: { errors: [{ reason: 'authError' }] } });
    expect(await as('nonsense')('GET', events)).toMatchObject({ status: 401, reason: 'authError' });
    expect((await call('GET', events)).status).toBe(200);
    now += 3_600_000;
    expect(await call('GET', events)).toMatchObject({ status: 401, reason: 'authError' });
  });

  it('to an unknown calendar and to the calendar of another user in the same way', async () => {
    const { sandbox, as, call, events } = await startBench();
    expect(await call('GET', '/calendars/nowhere/events')).toMatchObject({ status: 404, reason: 'notFound' });
    const stranger = as(sandbox.issueAccessToken('stranger@clinic.example'));
    expect(await stranger('POST', events, anEvent())).toMatchObject({ status: 404, reason: 'notFound' });
  });

  it('for writing with a reader’s role, and private details are hidden', async () => {
    const { sandbox, as, call, events, calendarId } = await startBench();
    await call('POST', events, anEvent({ id: 'secret', visibility: 'private' }));
    await call('POST', events, anEvent({ id: 'plain' }));
    const reader = as(sandbox.issueAccessToken('reader@clinic.example'));
    sandbox.setRole(calendarId, 'reader@clinic.example', 'reader');
    expect(await reader('POST', events, anEvent())).toMatchObject({ status: 403, reason: 'requiredAccessLevel' });
    expect((await reader('GET', `${events}/secret`)).body).not.toHaveProperty('summary');
    expect((await reader('GET', `${events}/plain`)).body.summary).toBe('Appointment');
    sandbox.setRole(calendarId, 'reader@clinic.example', 'freeBusyReader');
    expect((await reader('GET', `${events}/plain`)).body).not.toHaveProperty('summary');
    sandbox.setRole(calendarId, 'reader@clinic.example', 'writer');
    expect((await reader('POST', events, anEvent())).status).toBe(200);
  });

  it.each([
    ['calendar.readonly', 403, 200],
    ['calendar.events', 200, 200],
    ['calendar.events.owned', 200, 200],
    ['calendar.acls', 403, 403],
    ['calendar.app.created', 403, 403],
  ])('by the scope %s: write %i, read %i', async (scope, write, read) => {
    const { sandbox, as, events } = await startBench();
    const limited = as(sandbox.issueAccessToken(DOCTOR, { scopes: [scope] }));
    const written = await limited('POST', events, anEvent());
    expect(written.status).toBe(write);
    expect(written.reason).toBe(write === 403 ? 'insufficientPermissions' : undefined);
    expect((await limited('GET', events)).status).toBe(read);
  });

  it('to everything but its own calendars with calendar.app.created', async () => {
    const { sandbox, as, events } = await startBench();
    const app = as(sandbox.issueAccessToken(DOCTOR, { scopes: ['calendar.app.created'] }));
    const made = (await app('POST', '/calendars', { summary: 'Mirror' })).body.id;
    expect((await app('POST', `/calendars/${made}/events`, anEvent())).status).toBe(200);
    expect((await app('GET', `/users/me/calendarList/${made}`)).status).toBe(200);
    expect((await app('GET', events)).status).toBe(403);
    expect((await app('GET', '/calendars/primary/events')).status).toBe(403);
  });

  it('to a misspelt parameter, a wrong flag and an unknown path', async () => {
    const { call, events } = await startBench();
    expect(await call('GET', `${events}?maxresults=5`)).toMatchObject({ status: 400, reason: 'badRequest' });
    expect(await call('GET', `${events}?showDeleted=yes`)).toMatchObject({ status: 400, reason: 'invalid' });
    expect(await call('GET', '/nothing/here')).toMatchObject({ status: 404, reason: 'notFound' });
  });

  it('to guests when a service account acts for itself', async () => {
    const { sandbox, as, events, calendarId } = await startBench();
    const robot = 'robot@project.iam.gserviceaccount.example';
    const keyFile = sandbox.createServiceAccount(robot);
    sandbox.setRole(calendarId, robot, 'writer');
    const call = as((await serviceAccountToken(keyFile)).access_token);
    const refused = await call('POST', events, anEvent({ attendees: [{ email: 'a@x.example' }] }));
    expect(refused).toMatchObject({ status: 403, reason: 'forbiddenForServiceAccounts' });
    expect((await call('POST', events, anEvent())).status).toBe(200);
  });
});
