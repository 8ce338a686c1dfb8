import { describe, expect, it } from 'vitest';
import { anEvent, DOCTOR, startBench } from './support.ts';

const ID = 'abcdefghijklmnopqrstuv0123456789';

describe('creating events', () => {
  it('takes the id of the client and answers the whole event', async () => {
    const { call, events, calendarId } = await startBench();
    const answer = await call('POST', events, anEvent({ id: ID, visibility: 'private', location: 'Room 2' }));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      kind: 'calendar#event',
      id: ID,
      iCalUID: `${ID}@google.com`,
      status: 'confirmed',
      summary: 'Appointment',
      location: 'Room 2',
      visibility: 'private',
      sequence: 0,
      start: { dateTime: '2027-03-01T09:00:00+01:00', timeZone: 'Europe/Zurich' },
      end: { dateTime: '2027-03-01T10:00:00+01:00', timeZone: 'Europe/Zurich' },
      creator: { email: DOCTOR },
      organizer: { email: calendarId, self: true },
      reminders: { useDefault: true },
      eventType: 'default',
    });
    expect(answer.body.etag).toMatch(/^"\d+"$/);
    expect((await call('GET', `${events}/${ID}`)).body).toEqual(answer.body);
  });

  it('chooses a legal id when the client gives none', async () => {
    const { call, events } = await startBench();
    const { body } = await call('POST', events, anEvent());
    expect(body.id).toMatch(/^[a-v0-9]{26}$/);
  });

  it('refuses a taken id, also of a deleted event', async () => {
    const { call, events } = await startBench();
    await call('POST', events, anEvent({ id: ID }));
    expect(await call('POST', events, anEvent({ id: ID }))).toMatchObject({ status: 409, reason: 'duplicate' });
    await call('DELETE', `${events}/${ID}`);
    const again = await call('POST', events, anEvent({ id: ID }));
    expect(again.body).toEqual({
      error: {
        code: 409,
        message: 'The requested identifier already exists.',
        errors: [{ domain: 'global', reason: 'duplicate', message: 'The requested identifier already exists.' }],
      },
    });
  });

  it.each(['wxyz0', 'ABCDE', 'abc-def', 'abcd', 'a'.repeat(1025)])('refuses the id %s', async (id) => {
    const { call, events } = await startBench();
    expect(await call('POST', events, anEvent({ id }))).toMatchObject({ status: 400, reason: 'invalid' });
  });

  it('reads an id of the full length back', async () => {
    const { call, events } = await startBench();
    const id = 'v'.repeat(1024);
    await call('POST', events, anEvent({ id }));
    expect((await call('GET', `${events}/${id}`)).status).toBe(200);
  });

  it('takes id or iCalUID, not both', async () => {
    const { call, events } = await startBench();
    expect((await call('POST', events, anEvent({ id: ID, iCalUID: 'uid@clinic' }))).status).toBe(400);
    const first = await call('POST', events, anEvent({ iCalUID: 'uid@clinic' }));
    expect(first.body.iCalUID).toBe('uid@clinic');
    expect((await call('POST', events, anEvent({ iCalUID: 'uid@clinic' }))).status).toBe(409);
  });
});

