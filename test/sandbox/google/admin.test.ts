import { describe, expect, it } from 'vitest';
import { anEvent, startBench } from './support.ts';

async function send(url: string, method: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

describe('the sandbox’s own routes', () => {
  it('do over HTTP what the verbs do, and count nothing', async () => {
    const { sandbox, as } = await startBench();
    const own = (path: string): string => `${sandbox.url}/__sandbox/${path}`;
    const token = await send(own('access-tokens'), 'POST', { account: 'new@clinic.example' });
    expect(token.body).toMatchObject({ access_token: expect.any(String) });
    const made = await send(own('calendars'), 'POST', { account: 'new@clinic.example', summary: 'Made' });
    const id = sandbox.createCalendar('new@clinic.example', 'By hand');
    expect(made.body).toMatchObject({ id: expect.stringContaining('@group.calendar.google.com') });
    const events = own(`calendars/${encodeURIComponent(id)}/events`);
    await send(events, 'POST', anEvent({ id: 'event1' }));
    expect((await send(`${events}/event1`, 'PATCH', { summary: 'Changed' })).body).toMatchObject({
      summary: 'Changed',
    });
    await send(`${events}/event1`, 'DELETE');
    expect((await send(events, 'GET')).body).toEqual({ items: [] });
    expect((await send(`${events}?includeDeleted=true`, 'GET')).body).toMatchObject({ items: [{ id: 'event1' }] });
    await send(own('settings'), 'PUT', { quotaPerUserPerMinute: 0, rateLimitStatus: 429 });
    const call = as(sandbox.issueAccessToken('new@clinic.example'));
    expect((await call('GET', '/users/me/calendarList')).status).toBe(429);
    const keyFile = await send(own('service-accounts'), 'POST', { email: 'robot@project.example' });
    expect(keyFile.body).toMatchObject({ client_email: 'robot@project.example', token_uri: sandbox.tokenUrl });
    expect((await send(own('expire-sync-tokens'), 'POST')).status).toBe(204);
    expect((await send(own(`calendars/${encodeURIComponent(id)}`), 'DELETE')).status).toBe(204);
    expect(sandbox.requests.snapshot().total).toBe(1);
  });
});
