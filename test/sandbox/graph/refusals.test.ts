import { describe, expect, it } from 'vitest';
import { anEvent, DOCTOR, startBench } from './support.ts';

const time = (dateTime: string, timeZone = 'UTC') => ({ dateTime, timeZone });
const WRONG = 'ErrorPropertyValidationFailure';
const UNREADABLE = 'ErrorInvalidRequest';

describe('an event is refused', () => {
  it.each([
    ['a missing end', { end: undefined }, WRONG],
    ['an end before the start', { end: time('2027-03-01T08:00:00') }, WRONG],
    ['a day that does not exist', { start: time('2027-02-30T09:00:00') }, WRONG],
    ['an offset inside the time', { start: time('2027-03-01T09:00:00+01:00', 'Europe/Zurich') }, WRONG],
    ['an unknown zone', { start: time('2027-03-01T09:00:00', 'Middle Earth') }, 'TimeZoneNotSupportedException'],
    ['no zone', { start: { dateTime: '2027-03-01T09:00:00' } }, UNREADABLE],
    ['an all-day event that starts in the day', { isAllDay: true }, WRONG],
    [
      'an all-day event in two zones',
      { isAllDay: true, start: time('2027-03-01T00:00:00'), end: time('2027-03-02T00:00:00', 'Europe/Zurich') },
      WRONG,
    ],
    [
      'an all-day event of no day',
      { isAllDay: true, start: time('2027-03-01T00:00:00'), end: time('2027-03-01T00:00:00') },
      WRONG,
    ],
    ['an unknown showAs', { showAs: 'sleeping' }, WRONG],
    ['an unknown sensitivity', { sensitivity: 'secret' }, WRONG],
    ['an unknown body type', { body: { contentType: 'markdown', content: '' } }, WRONG],
    ['a negative reminder', { reminderMinutesBeforeStart: -1 }, WRONG],
    ['a guest without an e-mail address', { attendees: [{ emailAddress: { address: 'nobody' } }] }, WRONG],
    ['a subject that is a number', { subject: 7 }, UNREADABLE],
    ['a flag that is a string', { isReminderOn: 'false' }, UNREADABLE],
    ['an unknown field', { colour: 'red' }, UNREADABLE],
    ['an unknown inner field', { location: { displayName: 'x', floor: 3 } }, UNREADABLE],
    ['a read-only field', { iCalUId: 'x' }, UNREADABLE],
    ['a series', { recurrence: { pattern: {} } }, 'SandboxNotImplemented'],
  ])('with %s', async (_what, fields, code) => {
    const { call, sandbox } = await startBench();
    const refused = await call('POST', '/me/events', anEvent(fields));
    expect(refused).toMatchObject({ status: 400, code });
    expect(refused.body.error.message).not.toContain('Appointment');
    expect(sandbox.events(DOCTOR, 'default')).toEqual([]);
  });

  it('when its JSON is broken, no object, or not declared', async () => {
    const { call } = await startBench();
    for (const body of ['{', '[]', '"x"']) {
      expect(await call('POST', '/me/events', body)).toMatchObject({ status: 400, code: UNREADABLE });
    }
    const undeclared = await call('POST', '/me/events', JSON.stringify(anEvent()), { 'content-type': 'text/plain' });
    expect(undeclared).toMatchObject({ status: 400, code: UNREADABLE });
  });

  it('keeps the stored event unchanged', async () => {
    const { call, sandbox } = await startBench();
    const { id } = (await call('POST', '/me/events', anEvent())).body;
    const refused = await call('PATCH', `/me/events/${id}`, { subject: 'x', end: time('2027-02-01T00:00:00') });
    expect(refused).toMatchObject({ status: 400, code: WRONG });
    expect(sandbox.event(DOCTOR, id)?.subject).toBe('Appointment');
  });
});