describe('changing events', () => {
  it('replaces everything with PUT', async () => {
    const { call, events } = await startBench();
    await call('POST', events, anEvent({ id: ID, description: 'first', colorId: '5' }));
    const put = await call('PUT', `${events}/${ID}`, anEvent({ summary: 'Second' }));
    expect(put.body.summary).toBe('Second');
    expect(put.body).not.toHaveProperty('description');
    expect(put.body).not.toHaveProperty('colorId');
    const withoutEnd = { summary: 'x', start: anEvent().start };
    expect(await call('PUT', `${events}/${ID}`, withoutEnd)).toMatchObject({ status: 400, reason: 'required' });
  });

  it('counts an absent sequence of a PUT as 0 where so configured; a PATCH keeps the stored one', async () => {
    const { call, events } = await startBench({ absentSequence: 'zero' });
    await call('POST', events, anEvent({ id: ID }));
    const moved = { start: { dateTime: '2027-03-01T11:00:00Z' }, end: { dateTime: '2027-03-01T12:00:00Z' } };
    expect((await call('PATCH', `${events}/${ID}`, moved)).body.sequence).toBe(1);
    expect((await call('PATCH', `${events}/${ID}`, { summary: 'Changed' })).status).toBe(200);
    expect(await call('PUT', `${events}/${ID}`, anEvent())).toMatchObject({ status: 400, reason: 'invalid' });
    expect((await call('PUT', `${events}/${ID}`, anEvent({ sequence: 1 }))).status).toBe(200);
  });

  it('keeps the id of a purged event reserved, and shows none of its data', async () => {
    const { call, events, sandbox, calendarId } = await startBench();
    await call('POST', events, anEvent({ id: ID }));
    sandbox.purge(calendarId, ID);
    expect((await call('GET', `${events}/${ID}`)).status).toBe(404);
    expect(await call('POST', events, anEvent({ id: ID }))).toMatchObject({ status: 409, reason: 'duplicate' });
    expect((await call('GET', `${events}?showDeleted=true`)).body.items).toEqual([]);
  });

  it('takes a description of 8,192 characters', async () => {
    const { call, events } = await startBench();
    expect((await call('POST', events, anEvent({ description: 'a'.repeat(8_192) }))).status).toBe(200);
    expect((await call('POST', events, anEvent({ description: 'a'.repeat(8_193) }))).status).toBe(400);
  });

  it('merges with PATCH: objects by key, arrays whole, null removes', async () => {
    const { call, events } = await startBench();
    const attendees = [{ email: 'a@x.example' }, { email: 'b@x.example' }];
    const extendedProperties = { private: { one: '1', two: '2' } };
    await call('POST', events, anEvent({ id: ID, description: 'gone soon', attendees, extendedProperties }));
    const { body } = await call('PATCH', `${events}/${ID}`, {
      description: null,
      attendees: [{ email: 'c@x.example' }],
      extendedProperties: { private: { two: null, three: '3' } },
    });
    expect(body).not.toHaveProperty('description');
    expect(body.summary).toBe('Appointment');
    expect(body.attendees).toEqual([{ email: 'c@x.example', responseStatus: 'needsAction' }]);
    expect(body.extendedProperties).toEqual({ private: { one: '1', three: '3' } });
  });

  it('takes back what it answered, as get and update do', async () => {
    const { call, events } = await startBench();
    const { body } = await call('POST', events, anEvent({ id: ID }));
    expect((await call('PUT', `${events}/${ID}`, { ...body, summary: 'Changed' })).body.summary).toBe('Changed');
  });

  it('refuses a body with another id or iCalUID than the event has', async () => {
    const { call, events } = await startBench();
    await call('POST', events, anEvent({ id: ID }));
    expect((await call('PUT', `${events}/${ID}`, anEvent({ id: 'other' }))).status).toBe(400);
    expect((await call('PUT', `${events}/${ID}`, anEvent({ iCalUID: 'other' }))).status).toBe(400);
  });

  it('changes the etag with each write and guards writes by it', async () => {
    const { call, events } = await startBench();
    const first = (await call('POST', events, anEvent({ id: ID }))).body.etag;
    const stale = { 'if-match': first };
    const second = (await call('PUT', `${events}/${ID}`, anEvent(), stale)).body.etag;
    expect(second).not.toBe(first);
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const body = method === 'DELETE' ? undefined : anEvent();
      expect(await call(method, `${events}/${ID}`, body, stale)).toMatchObject({
        status: 412,
        reason: 'conditionNotMet',
      });
    }
    expect((await call('PUT', `${events}/${ID}`, anEvent(), { 'if-match': '*' })).status).toBe(200);
    const third = (await call('GET', `${events}/${ID}`)).body.etag;
    expect((await call('DELETE', `${events}/${ID}`, undefined, { 'if-match': third })).status).toBe(204);
  });

  it('answers 304 to a GET that names the current etag', async () => {
    const { call, events } = await startBench();
    const { etag } = (await call('POST', events, anEvent({ id: ID }))).body;
    const unchanged = await call('GET', `${events}/${ID}`, undefined, { 'if-none-match': etag });
    expect([unchanged.status, unchanged.body]).toEqual([304, undefined]);
    await call('PATCH', `${events}/${ID}`, { summary: 'New' });
    expect((await call('GET', `${events}/${ID}`, undefined, { 'if-none-match': etag })).status).toBe(200);
  });

  it('raises the sequence when the time moves and refuses a lower one', async () => {
    const { call, events } = await startBench();
    await call('POST', events, anEvent({ id: ID, sequence: 3 }));
    expect((await call('PUT', `${events}/${ID}`, anEvent({ summary: 'same time' }))).body.sequence).toBe(3);
    expect((await call('PUT', `${events}/${ID}`, anEvent({}, 2))).body.sequence).toBe(4);
    const lower = await call('PUT', `${events}/${ID}`, anEvent({ sequence: 2 }));
    expect([lower.status, lower.body.error.message]).toEqual([400, expect.stringMatching(/^Invalid sequence value/)]);
  });

  it('keeps `updated` when only reminders change', async () => {
    let now = 1_800_000_000_000;
    const { call, events } = await startBench({ now: () => now });
    const created = (await call('POST', events, anEvent({ id: ID }))).body;
    now += 60_000;
    const reminders = { useDefault: false, overrides: [{ method: 'popup', minutes: 10 }] };
    const reminded = (await call('PUT', `${events}/${ID}`, anEvent({ reminders }))).body;
    expect(reminded.updated).toBe(created.updated);
    expect(reminded.reminders).toEqual(reminders);
    expect((await call('PUT', `${events}/${ID}`, anEvent({ summary: 'x' }))).body.updated).not.toBe(created.updated);
  });
});

