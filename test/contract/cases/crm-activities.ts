import { expect } from 'vitest';
import type { StreamName } from '../../../src/core/model/items.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { deleteOperation, describeOutcome, failure, keyOf, updateOperation, written } from '../contract-kit.ts';
import { type CrmKit, createContact } from '../crm-kit.ts';

/** Appointments become activities and invoices become deals. Each belongs to a managed contact, which may not exist yet. */
export const crmActivities = group<CrmKit>('activities and their contacts', {
  'an activity belongs to its contact': belongs('appointments'),
  'a deal belongs to its contact': belongs('invoices'),
  'only an activity without its contact fails, and it succeeds once the contact exists': missing('appointments'),
  'only a deal without its contact fails, and it succeeds once the contact exists': missing('invoices'),
  'an activity that goes over to another contact leaves the first': moves('appointments'),
  'a deal that goes over to another contact leaves the first': moves('invoices'),
  'an activity that a user moved to another contact is an edit, and is moved back': givenAway('appointments'),
  'a deal that a user moved to another contact is an edit, and is moved back': givenAway('invoices'),
  'an activity of no patient is written without a contact': async (patients) => {
    const kit = await patients.beside('appointments');
    const row = await kit.expectKept(kit.toCreate('a', kit.row({}, { contactKey: null })));
    expect(row.contactIds).toEqual([]);
  },
  'an activity that loses its patient leaves its contact': async (patients) => {
    const kit = await patients.beside('appointments');
    const { key } = await createContact(patients, 'p1');
    const [created] = await kit.attempt([kit.toCreate('a', kit.row({}, { contactKey: key }))]);
    const alone = kit.row({}, { contactKey: null });
    const row = await kit.expectKept(updateOperation('a', alone, null, written(created).remoteId));
    expect(row.contactIds).toEqual([]);
  },
  'many activities of few contacts go together, each to its own': async (patients) => {
    const kit = await patients.beside('appointments');
    const contacts = await Promise.all(['p1', 'p2', 'p3'].map((recordId) => createContact(patients, recordId)));
    const operations = Array.from({ length: 24 }, (_, index) =>
      kit.toCreate(`r${index}`, kit.row({}, { contactKey: contacts[index % 3]!.key })),
    );
    const outcomes = await kit.attempt(operations);
    expect(outcomes.map(describeOutcome)).toEqual(operations.map(() => 'written created'));
    for (const [index, { recordId }] of operations.entries()) {
      expect((await kit.object(recordId)).contactIds).toEqual([contacts[index % 3]!.remoteId]);
    }
  },
  'start and contact of an activity read back unchanged': async (patients) => {
    const kit = await patients.beside('appointments');
    const { key } = await createContact(patients, 'p1');
    const startAt = Date.parse('2027-10-31T01:30:00Z');
    const operation = kit.toCreate('a', kit.row({}, { contactKey: key, startAt }));
    await kit.expectKept(operation);
    expect((await kit.readAll())[0]?.item).toMatchObject({ contactKey: key, startAt });
  },
  'a window of activities returns those that start in it': async (patients) => {
    const kit = await patients.beside('appointments');
    const on = (date: string) => kit.row({}, { startAt: Date.parse(`${date}T09:00:00Z`) });
    await kit.attempt([
      kit.toCreate('early', on('2027-01-10')),
      kit.toCreate('inside', on('2027-01-20')),
      kit.toCreate('late', on('2027-01-30')),
    ]);
    const window = { fromAt: Date.parse('2027-01-15T00:00:00Z'), toAt: Date.parse('2027-01-25T00:00:00Z') };
    expect((await kit.readAll(kit.connector, window)).map(({ key }) => key)).toEqual([keyOf('inside')]);
  },
  'an activity that is deleted leaves its contact': async (patients) => {
    const kit = await patients.beside('appointments');
    const { key } = await createContact(patients, 'p1');
    const [created] = await kit.attempt([kit.toCreate('a', kit.row({}, { contactKey: key }))]);
    const { versionTag, remoteId } = written(created);
    const before = await patients.object('p1');
    expect(describeOutcome((await kit.attempt([deleteOperation('a', versionTag, remoteId)]))[0])).toBe(
      'deleted deleted',
    );
    expect(await patients.object('p1')).toEqual(before);
  },
  'the same activity twice is one object with one contact': async (patients) => {
    const kit = await patients.beside('appointments');
    const { key, remoteId } = await createContact(patients, 'p1');
    const operation = kit.toCreate('a', kit.row({}, { contactKey: key }));
    await kit.attempt([operation]);
    expect(describeOutcome((await kit.attempt([operation]))[0])).toBe('written adopted');
    expect((await kit.object('a')).contactIds).toEqual([remoteId]);
  },
  'an activity whose answer was lost before its contact was set gets the contact eventually': async (patients) => {
    const kit = await patients.beside('appointments');
    const { key, remoteId } = await createContact(patients, 'p1');
    kit.target.proxy.add({ ...kit.target.dialect.writes, fault: { kind: 'lost-answer' } });
    const [outcome] = await kit.deliver([kit.toCreate('a', kit.row({}, { contactKey: key }))]);
    written(outcome);
    expect((await kit.object('a')).contactIds).toEqual([remoteId]);
  },
  'an activity whose write broke off at any request reads as written only when it has its contact': async (
    patients,
  ) => {
    const kit = await patients.beside('appointments');
    const { key, remoteId } = await createContact(patients, 'p1');
    for (let after = 0, isWhole = false; !isWhole; after += 1) {
      const recordId = `r${after}`;
      const item = kit.row({}, { contactKey: key });
      kit.target.proxy.forget();
      kit.target.proxy.add({ url: /./, after, fault: { kind: 'cut' } });
      await kit.attempt([kit.toCreate(recordId, item)]).catch(() => []);
      kit.target.proxy.clear();
      isWhole = kit.target.proxy.requests.length <= after;
      const read = (await kit.readAll()).find((one) => one.key === keyOf(recordId));
      if (read === undefined || !kit.isAs(read, item)) continue;
      expect((await kit.object(recordId)).contactIds, `broken off at request ${after + 1}`).toEqual([remoteId]);
    }
  },
});

