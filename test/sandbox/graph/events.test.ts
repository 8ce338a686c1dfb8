import { describe, expect, it } from 'vitest';
import { anEvent, DOCTOR, IMMUTABLE, property, startBench } from './support.ts';

describe('an event', () => {
  it('is made, read, changed in part and deleted', async () => {
    const { call, sandbox } = await startBench();
    const made = await call('POST', '/me/events', anEvent({ location: { displayName: 'Room 1' } }));
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      subject: 'Appointment',
      start: { dateTime: '2027-03-01T09:00:00.0000000', timeZone: 'UTC' },
      location: { displayName: 'Room 1' },
      showAs: 'busy',
      sensitivity: 'normal',
    });
    const path = `/users/${DOCTOR}/events/${made.body.id}`;
    const patched = await call('PATCH', path, { subject: 'Changed' });
    expect(patched.body).toMatchObject({ subject: 'Changed', location: { displayName: 'Room 1' } });
    expect(patched.body['@odata.etag']).not.toBe(made.body['@odata.etag']);
    expect(patched.body.changeKey).not.toBe(made.body.changeKey);
    expect((await call('GET', path)).body).toEqual(patched.body);
    expect((await call('DELETE', path)).status).toBe(204);
    for (const method of ['GET', 'DELETE']) {
      expect(await call(method, path)).toMatchObject({ status: 404, code: 'ErrorItemNotFound' });
    }
    expect(await call('PATCH', path, {})).toMatchObject({ status: 404, code: 'ErrorItemNotFound' });
    expect(sandbox.events(DOCTOR, 'default')).toEqual([]);
    expect(sandbox.events(DOCTOR, 'default', { includeDeleted: true })).toMatchObject([{ isDeleted: true }]);
  });

  it('is permanently gone after permanentDelete', async () => {
    const { call, sandbox } = await startBench();
    const { body } = await call('POST', '/me/events', anEvent());
    expect((await call('POST', `/me/events/${body.id}/permanentDelete`)).status).toBe(204);
    expect(sandbox.events(DOCTOR, 'default', { includeDeleted: true })).toEqual([]);
    expect((await call('GET', `/me/events/${body.id}`)).status).toBe(404);
  });

  it('cannot be removed permanently if the cloud lacks permanentDelete', async () => {
    const { call, sandbox } = await startBench({ permanentDelete: false });
    const { body } = await call('POST', '/me/events', anEvent());
    const answer = await call('POST', `/me/events/${body.id}/permanentDelete`);
    expect(answer).toMatchObject({ status: 400, code: 'BadRequest' });
    expect(sandbox.events(DOCTOR, 'default')).toHaveLength(1);
  });

  it('has a title of at most 255 characters, of which something shows', async () => {
    const { call } = await startBench();
    const titled = (subject: string) => call('POST', '/me/events', anEvent({ subject }));
    expect(await titled('a'.repeat(256))).toMatchObject({ status: 400, code: 'ErrorPropertyValidationFailure' });
    expect((await titled('a'.repeat(255))).status).toBe(201);
    expect((await titled('\u200b ')).body.subject).toBe('');
  });

  it('is returned again for an equal request with its transactionId if so configured, deleted or not', async () => {
    const { call, sandbox } = await startBench({ repeatedTransaction: 'answered' });
    const wanted = anEvent({ transactionId: 'once' });
    const first = await call('POST', '/me/events', wanted);
    sandbox.editByHand(DOCTOR, first.body.id, { subject: 'By hand' });
    const second = await call('POST', '/me/events', wanted);
    expect(second).toMatchObject({ status: 201, body: { id: first.body.id, subject: 'By hand' } });
    expect(second.body.createdDateTime).toBe(first.body.createdDateTime);
    sandbox.deleteByHand(DOCTOR, first.body.id);
    expect(await call('POST', '/me/events', wanted)).toMatchObject({ status: 201, body: { id: first.body.id } });
    expect(sandbox.events(DOCTOR, 'default')).toEqual([]);
    const other = anEvent({ transactionId: 'once', subject: 'Other' });
    expect((await call('POST', '/me/events', other)).code).toBe('ErrorDuplicateTransactionId');
  });

  it('is found only below its own calendar, and under its id letter by letter', async () => {
    const { call, sandbox } = await startBench();
    const calendar = sandbox.createCalendar(DOCTOR, 'Clinic');
    const { id } = (await call('POST', `/me/calendars/${calendar}/events`, anEvent())).body;
    expect((await call('GET', `/me/calendars/${calendar}/events/${id}`)).status).toBe(200);
    expect((await call('GET', `/me/events/${id}`)).status).toBe(200);
    const elsewhere = `/me/calendars/${sandbox.defaultCalendar(DOCTOR)}/events/${id}`;
    expect(await call('GET', elsewhere)).toMatchObject({ status: 404, code: 'ErrorItemNotFound' });
    const otherCase = `AA${id.slice(2).toLowerCase()}`;
    expect(await call('GET', `/me/events/${otherCase}`)).toMatchObject({ status: 404, code: 'ErrorItemNotFound' });
    expect(await call('GET', '/me/events/nonsense')).toMatchObject({ status: 400, code: 'ErrorInvalidIdMalformed' });
  });

  it('gets another id when it is moved, unless immutable ids are requested', async () => {
    const { call, sandbox } = await startBench();
    const calendar = sandbox.createCalendar(DOCTOR, 'Clinic');
    const made = await call('POST', '/me/events', anEvent(), IMMUTABLE);
    expect(made.headers.get('preference-applied')).toBe('IdType="ImmutableId"');
    const restId = (await call('GET', `/me/events/${made.body.id}`)).body.id;
    expect(restId).not.toBe(made.body.id);
    const moved = sandbox.moveByHand(DOCTOR, made.body.id, calendar);
    expect(moved).toMatchObject({ id: made.body.id, calendarId: calendar });
    expect((await call('GET', `/me/events/${restId}`)).status).toBe(404);
    expect((await call('GET', `/me/events/${made.body.id}`, undefined, IMMUTABLE)).body.id).toBe(made.body.id);
    expect((await call('GET', `/me/events/${moved.restId}`)).body.id).toBe(moved.restId);
  });

  it('has the default reminder of the mailbox, unless disabled', async () => {
    const { call } = await startBench();
    const silent = await call('POST', '/me/events', anEvent({ isReminderOn: false }));
    const byDefault = await call('POST', '/me/events', anEvent());
    expect(silent.body.isReminderOn).toBe(false);
    expect(byDefault.body).toMatchObject({ isReminderOn: true, reminderMinutesBeforeStart: 15 });
  });

  it('with guests sends mails, without none', async () => {
    const { call, sandbox } = await startBench();
    const quiet = await call('POST', '/me/events', anEvent());
    await call('DELETE', `/me/events/${quiet.body.id}`);
    expect(sandbox.counts.mails).toBe(0);
    const attendees = [DOCTOR, 'a@clinic.example', 'b@clinic.example'].map((address) => ({
      emailAddress: { address },
    }));
    const loud = await call('POST', '/me/events', anEvent({ attendees }));
    expect(sandbox.counts.mails).toBe(2);
    await call('PATCH', `/me/events/${loud.body.id}`, { attendees: attendees.slice(0, 2) });
    expect(sandbox.counts.mails).toBe(4);
    await call('DELETE', `/me/events/${loud.body.id}`);
    expect(sandbox.counts.mails).toBe(5);
  });
});