describe('deleting events', () => {
  it('leaves a cancelled event that can still be read with its content', async () => {
    const { call, events, sandbox, calendarId } = await startBench();
    await call('POST', events, anEvent({ id: ID, description: 'still here' }));
    expect((await call('DELETE', `${events}/${ID}`)).status).toBe(204);
    expect((await call('GET', `${events}/${ID}`)).body).toMatchObject({
      status: 'cancelled',
      description: 'still here',
    });
    expect(await call('DELETE', `${events}/${ID}`)).toMatchObject({ status: 410, reason: 'deleted' });
    expect(sandbox.events(calendarId)).toEqual([]);
    expect(sandbox.events(calendarId, { includeDeleted: true })).toHaveLength(1);
  });

  it('revives with PUT and status confirmed, not without', async () => {
    const { call, events } = await startBench();
    await call('POST', events, anEvent({ id: ID }));
    await call('DELETE', `${events}/${ID}`);
    expect((await call('PUT', `${events}/${ID}`, anEvent())).body.status).toBe('cancelled');
    expect((await call('PUT', `${events}/${ID}`, anEvent({ status: 'confirmed' }))).body.status).toBe('confirmed');
  });

  it('refuses a revival on demand, and nothing else', async () => {
    const { call, events, sandbox } = await startBench();
    sandbox.faults.add({ fault: { kind: 'revival-forbidden' } });
    await call('POST', events, anEvent({ id: ID }));
    expect((await call('PUT', `${events}/${ID}`, anEvent({ status: 'confirmed' }))).status).toBe(200);
    await call('DELETE', `${events}/${ID}`);
    expect((await call('PUT', `${events}/${ID}`, anEvent({ status: 'confirmed' }))).status).toBe(403);
    expect((await call('GET', `${events}/${ID}`)).body.status).toBe('cancelled');
  });

  it('answers 404 for an event that never existed', async () => {
    const { call, events } = await startBench();
    for (const [method, body] of [['GET'], ['PUT', anEvent()], ['PATCH', {}], ['DELETE']] as const) {
      expect(await call(method, `${events}/neverwas`, body)).toMatchObject({ status: 404, reason: 'notFound' });
    }
  });
});

