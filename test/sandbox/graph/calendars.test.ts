import { describe, expect, it } from 'vitest';
import { anEvent, DOCTOR, property, startBench } from './support.ts';

describe('calendars', () => {
  it('are made, listed, found by name, changed and deleted with their events', async () => {
    const { call, sandbox } = await startBench();
    const made = await call('POST', '/me/calendars', { name: 'Clinic', color: 'lightBlue' });
    expect(made).toMatchObject({ status: 201, body: { name: 'Clinic', color: 'lightBlue', isDefaultCalendar: false } });
    const path = `/users/${DOCTOR}/calendars/${made.body.id}`;
    expect((await call('GET', '/me/calendars')).body.value).toHaveLength(2);
    const found = await call('GET', `/me/calendars?$filter=${encodeURIComponent("name eq 'Clinic'")}&$select=name`);
    expect(found.body.value).toEqual([{ id: made.body.id, name: 'Clinic' }]);
    expect((await call('PATCH', path, { name: 'Practice' })).body.name).toBe('Practice');
    const { id } = (await call('POST', `${path}/events`, anEvent())).body;
    expect((await call('GET', '/me/events')).body.value).toEqual([]);
    expect((await call('DELETE', path)).status).toBe(204);
    expect(await call('GET', path)).toMatchObject({ status: 404, code: 'ErrorItemNotFound' });
    expect(await call('GET', `${path}/events`)).toMatchObject({ status: 404, code: 'ErrorItemNotFound' });
    expect(await call('GET', `/me/events/${id}`)).toMatchObject({ status: 404, code: 'ErrorItemNotFound' });
    expect(sandbox.calendars(DOCTOR)).toHaveLength(1);
  });

  it('carry extended properties, told only when expanded', async () => {
    const { call } = await startBench();
    const expand = (name: string): string =>
      `$expand=${encodeURIComponent(`singleValueExtendedProperties($filter=id eq '${property(name)}')`)}`;
    const mark = { id: property('MirrorMark'), value: 'ours' };
    const made = await call('POST', '/me/calendars', { name: 'Clinic', singleValueExtendedProperties: [mark] });
    expect(made.status).toBe(201);
    expect((await call('GET', `/me/calendars/${made.body.id}`)).body.singleValueExtendedProperties).toBeUndefined();
    const list = await call('GET', `/me/calendars?${expand('MirrorMark')}&$select=name`);
    expect(list.body.value).toMatchObject([
      { name: 'Calendar' },
      { name: 'Clinic', singleValueExtendedProperties: [mark] },
    ]);
    expect(list.body.value[0].singleValueExtendedProperties).toBeUndefined();
    const path = `/me/calendars/${made.body.id}`;
    const key = { id: property('MirrorKey'), value: 'abc' };
    expect((await call('PATCH', path, { singleValueExtendedProperties: [key] })).status).toBe(200);
    for (const each of [mark, key]) {
      const shown = await call('GET', `${path}?${expand(each === mark ? 'MirrorMark' : 'MirrorKey')}`);
      expect(shown.body.singleValueExtendedProperties).toEqual([each]);
    }
    const bad = { name: 'Other', singleValueExtendedProperties: [{ id: 'MirrorMark', value: 'x' }] };
    expect(await call('POST', '/me/calendars', bad)).toMatchObject({
      status: 400,
      code: 'ErrorPropertyValidationFailure',
    });
  });

  it('come in pages', async () => {
    const { call, sandbox } = await startBench();
    for (let number = 0; number < 11; number++) {
      sandbox.createCalendar(DOCTOR, `Calendar ${number}`);
    }
    const first = await call('GET', '/me/calendars');
    expect(first.body.value).toHaveLength(10);
    const second = await call('GET', first.body['@odata.nextLink']);
    expect(second.body.value).toHaveLength(2);
    expect(second.body['@odata.nextLink']).toBeUndefined();
  });

  it('keep one of their kind: the default stays, names are taken once', async () => {
    const { call } = await startBench();
    const standard = (await call('GET', '/me/calendar')).body;
    expect(standard.isDefaultCalendar).toBe(true);
    expect(await call('DELETE', `/me/calendars/${standard.id}`)).toMatchObject({
      status: 400,
      code: 'ErrorDeleteDistinguishedFolder',
    });
    expect(await call('POST', '/me/calendars', { name: 'calendar' })).toMatchObject({
      status: 409,
      code: 'ErrorFolderExists',
    });
    expect((await call('POST', '/me/calendars', {})).status).toBe(400);
    expect((await call('POST', '/me/calendars', { name: 'x', colour: 'red' })).status).toBe(400);
    expect(await call('GET', '/me/calendars/nonsense')).toMatchObject({ status: 400, code: 'ErrorInvalidIdMalformed' });
  });
});

describe('a mailbox that was moved elsewhere', () => {
  it('has its events and calendars under other ids, with their properties and transactionIds', async () => {
    const { sandbox, call } = await startBench();
    const calendar = (await call('POST', '/me/calendars', { name: 'Clinic' })).body.id;
    const event = anEvent({
      transactionId: 't-1',
      singleValueExtendedProperties: [{ id: property('Key'), value: 'k1' }],
    });
    const { id } = (await call('POST', `/me/calendars/${calendar}/events`, event)).body;

    sandbox.renewIds(DOCTOR);
    expect((await call('GET', `/me/events/${id}`)).status).toBe(404);
    const path = (of: string) => `/me/calendars/${of}/events?$filter=${encodeURIComponent(carries('k1'))}`;
    const found = (await call('GET', path(calendar))).body.value;
    expect(found).toHaveLength(1);
    expect(found[0].id).not.toBe(id);
    expect((await call('POST', `/me/calendars/${calendar}/events`, event)).body.error.code).toBe(
      'ErrorDuplicateTransactionId',
    );

    sandbox.renewIds(DOCTOR, { calendars: true });
    expect((await call('GET', path(calendar))).status).toBe(404);
    const moved = sandbox.calendars(DOCTOR).find(({ name }) => name === 'Clinic')?.id ?? '';
    expect((await call('GET', path(moved))).body.value).toHaveLength(1);
    expect((await call('GET', '/me/calendar')).body.id).toBe(sandbox.defaultCalendar(DOCTOR));
  });
});

function carries(value: string): string {
  return `singleValueExtendedProperties/Any(ep: ep/id eq '${property('Key')}' and ep/value eq '${value}')`;
}
