import { describe, expect, it } from 'vitest';
import { sendJson } from '../kit/send-json.ts';
import { anEvent, startBench } from './support.ts';

describe('the sandbox’s own routes', () => {
  it('do over HTTP what the verbs do, and count nothing', async () => {
    const { sandbox, as } = await startBench();
    const own = (path: string): string => `${sandbox.url}/__sandbox/${path}`;
    const token = await sendJson(own('access-tokens'), 'POST', { account: 'new@clinic.example' });
    expect(token.body).toMatchObject({ access_token: expect.any(String) });
    const made = await sendJson(own('calendars'), 'POST', { account: 'new@clinic.example', summary: 'Made' });
    const id = sandbox.createCalendar('new@clinic.example', 'By hand');
    expect(made.body).toMatchObject({ id: expect.stringContaining('@group.calendar.google.com') });
    const events = own(`calendars/${encodeURIComponent(id)}/events`);
    await sendJson(events, 'POST', anEvent({ id: 'event1' }));
    expect((await sendJson(`${events}/event1`, 'PATCH', { summary: 'Changed' })).body).toMatchObject({
      summary: 'Changed',
    });
    await sendJson(`${events}/event1`, 'DELETE');
    expect((await sendJson(events, 'GET')).body).toEqual({ items: [] });
    expect((await sendJson(`${events}?includeDeleted=true`, 'GET')).body).toMatchObject({ items: [{ id: 'event1' }] });
    await sendJson(own('settings'), 'PUT', { quotaPerUserPerMinute: 0, rateLimitStatus: 429 });
    const call = as(sandbox.issueAccessToken('new@clinic.example'));
    expect((await call('GET', '/users/me/calendarList')).status).toBe(429);
    const keyFile = await sendJson(own('service-accounts'), 'POST', { email: 'robot@project.example' });
    expect(keyFile.body).toMatchObject({ client_email: 'robot@project.example', token_uri: sandbox.tokenUrl });
    expect((await sendJson(own('expire-sync-tokens'), 'POST')).status).toBe(204);
    expect((await sendJson(own(`calendars/${encodeURIComponent(id)}`), 'DELETE')).status).toBe(204);
    expect(sandbox.requests.snapshot().total).toBe(1);
  });
});
