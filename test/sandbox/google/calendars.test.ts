import { describe, expect, it } from 'vitest';
import { anEvent, DOCTOR, startBench } from './support.ts';

describe('calendars', () => {
  it('are made, read, changed and deleted by their owner', async () => {
    const { call } = await startBench();
    const made = await call('POST', '/calendars', { summary: 'Mirror', timeZone: 'Europe/Vienna', description: 'x' });
    expect(made.body).toMatchObject({ kind: 'calendar#calendar', summary: 'Mirror', timeZone: 'Europe/Vienna' });
    const path = `/calendars/${encodeURIComponent(made.body.id)}`;
    expect((await call('GET', path)).body).toMatchObject({ description: 'x', dataOwner: DOCTOR });
    const patched = (await call('PATCH', path, { summary: 'Renamed' })).body;
    expect(patched).toMatchObject({ summary: 'Renamed', description: 'x' });
    expect(patched.etag).not.toBe(made.body.etag);
    const put = (await call('PUT', path, { summary: 'Whole' })).body;
    expect(put).toMatchObject({ summary: 'Whole', timeZone: 'Europe/Vienna' });
    expect(put).not.toHaveProperty('description');
    expect((await call('DELETE', path)).status).toBe(204);
    for (const [method, url, body] of [
      ['GET', path],
      ['GET', `${path}/events`],
      ['POST', `${path}/events`, anEvent()],
      ['PATCH', path, {}],
    ] as const) {
      expect(await call(method, url, body)).toMatchObject({ status: 404, reason: 'notFound' });
    }
  });

  it.each([
    [{}, 'required'],
    [{ summary: 5 }, 'invalid'],
    [{ summary: 'x', timeZone: 'Nowhere' }, 'invalid'],
    [{ summary: 'x', colour: 'red' }, 'badRequest'],
  ])('are refused as %j', async (body, reason) => {
    const { call } = await startBench();
    expect(await call('POST', '/calendars', body)).toMatchObject({ status: 400, reason });
  });

  it('cannot lose the primary one', async () => {
    const { call } = await startBench();
    expect((await call('DELETE', '/calendars/primary')).status).toBe(400);
  });

  it('vanish with everything when deleted manually', async () => {
    const { call, events, sandbox, calendarId } = await startBench();
    sandbox.deleteCalendar(calendarId);
    expect(await call('GET', events)).toMatchObject({ status: 404, reason: 'notFound' });
    expect((await call('GET', '/users/me/calendarList')).body.items).toHaveLength(1);
    expect(() => sandbox.deleteCalendar(calendarId)).toThrow('no calendar');
  });
});

describe('the calendar list', () => {
  it('shows the primary calendar and the others with the caller’s role', async () => {
    const { call, sandbox, calendarId } = await startBench();
    const shared = sandbox.createCalendar('colleague@clinic.example', 'Shared');
    sandbox.setRole(shared, DOCTOR, 'reader');
    const { items } = (await call('GET', '/users/me/calendarList')).body;
    expect(items).toMatchObject([
      { id: DOCTOR, primary: true, accessRole: 'owner', kind: 'calendar#calendarListEntry' },
      { id: calendarId, summary: 'Appointments', accessRole: 'owner' },
    ]);
    expect((await call('GET', `/users/me/calendarList/${shared}`)).status).toBe(404);
    expect((await call('POST', '/users/me/calendarList', { id: shared })).body.accessRole).toBe('reader');
    expect((await call('GET', `/users/me/calendarList/${shared}`)).body.summary).toBe('Shared');
    const owned = await call('GET', '/users/me/calendarList?minAccessRole=owner');
    expect(owned.body.items).toHaveLength(2);
    expect((await call('POST', '/users/me/calendarList', { id: 'nowhere' })).status).toBe(404);
    expect((await call('POST', '/users/me/calendarList', {})).status).toBe(400);
  });

  it('comes in pages', async () => {
    const { call } = await startBench();
    const first = (await call('GET', '/users/me/calendarList?maxResults=1')).body;
    expect(first.items).toHaveLength(1);
    const second = (await call('GET', `/users/me/calendarList?maxResults=1&pageToken=${first.nextPageToken}`)).body;
    expect(second.items).toHaveLength(1);
    expect(second).not.toHaveProperty('nextPageToken');
  });
});

describe('access rules', () => {
  it('share a calendar, with a mail unless it is switched off', async () => {
    const { call, sandbox, as, calendarId, events } = await startBench();
    const acl = `/calendars/${encodeURIComponent(calendarId)}/acl`;
    const rule = { role: 'reader', scope: { type: 'user', value: 'nurse@clinic.example' } };
    await call('POST', `${acl}?sendNotifications=false`, rule);
    expect(sandbox.counts.mails).toBe(0);
    const nurse = as(sandbox.issueAccessToken('nurse@clinic.example'));
    expect((await nurse('GET', events)).status).toBe(200);
    expect(await nurse('GET', acl)).toMatchObject({ status: 403, reason: 'requiredAccessLevel' });
    expect((await call('POST', acl, { ...rule, role: 'writer' })).body).toMatchObject({
      kind: 'calendar#aclRule',
      id: 'user:nurse@clinic.example',
      role: 'writer',
    });
    expect(sandbox.counts.mails).toBe(1);
    expect((await call('GET', acl)).body.items).toMatchObject([{ role: 'owner' }, { role: 'writer' }]);
    expect((await call('POST', acl, { ...rule, role: 'king' })).status).toBe(400);
  });
});