describe('a transactionId', () => {
  it('makes one event, answered 409 and 400 in turn', async () => {
    const { call, sandbox } = await startBench();
    const first = await call('POST', '/me/events', anEvent({ transactionId: 'key-1' }));
    expect(first.body.transactionId).toBe('key-1');
    const calendar = sandbox.createCalendar(DOCTOR, 'Clinic');
    const again = await call('POST', `/me/calendars/${calendar}/events`, anEvent({ transactionId: 'key-1' }));
    expect(again).toMatchObject({ status: 409, code: 'ErrorDuplicateTransactionId' });
    const third = await call('POST', '/me/events', anEvent({ transactionId: 'key-1' }));
    expect(third).toMatchObject({ status: 400, code: 'ErrorDuplicateTransactionId' });
    expect(third.body.error['@event.existingEventId']).toBeUndefined();
    expect(sandbox.events(DOCTOR, 'default')).toHaveLength(1);
    expect(sandbox.events(DOCTOR, calendar)).toHaveLength(0);
    const patched = await call('PATCH', `/me/events/${first.body.id}`, { transactionId: 'key-2' });
    expect(patched).toMatchObject({ status: 400, code: 'ErrorInvalidRequest' });
  });

  it('may name the event that it made', async () => {
    const { call } = await startBench({ duplicateTransactionStatus: 400, duplicateNamesEvent: true });
    const first = await call('POST', '/me/events', anEvent({ transactionId: 'key-1' }), IMMUTABLE);
    const again = await call('POST', '/me/events', anEvent({ transactionId: 'key-1' }), IMMUTABLE);
    expect(again.body.error).toMatchObject({
      code: 'ErrorDuplicateTransactionId',
      '@event.existingEventId': first.body.id,
      innerError: { 'request-id': expect.any(String), date: expect.any(String) },
    });
  });

  it.each([
    [true, 409],
    [false, 201],
  ])('after its event was deleted: remembered %s, answered %i', async (rememberTransactionIds, status) => {
    const { call, sandbox } = await startBench({ rememberTransactionIds, duplicateTransactionStatus: 409 });
    const first = await call('POST', '/me/events', anEvent({ transactionId: 'key-1' }));
    sandbox.deleteByHand(DOCTOR, first.body.id);
    expect((await call('POST', '/me/events', anEvent({ transactionId: 'key-1' }))).status).toBe(status);
  });
});

