import { describe, expect, test } from 'vitest';
import type { CrmItem } from '../../../src/core/model/items.ts';
import { contact, describeOutcome, failure, meeting, startWorld, type Target, type World } from './support.ts';

const START_AT = Date.parse('2026-12-01T09:00:00Z');

/** Opens the patients' contacts `anna` and `bert`, and a target for their objects. */
async function open(stream: 'appointments' | 'invoices' = 'appointments') {
  const world = await startWorld();
  const contacts = await world.target();
  await contacts.write(contacts.create('anna', contact()), contacts.create('bert', contact()));
  const target = await world.target({ stream });
  const keyOf = (patient: string) => contacts.identity.key(patient, 0);
  return { world, contacts, target, keyOf };
}

function contactsOf(world: World, target: Target, recordId: string, object: 'meetings' | 'deals' = 'meetings') {
  return world.sandbox.associated(object, world.record(target, object, recordId)!.id, 'contacts');
}

function idOf(world: World, contacts: Target, patient: string): string {
  return world.record(contacts, 'contacts', patient)!.id;
}

describe('a meeting', () => {
  test('belongs to its contact, at the time of its appointment', async () => {
    const { world, contacts, target, keyOf } = await open();
    const [outcome] = await target.write(target.create('visit', meeting(keyOf('anna'))));
    expect(outcome).toMatchObject({ effect: 'created', stored: meeting(keyOf('anna')) });
    expect(contactsOf(world, target, 'visit')).toEqual([idOf(world, contacts, 'anna')]);
    expect(world.record(target, 'meetings', 'visit')?.properties).toMatchObject({
      hs_timestamp: '2026-12-01T09:00:00.000Z',
      hs_meeting_start_time: '2026-12-01T09:00:00.000Z',
      hs_meeting_end_time: '2026-12-01T09:30:00.000Z',
    });
  });

  test('keeps the times that the mapping gives', async () => {
    const { world, keyOf } = await open();
    const target = await world.target({
      stream: 'appointments',
      properties: [
        { name: 'hs_timestamp', kind: 'instant' },
        { name: 'hs_meeting_start_time', kind: 'instant' },
      ],
    });
    const properties = { hs_timestamp: '2026-12-01T10:00:00.000Z', hs_meeting_start_time: null };
    await target.write(target.create('visit', { properties, contactKey: keyOf('anna'), startAt: START_AT }));
    expect(world.record(target, 'meetings', 'visit')?.properties).toMatchObject({
      hs_timestamp: '2026-12-01T10:00:00.000Z',
      hs_meeting_start_time: '2026-12-01T09:00:00.000Z',
    });
  });

  test('that a user separated from its contact is read as separated, and joined again by the next write', async () => {
    const { world, contacts, target, keyOf } = await open();
    const item = meeting(keyOf('anna'));
    await target.write(target.create('visit', item), target.create('alone', meeting(null)));
    const path = `/crm/v4/objects/meetings/${world.record(target, 'meetings', 'visit')!.id}/associations/contacts`;
    await fetch(`${world.sandbox.url}${path}/${idOf(world, contacts, 'anna')}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${world.sandbox.issuePrivateToken()}` },
    });

    expect((await target.readAll()).map((remote) => remote.item)).toEqual([
      { ...item, contactRecreations: 0 },
      meeting(null),
    ]);
    await target.write(target.create('visit', item));
    expect((await target.readAll())[0]?.item).toEqual(item);
    expect(contactsOf(world, target, 'visit')).toEqual([idOf(world, contacts, 'anna')]);
  });

  test('whose contact is absent waits, and the other meetings continue', async () => {
    const { world, contacts, target, keyOf } = await open();
    const [late, other] = [
      target.create('late', meeting(keyOf('carl'))),
      target.create('other', meeting(keyOf('anna'))),
    ];
    const outcomes = await target.apply(late, other);
    expect(failure(outcomes[0])).toMatchObject({ code: 'contact-missing', actor: 'remote', retry: 'later' });
    expect(describeOutcome(outcomes[1]!)).toBe('written created');
    expect(world.sandbox.records('meetings')).toHaveLength(1);
    await contacts.write(contacts.create('carl', contact()));
    expect((await target.write(late))[0]?.effect).toBe('created');
    expect(contactsOf(world, target, 'late')).toEqual([idOf(world, contacts, 'carl')]);
  });

  test('moves to another contact when its patient changes, and keeps associations added by a user', async () => {
    const { world, contacts, target, keyOf } = await open();
    const [created] = await target.write(target.create('visit', meeting(keyOf('anna'))));
    const relative = world.sandbox.add('contacts', { firstname: 'Relative' });
    await fetch(
      `${world.sandbox.apiUrl}/crm/v4/objects/meetings/${created!.remoteId}/associations/default/contacts/${relative}`,
      { method: 'PUT', headers: { authorization: `Bearer ${world.sandbox.issuePrivateToken()}` } },
    );
    await target.write(target.update('visit', meeting(keyOf('bert')), created!.remoteId));
    const expected = [idOf(world, contacts, 'bert'), relative].sort();
    expect(contactsOf(world, target, 'visit').sort()).toEqual(expected);
  });

  test('is joined by the next try when the first one broke off after it was written', async () => {
    const { world, contacts, target, keyOf } = await open();
    const [created] = await target.write(target.create('visit', meeting(keyOf('anna'))));
    world.sandbox.faults.add({ match: { path: '/associate/default' }, times: 1, fault: { kind: 'cut' } });
    const update = target.update('visit', meeting(keyOf('bert')), created!.remoteId);
    await expect(target.apply(update)).rejects.toMatchObject({ actor: 'remote' });
    await target.write(update);
    expect(contactsOf(world, target, 'visit')).toEqual([idOf(world, contacts, 'bert')]);
  });

  test('fails separately if its contact disappears in the middle', async () => {
    const { world, target, keyOf } = await open();
    const patients = ['anna', 'bert'];
    const created = await target.write(...patients.map((patient) => target.create(patient, meeting(keyOf(patient)))));
    const [gone, joined] = created.map(({ remoteId }) => remoteId!);
    const body = {
      results: [{ from: { id: joined } }],
      errors: [{ category: 'OBJECT_NOT_FOUND', context: { fromObjectId: [gone] } }],
    };
    world.sandbox.faults.add({
      match: { path: '/associate/default' },
      times: 1,
      fault: { kind: 'status', status: 207, body },
    });
    const updates = created.map(({ recordId, remoteId }) =>
      target.update(recordId, meeting(keyOf(recordId)), remoteId),
    );
    const outcomes = await target.apply(...updates);
    expect(Object.fromEntries(outcomes.map((outcome) => [outcome.recordId, describeOutcome(outcome)]))).toEqual({
      anna: 'failed contact-missing',
      bert: 'written updated',
    });
  });

  test('costs five requests for a hundred, two of them searches, for any number of contacts', async () => {
    const { world, target, keyOf } = await open();
    const before = world.sandbox.counts.httpRequests;
    const patients = ['anna', 'bert'];
    const operations = Array.from({ length: 100 }, (_, index) =>
      target.create(`visit-${index}`, meeting(keyOf(patients[index % 2]!), START_AT + index * 3_600_000)),
    );
    await target.write(...operations);
    expect(world.sandbox.counts.httpRequests - before).toBe(5);
    expect(world.sandbox.counts.searches).toBe(2);
    expect(world.sandbox.counts.associations).toBe(100);
  });
});

describe('a deal', () => {
  const deal = (contactKey: string, amount: number): CrmItem => ({
    properties: { dealname: 'Invoice 17', amount, closedate: '2026-11-30' },
    contactKey,
    startAt: Date.parse('2026-11-01T00:00:00Z'),
  });

  test('belongs to its contact, with a day in a property of instants', async () => {
    const { world, contacts, target, keyOf } = await open('invoices');
    const wanted = deal(keyOf('anna'), 120.5);
    const [outcome] = await target.write(target.create('17', wanted));
    expect(outcome?.stored).toEqual(wanted);
    expect(world.record(target, 'deals', '17')?.properties).toMatchObject({
      amount: '120.5',
      closedate: '2026-11-30T00:00:00.000Z',
    });
    expect(contactsOf(world, target, '17', 'deals')).toEqual([idOf(world, contacts, 'anna')]);
    expect((await target.readAll()).map(({ item }) => item)).toEqual([wanted]);
  });
});