function belongs(stream: StreamName): ContractCase<CrmKit>['run'] {
  return async (patients) => {
    const kit = await patients.beside(stream);
    const { key, remoteId } = await createContact(patients, 'p1');
    await createContact(patients, 'p2');
    const row = await kit.expectKept(kit.toCreate('a', kit.row({}, { contactKey: key })));
    expect(row.contactIds).toEqual([remoteId]);
  };
}

function missing(stream: StreamName): ContractCase<CrmKit>['run'] {
  return async (patients) => {
    const kit = await patients.beside(stream);
    const { key, remoteId } = await createContact(patients, 'p1');
    const late = kit.toCreate('late', kit.row({}, { contactKey: keyOf('p2') }));
    const outcomes = await kit.attempt([kit.toCreate('a', kit.row({}, { contactKey: key })), late, kit.toCreate('b')]);
    expect(outcomes.map(({ result }) => result)).toEqual(['written', 'failed', 'written']);
    expect(failure(outcomes[1])).toMatchObject({ actor: 'remote', retry: 'later', code: 'contact-missing' });
    expect((await kit.object('a')).contactIds).toEqual([remoteId]);
    const contact = await createContact(patients, 'p2');
    expect((await kit.expectKept(late)).contactIds).toEqual([contact.remoteId]);
  };
}

function moves(stream: StreamName): ContractCase<CrmKit>['run'] {
  return async (patients) => {
    const kit = await patients.beside(stream);
    const [one, other] = [await createContact(patients, 'p1'), await createContact(patients, 'p2')];
    const [created] = await kit.attempt([kit.toCreate('a', kit.row({}, { contactKey: one.key }))]);
    const moved = kit.row({}, { contactKey: other.key });
    const row = await kit.expectKept(updateOperation('a', moved, null, written(created).remoteId));
    expect(row.contactIds).toEqual([other.remoteId]);
  };
}

function givenAway(stream: StreamName): ContractCase<CrmKit>['run'] {
  return async (patients) => {
    const kit = await patients.beside(stream);
    const [one, other] = [await createContact(patients, 'p1'), await createContact(patients, 'p2')];
    const item = kit.row({}, { contactKey: one.key });
    const [created] = await kit.attempt([kit.toCreate('a', item)]);
    const { remoteId } = await kit.object('a');
    await kit.target.server.giveByHand!(remoteId, other.remoteId);
    const [given] = await kit.readAll();
    expect(kit.isAs(given!, item)).toBe(false);
    // As a plan that restores it would number it.
    const update = { ...updateOperation('a', item, null, written(created).remoteId), revision: 2 };
    expect((await kit.attempt([update])).map(describeOutcome)).toEqual(['written updated']);
    expect((await kit.object('a')).contactIds).toEqual([one.remoteId]);
    expect(kit.isAs((await kit.readAll())[0]!, item)).toBe(true);
  };
}
