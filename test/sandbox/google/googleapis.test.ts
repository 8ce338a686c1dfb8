import {
  auth as authLibrary,
  type calendar_v3,
  calendar as newClient,
} from 'googleapis/build/src/apis/calendar/index.js';
import { describe, expect, it } from 'vitest';
import { anEvent, DOCTOR, startBench } from './support.ts';

async function startWithClient(): Promise<
  Awaited<ReturnType<typeof startBench>> & { client: calendar_v3.Calendar; withId: { calendarId: string } }
> {
  const bench = await startBench();
  const auth = new authLibrary.OAuth2();
  auth.setCredentials({ access_token: bench.sandbox.issueAccessToken(DOCTOR) });
  const client = newClient({ version: 'v3', auth, rootUrl: bench.sandbox.calendarApiUrl, retry: false });
  return { ...bench, client, withId: { calendarId: bench.calendarId } };
}

describe('the googleapis client', () => {
  it('writes and reads events', async () => {
    const { client, withId, sandbox } = await startWithClient();
    const made = await client.events.insert({ ...withId, sendUpdates: 'none', requestBody: anEvent({ id: 'event1' }) });
    expect(made.data).toMatchObject({ id: 'event1', start: { dateTime: '2027-03-01T09:00:00+01:00' } });
    const one = { ...withId, eventId: 'event1' };
    const changed = await client.events.update(
      { ...one, requestBody: anEvent({ summary: 'Changed' }) },
      { headers: { 'If-Match': String(made.data.etag) } },
    );
    expect(changed.data.summary).toBe('Changed');
    const patched = await client.events.patch({ ...one, requestBody: { location: 'Room 1' } });
    expect(patched.data).toMatchObject({ summary: 'Changed', location: 'Room 1' });
    expect((await client.events.delete(one)).status).toBe(204);
    expect((await client.events.get(one)).data.status).toBe('cancelled');
    expect(sandbox.counts.quotaUnits).toBe(7);
  });

  it('lists with repeated filters, pages and sync tokens', async () => {
    const { client, withId, sandbox, calendarId } = await startWithClient();
    for (const day of [1, 2, 3]) {
      const extendedProperties = { private: { source: 'us', day: String(day) } };
      sandbox.addByHand(calendarId, anEvent({ id: `event${day}`, extendedProperties }, day));
    }
    const filtered = await client.events.list({ ...withId, privateExtendedProperty: ['source=us', 'day=2'] });
    expect(filtered.data.items?.map((event) => event.id)).toEqual(['event2']);
    const first = await client.events.list({ ...withId, maxResults: 2, fields: 'nextPageToken,items(id)' });
    expect(first.data.items).toEqual([{ id: 'event1' }, { id: 'event2' }]);
    const second = await client.events.list({ ...withId, maxResults: 2, pageToken: String(first.data.nextPageToken) });
    sandbox.deleteByHand(calendarId, 'event1');
    const changes = await client.events.list({ ...withId, syncToken: String(second.data.nextSyncToken) });
    expect(changes.data.items).toMatchObject([{ id: 'event1', status: 'cancelled' }]);
  });

  it('sees errors with code, reason and domain', async () => {
    const { client, withId, sandbox } = await startWithClient();
    const requestBody = anEvent({ id: 'event1' });
    await client.events.insert({ ...withId, requestBody });
    await expect(client.events.insert({ ...withId, requestBody })).rejects.toMatchObject({
      status: 409,
      response: { data: { error: { errors: [{ domain: 'global', reason: 'duplicate' }] } } },
    });
    sandbox.faults.add({ times: 1, fault: { kind: 'status', status: 503 } });
    await expect(client.events.list(withId)).rejects.toMatchObject({ status: 503 });
    sandbox.faults.add({ times: 1, fault: { kind: 'lost-answer' } });
    await expect(client.events.insert({ ...withId, requestBody: anEvent({ id: 'event2' }) })).rejects.toThrow();
    expect(sandbox.event(withId.calendarId, 'event2')).toBeDefined();
  });

  it('uses calendars, access rules and watches', async () => {
    const { client, sandbox } = await startWithClient();
    const made = await client.calendars.insert({ requestBody: { summary: 'Mirror', timeZone: 'Europe/Zurich' } });
    const calendarId = String(made.data.id);
    expect((await client.calendars.get({ calendarId })).data.summary).toBe('Mirror');
    expect((await client.calendarList.list()).data.items).toHaveLength(3);
    const requestBody = { role: 'reader', scope: { type: 'user', value: 'nurse@clinic.example' } };
    await client.acl.insert({ calendarId, sendNotifications: false, requestBody });
    expect((await client.acl.list({ calendarId })).data.items).toHaveLength(2);
    expect(sandbox.counts.mails).toBe(0);
    const channel = { id: 'channel-1', type: 'web_hook', address: 'http://127.0.0.1:9/hook' };
    const watch = await client.events.watch({ calendarId, requestBody: channel });
    const { id, resourceId } = watch.data;
    const stopped = await client.channels.stop({ requestBody: { id: String(id), resourceId: String(resourceId) } });
    expect(stopped.status).toBe(204);
    expect((await client.calendars.delete({ calendarId })).status).toBe(204);
  });
});