describe('importing events', () => {
  it('adds a copy by iCalUID and updates it when repeated', async () => {
    const { call, events, sandbox, calendarId } = await startBench();
    const copy = { iCalUID: 'uid@elsewhere', organizer: { email: 'boss@elsewhere.example' } };
    const first = await call('POST', `${events}/import`, anEvent(copy));
    expect(first.body).toMatchObject({ ...copy, privateCopy: true });
    const second = await call('POST', `${events}/import`, anEvent({ ...copy, summary: 'Again' }));
    expect(second.body.id).toBe(first.body.id);
    expect(sandbox.events(calendarId)).toMatchObject([{ summary: 'Again' }]);
    expect(await call('POST', `${events}/import`, anEvent())).toMatchObject({ status: 400, reason: 'required' });
  });
});

describe('mails', () => {
  it('are sent to guests only if sendUpdates is set', async () => {
    const { call, events, sandbox } = await startBench();
    sandbox.addAccount('colleague@clinic.example');
    const attendees = [{ email: 'colleague@clinic.example' }, { email: 'patient@outside.example' }, { email: DOCTOR }];
    const path = `${events}/${ID}`;
    await call('POST', events, anEvent({ id: ID, attendees }));
    await call('PUT', `${path}?sendUpdates=none`, anEvent({ attendees }));
    expect(sandbox.counts.mails).toBe(0);
    await call('PUT', `${path}?sendUpdates=all`, anEvent({ attendees }));
    expect(sandbox.counts.mails).toBe(2);
    await call('PATCH', `${path}?sendUpdates=externalOnly`, {});
    expect(sandbox.counts.mails).toBe(3);
    await call('DELETE', `${path}?sendNotifications=true`);
    expect(sandbox.counts.mails).toBe(5);
  });

  it('are not sent when the value is unknown, for nothing happens', async () => {
    const { call, events, sandbox, calendarId } = await startBench();
    expect((await call('POST', `${events}?sendUpdates=some`, anEvent({ id: ID }))).status).toBe(400);
    expect(sandbox.event(calendarId, ID)).toBeUndefined();
  });
});

describe('manual changes', () => {
  it('a user adds, edits and deletes events, without quota', async () => {
    const { call, events, sandbox, calendarId } = await startBench();
    const { id } = sandbox.addByHand(calendarId, anEvent({ summary: 'Lunch' }));
    const before = (await call('GET', `${events}/${id}`)).body.etag;
    sandbox.editByHand(calendarId, id, { summary: 'Long lunch' });
    expect((await call('GET', `${events}/${id}`)).body).toMatchObject({ summary: 'Long lunch' });
    expect((await call('GET', `${events}/${id}`)).body.etag).not.toBe(before);
    sandbox.deleteByHand(calendarId, id);
    expect((await call('GET', `${events}/${id}`)).body.status).toBe('cancelled');
    expect(sandbox.counts.quotaUnits).toBe(4);
    expect(() => sandbox.editByHand(calendarId, 'nothing', {})).toThrow('no event');
  });
});

describe('the source of an event', () => {
  it('is shown only to its creator, and to no other writer', async () => {
    const { call, events, sandbox, as, calendarId } = await startBench();
    const source = { url: 'https://clinic.example/a/1', title: 'clinic.example' };
    expect((await call('POST', events, anEvent({ id: ID, source }))).body.source).toEqual(source);
    sandbox.addAccount('nurse@clinic.example');
    sandbox.setRole(calendarId, 'nurse@clinic.example', 'writer');
    const nurse = as(sandbox.issueAccessToken('nurse@clinic.example'));
    const path = `/calendars/${encodeURIComponent(calendarId)}/events`;
    expect((await nurse('GET', `${path}/${ID}`)).body).not.toHaveProperty('source');
    expect((await nurse('GET', path)).body.items[0]).not.toHaveProperty('source');
    expect((await nurse('PATCH', `${path}/${ID}`, { summary: 'New' })).body).not.toHaveProperty('source');
    expect((await call('GET', `${events}/${ID}`)).body.source).toEqual(source);
  });
});