describe('access', () => {
  it('needs a token that lives', async () => {
    let now = Date.now();
    const { as, sandbox } = await startBench({ now: () => now, accessTokenLifetimeMs: 60_000 });
    const call = as(sandbox.issueAccessToken(DOCTOR));
    expect((await call('GET', '/me/events')).status).toBe(200);
    now += 60_000;
    expect(await call('GET', '/me/events')).toMatchObject({ status: 401, code: 'InvalidAuthenticationToken' });
    const fresh = as(sandbox.issueAccessToken(DOCTOR));
    expect((await fresh('GET', '/me/events')).status).toBe(200);
    sandbox.expireAccessTokens();
    expect((await fresh('GET', '/me/events')).status).toBe(401);
    expect((await as('nonsense')('GET', '/me/events')).headers.get('www-authenticate')).toContain('Bearer');
  });

  it('to another mailbox requires sharing and the scope', async () => {
    const { as, sandbox } = await startBench();
    sandbox.addMailbox('nurse@clinic.example');
    const plain = as(sandbox.issueAccessToken('nurse@clinic.example'));
    const wide = as(
      sandbox.issueAccessToken('nurse@clinic.example', {
        scopes: ['Calendars.ReadWrite', 'Calendars.ReadWrite.Shared'],
      }),
    );
    const path = `/users/${DOCTOR}/events`;
    expect(await wide('GET', path)).toMatchObject({ status: 403, code: 'ErrorAccessDenied' });
    sandbox.shareMailbox(DOCTOR, 'nurse@clinic.example');
    expect((await plain('GET', path)).status).toBe(403);
    expect((await wide('GET', path)).status).toBe(200);
  });

  it('needs a permission to write', async () => {
    const { as, sandbox } = await startBench();
    const call = as(sandbox.issueAccessToken(DOCTOR, { scopes: ['Calendars.Read'] }));
    expect((await call('GET', '/me/events')).status).toBe(200);
    expect(await call('POST', '/me/events', anEvent())).toMatchObject({ status: 403, code: 'ErrorAccessDenied' });
  });

  it('of an application is to every mailbox, unless it is limited', async () => {
    const limited = { clientId: 'limited', clientSecret: 's', mailboxes: ['nurse@clinic.example'] };
    const { as, sandbox } = await startBench({ applications: [{ clientSecret: 's' }, limited] });
    const everywhere = as(sandbox.issueAppToken());
    expect((await everywhere('GET', `/users/${DOCTOR}/events`)).status).toBe(200);
    expect((await everywhere('GET', '/me/events')).status).toBe(400);
    expect(await everywhere('GET', '/users/nobody@clinic.example/events')).toMatchObject({
      status: 404,
      code: 'ResourceNotFound',
    });
    expect((await as(sandbox.issueAppToken('limited'))('GET', `/users/${DOCTOR}/events`)).status).toBe(403);
  });

  it('ends at a mailbox without a licence', async () => {
    const { call, sandbox } = await startBench();
    sandbox.addMailbox(DOCTOR, { licensed: false });
    expect(await call('GET', '/me/events')).toMatchObject({ status: 404, code: 'MailboxNotEnabledForRESTAPI' });
    expect((await call('GET', '/me')).body).toMatchObject({ userPrincipalName: DOCTOR });
  });

  it('may be challenged for claims', async () => {
    const { call, sandbox, as } = await startBench();
    sandbox.challengeClaims(DOCTOR);
    const refused = await call('GET', '/me/events');
    expect(refused).toMatchObject({ status: 401, code: 'InvalidAuthenticationToken' });
    const claims = /error="insufficient_claims", claims="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '');
    expect(JSON.parse(Buffer.from(claims?.[1] ?? '', 'base64').toString())).toMatchObject({
      access_token: { nbf: { essential: true } },
    });
    expect((await as(sandbox.issueAccessToken(DOCTOR))('GET', '/me/events')).status).toBe(401);
  });

  it('ends where the path is none', async () => {
    const { call } = await startBench();
    expect(await call('GET', '/me/messages')).toMatchObject({ status: 404, code: 'ResourceNotFound' });
    expect(await call('GET', '/me/events?$serach=x')).toMatchObject({ status: 400, code: UNREADABLE });
  });
});
