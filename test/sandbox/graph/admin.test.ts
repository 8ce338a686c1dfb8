import { describe, expect, it } from 'vitest';
import { sendJson } from '../kit/send-json.ts';
import { anEvent, startBench } from './support.ts';

const NURSE = 'nurse@clinic.example';

describe('the sandbox’s admin routes', () => {
  it('do over HTTP what the verbs do, and count nothing', async () => {
    const { sandbox, as } = await startBench();
    const own = (path: string): string => `${sandbox.url}/__sandbox/${path}`;
    expect((await sendJson(own('mailboxes'), 'POST', { mail: NURSE })).body.id).toMatch(/^[0-9a-f-]{36}$/);
    const token = (await sendJson(own('access-tokens'), 'POST', { account: NURSE })).body.access_token;
    const calendar = (await sendJson(own(`mailboxes/${NURSE}/calendars`), 'POST', { name: 'Clinic' })).body.id;
    expect((await sendJson(own(`mailboxes/${NURSE}/calendars`), 'GET')).body.items).toHaveLength(2);
    const events = own(`mailboxes/${NURSE}/calendars/${calendar}/events`);
    const { id, restId } = (await sendJson(events, 'POST', anEvent())).body;
    const event = own(`mailboxes/${NURSE}/events/${id}`);
    expect((await sendJson(event, 'PATCH', { subject: 'Changed' })).body.subject).toBe('Changed');
    expect((await sendJson(`${event}/move`, 'POST', { calendar: 'default' })).body.restId).not.toBe(restId);
    expect((await sendJson(own(`mailboxes/${NURSE}/renew-ids`), 'POST', {})).status).toBe(204);
    expect((await sendJson(event, 'DELETE')).status).toBe(500);
    const [renewed] = (await sendJson(own(`mailboxes/${NURSE}/calendars/default/events`), 'GET')).body.items;
    expect((await sendJson(own(`mailboxes/${NURSE}/events/${renewed.id}`), 'DELETE')).status).toBe(204);
    expect(
      (await sendJson(own(`mailboxes/${NURSE}/calendars/default/events?includeDeleted=true`), 'GET')).body,
    ).toMatchObject({ items: [{ id: renewed.id, isDeleted: true }] });
    expect((await sendJson(own('settings'), 'PUT', { requestsPerWindow: 0 })).status).toBe(204);
    expect((await sendJson(own('expire-delta-tokens'), 'POST', { end: 'not-found' })).status).toBe(204);
    expect((await sendJson(own('subscriptions'), 'GET')).body).toEqual({ items: [] });
    expect(sandbox.counts.httpRequests).toBe(0);
    expect((await as(token)('GET', '/me/events')).status).toBe(429);
    const app = (await sendJson(own('access-tokens'), 'POST', {})).body.access_token;
    expect((await as(app)('GET', `/users/${NURSE}`)).status).toBe(200);
    expect((await sendJson(own(`mailboxes/${NURSE}/calendars/${calendar}`), 'DELETE')).status).toBe(204);
  });

  it('record sent requests', async () => {
    const { sandbox, call } = await startBench();
    sandbox.recording.record(true);
    await call('POST', '/me/events', anEvent({ subject: 'Seen' }));
    expect(sandbox.recording.recorded()).toMatchObject([
      { method: 'POST', url: '/v1.0/me/events', body: expect.stringContaining('Seen') },
    ]);
  });
});