describe('extended properties', () => {
  const expand = (...names: string[]): string =>
    `$expand=${encodeURIComponent(`singleValueExtendedProperties($filter=${names.map((name) => `id eq '${property(name)}'`).join(' or ')})`)}`;

  it('are stored and told only when expanded', async () => {
    const { call } = await startBench();
    const singleValueExtendedProperties = [
      { id: property('MirrorMark'), value: 'ours' },
      { id: property('MirrorKey'), value: 'abc' },
    ];
    const made = await call('POST', '/me/events', anEvent({ singleValueExtendedProperties }));
    expect(made.body.singleValueExtendedProperties).toBeUndefined();
    const path = `/me/events/${made.body.id}`;
    expect((await call('GET', path)).body.singleValueExtendedProperties).toBeUndefined();
    const one = await call('GET', `${path}?${expand('MirrorKey')}`);
    expect(one.body.singleValueExtendedProperties).toEqual([{ id: property('MirrorKey'), value: 'abc' }]);
    const both = await call('GET', `${path}?${expand('MirrorMark', 'MirrorKey')}&$select=subject`);
    expect(both.body.singleValueExtendedProperties).toHaveLength(2);
    expect(both.body.start).toBeUndefined();
    expect((await call('GET', `${path}?${expand('mirrorkey')}`)).body.singleValueExtendedProperties).toBeUndefined();
    const changed = [{ id: property('MirrorKey').toLowerCase().replace('mirrorkey', 'MirrorKey'), value: 'def' }];
    await call('PATCH', path, { singleValueExtendedProperties: changed });
    const after = await call('GET', `${path}?${expand('MirrorMark', 'MirrorKey')}`);
    expect(after.body.singleValueExtendedProperties).toEqual([
      { id: property('MirrorMark'), value: 'ours' },
      { id: property('MirrorKey'), value: 'def' },
    ]);
  });

  it.each(['MirrorKey', 'String {nonsense} Name MirrorKey', `Text {6f1c7a52-3f0b-4a7e-9f6d-2b1a0c9d8e7f} Name X`])(
    'are refused with the id %s',
    async (id) => {
      const { call } = await startBench();
      const made = await call('POST', '/me/events', anEvent({ singleValueExtendedProperties: [{ id, value: 'x' }] }));
      expect(made).toMatchObject({ status: 400, code: 'ErrorPropertyValidationFailure' });
    },
  );
});

describe('If-Match', () => {
  it('lets only the current version be changed or deleted', async () => {
    const { call, sandbox } = await startBench();
    const made = await call('POST', '/me/events', anEvent());
    const path = `/me/events/${made.body.id}`;
    const old = { 'if-match': made.body['@odata.etag'] };
    expect((await call('PATCH', path, { subject: 'Two' }, old)).status).toBe(200);
    for (const [method, body] of [['PATCH', { subject: 'Three' }], ['DELETE']] as const) {
      expect(await call(method, path, body, old)).toMatchObject({ status: 412, code: 'ErrorIrresolvableConflict' });
    }
    sandbox.editByHand(DOCTOR, made.body.id, { subject: 'By hand' });
    expect((await call('DELETE', path, undefined, { 'if-match': '*' })).status).toBe(204);
  });

  it('isn’t needed for a conflict', async () => {
    const { call, sandbox } = await startBench();
    const made = await call('POST', '/me/events', anEvent());
    sandbox.faults.add({ match: { method: 'PATCH' }, times: 1, fault: { kind: 'conflict' } });
    const path = `/me/events/${made.body.id}`;
    expect(await call('PATCH', path, { subject: 'x' })).toMatchObject({
      status: 412,
      code: 'ErrorIrresolvableConflict',
    });
    expect((await call('PATCH', path, { subject: 'x' })).status).toBe(200);
  });
});

describe('a body', () => {
  it('comes back as Exchange keeps it', async () => {
    const { call, sandbox } = await startBench();
    const made = await call('POST', '/me/events', anEvent({ body: { contentType: 'text', content: 'a < b\nc' } }));
    expect(made.body.body.contentType).toBe('html');
    expect(made.body.body.content).toMatch(/^<html>\r\n<head>[\s\S]*a &lt; b<br>\r\nc[\s\S]*<\/html>\r\n$/);
    const asText = { prefer: 'outlook.body-content-type="text"' };
    const text = await call('GET', `/me/events/${made.body.id}`, undefined, asText);
    expect(text.body.body).toEqual({ contentType: 'text', content: 'a < b\r\nc\r\n' });
    expect(text.body.bodyPreview).toBe('a < b\r\nc');
    expect(sandbox.event(DOCTOR, made.body.id)?.body).toEqual({ contentType: 'text', content: 'a < b\nc' });
    const html = await call('PATCH', `/me/events/${made.body.id}`, {
      body: { contentType: 'HTML', content: '<p>Hi &amp; bye</p>' },
    });
    expect(html.body.body.content).toContain('<body>\r\n<p>Hi &amp; bye</p>');
    const again = await call('GET', `/me/events/${made.body.id}`, undefined, asText);
    expect(again.body.body.content).toBe('Hi & bye\r\n');
  });

  it('is unchanged if so configured', async () => {
    const { call } = await startBench({ normalizeBodies: false });
    const body = { contentType: 'text', content: 'a\nb' };
    expect((await call('POST', '/me/events', anEvent({ body }))).body.body).toEqual(body);
  });
});
