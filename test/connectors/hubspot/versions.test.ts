import { describe, expect, test } from 'vitest';
import type { Connector } from '../../../src/connectors/connector.ts';
import type { CrmItem } from '../../../src/core/model/items.ts';
import { CONTACT, contact, meeting, NO_SIGNAL, startWorld, type World } from './support.ts';

const ADDRESS = 'ada@example.org';
const FLAG = ['true', 'false'].map((value, displayOrder) => ({ label: value, value, displayOrder, hidden: false }));

/**
 * Makes every kind of call for contacts. Two contacts share an address, and one of them gets mails; both are found, read, changed, reported
 * and erased.
 */
async function useContacts({ sandbox, target: open }: World, version: string): Promise<void> {
  const property = { name: 'newsletter', label: 'Newsletter', type: 'bool', fieldType: 'booleancheckbox' };
  sandbox.createProperty('contacts', { ...property, options: FLAG });
  const subscription = sandbox.addSubscriptionType('Newsletter');
  const target = await open({
    properties: [...CONTACT, { name: 'newsletter', kind: 'boolean' }],
    settings: { version, subscriptions: [{ property: 'newsletter', subscription, legalBasis: 'NON_GDPR' }] },
  });
  const patient = contact({ email: ADDRESS, newsletter: true });
  const [written] = await target.write(target.create('a', patient));
  await target.write(target.update('a', patient, written!.remoteId), target.create('b', patient));
  await target.readAll();
  await lookAround(target.connector, target.container, target.identity.key('a', 0), patient);
  await target.apply(target.remove('a', written!.remoteId, true), target.remove('b'));
}

async function lookAround(connector: Connector<CrmItem>, container: string, key: string, item: CrmItem): Promise<void> {
  await connector.find(container, [key], NO_SIGNAL);
  await connector.contacts!.holders!(new Map([[key, item]]), NO_SIGNAL);
  await Array.fromAsync(connector.contacts!.list(NO_SIGNAL));
}

/** Writes a visit whose keys are looked up and that moves to another contact, and a deal with its pipeline. */
async function useWhatBelongsToThem({ sandbox, target: open }: World, version: string): Promise<void> {
  const settings = { version };
  const contacts = await open({ settings });
  await contacts.write(contacts.create('a', contact()), contacts.create('b', contact()));
  const [one, other] = ['a', 'b'].map((id) => contacts.identity.key(id, 0));
  const visits = await open({ stream: 'appointments', settings });
  const [visit] = await visits.write(visits.create('v', meeting(one!)));
  await visits.write(visits.update('v', meeting(other!), visit!.remoteId));
  await visits.apply(visits.remove('v'));
  const pipeline = sandbox.addPipeline('Courses', ['Booked']);
  const deals = await open({
    stream: 'invoices',
    properties: [
      { name: 'pipeline', kind: 'text', words: ['Courses'] },
      { name: 'dealstage', kind: 'text', words: ['Booked'] },
    ],
    settings,
  });
  const item = { properties: { pipeline: 'Courses', dealstage: 'Booked' }, contactKey: one!, startAt: 0 };
  await deals.write(deals.create('d', item));
  expect(sandbox.records('deals')[0]?.properties.dealstage).toBe(pipeline.stages[0]?.id);
}

describe.each(['2026-03', '2026-09'])('the API of %s', (version) => {
  test('gets every call under its own date', async () => {
    const world = await startWorld();
    world.sandbox.recording.record(true);
    await useContacts(world, version);
    await useWhatBelongsToThem(world, version);
    const paths = world.sandbox.recording.recorded().map(({ url }) => url.split('?')[0]!);
    expect(paths.filter((path) => !path.includes(`/${version}/`))).toEqual([]);
    expect([...new Set(paths.map((path) => path.slice(0, path.indexOf(`/${version}/`))))].sort()).toEqual([
      '/account-info',
      '/communication-preferences',
      '/crm/associations',
      '/crm/objects',
      '/crm/pipelines',
      '/crm/properties',
    ]);
    const ends = ['/search', '/gdpr-delete', '/batch/archive', '/batch/read', '/batch/upsert', '/batch/update'];
    for (const end of ends)
      expect(
        paths.some((path) => path.endsWith(end)),
        end,
      ).toBe(true);
  });
});
