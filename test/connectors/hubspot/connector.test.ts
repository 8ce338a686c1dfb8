import { describe, expect, test } from 'vitest';
import { pagesOf } from '../../../src/connectors/hubspot/connector.ts';
import { CONTACT, contact, describeOutcome, failure, meeting, rejection, startWorld } from './support.ts';

const DEAL = [
  { name: 'dealname', kind: 'text' },
  { name: 'dealstage', kind: 'text' },
] as const;
const deal = (dealstage: string) => ({
  properties: { dealname: 'Secret invoice', dealstage },
  contactKey: null,
  startAt: 0,
});

describe('a rule of the account', () => {
  test('that requires a property of new contacts is reported with its field, and the other contacts are written', async () => {
    const world = await startWorld();
    const target = await world.target();
    world.sandbox.requireOnCreate('contacts', 'phone');
    world.sandbox.requireOnCreate('contacts', 'jobtitle');
    const [bad] = await target.apply(target.create('a', contact({ phone: '+41791112233' })));
    expect(failure(bad)).toMatchObject({
      ...{ code: 'property-required', actor: 'settings', retry: 'never' },
      // The rule is in the account only; the mapping does not contain the property.
      about: 'contacts.jobtitle',
    });
    const properties = [...CONTACT, { name: 'jobtitle', kind: 'text' }] as const;
    const whole = await world.target({ properties });
    const ends = await whole.apply(
      whole.create('a', contact({ phone: '+41791112233', jobtitle: 'Baker' })),
      whole.create('b', contact({ phone: null, jobtitle: 'Baker' })),
    );
    expect(ends.map(describeOutcome)).toEqual(['written created', 'failed property-required']);
    expect(failure(ends[1]).about).toBe('contacts.phone');
  });

  test.each(['traced', 'never'] as const)(
    'that requires a property because of another is reported with both, without values (row errors: %s)',
    async (rowErrors) => {
      const world = await startWorld({ rowErrors });
      const target = await world.target({ stream: 'invoices', properties: DEAL });
      world.sandbox.requireWhen('deals', 'closedate', { property: 'dealstage', is: 'closedwon' });
      const outcomes = await target.apply(
        target.create('won', deal('closedwon')),
        target.create('open', deal('qualifiedtobuy')),
      );
      expect(outcomes.map(describeOutcome).sort()).toEqual(['failed property-required-by-rule', 'written created']);
      const error = failure(outcomes.find(({ recordId }) => recordId === 'won'));
      expect(error.about).toBe('deals.closedate, required by the value of deals.dealstage');
      expect(`${error.message} ${error.remedy}`).not.toMatch(/closedwon|Secret/);
    },
  );

  test('is not asked by the version before', async () => {
    const world = await startWorld();
    world.sandbox.requireOnCreate('contacts', 'jobtitle');
    const target = await world.target({ settings: { version: '2026-03' } });
    expect((await target.apply(target.create('a', contact()))).map(describeOutcome)).toEqual(['written created']);
  });

  test('that lets a user join no records stops appointments and invoices, and reports the missing permission', async () => {
    const world = await startWorld({ editAssociations: false });
    const token = world.sandbox.issueAccessToken();
    const contacts = await world.target({ token });
    await contacts.write(contacts.create('anna', contact()));
    const visits = await world.target({ stream: 'appointments', token });
    const error = await rejection(visits.apply(visits.create('visit', meeting(contacts.identity.key('anna', 0)))));
    expect(error).toMatchObject({ code: 'associations-not-allowed', actor: 'authorization', retry: 'never' });
    expect(error.remedy).toContain('Edit Associations');
  });

  test('that requires a property of a meeting keeps only that property when the patient is forgotten', async () => {
    const world = await startWorld();
    const visits = await world.target({ stream: 'appointments' });
    const [created] = await visits.write(visits.create('visit', meeting(null)));
    world.sandbox.requireWhen('meetings', 'hs_meeting_outcome', { property: 'hs_meeting_title', is: '' });
    const outcomes = await visits.apply(visits.remove('visit', created!.remoteId, true));
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted']);
    const [archived] = world.sandbox.records('meetings', { archived: true });
    expect(archived?.properties.hs_meeting_end_time ?? null).toBeNull();
  });
});

test("a record's page is where people work with it", () => {
  const pageOf = (container: string) => pagesOf(container, ['171']).get('171');
  expect(pageOf('48250713/contacts')).toBe('https://app.hubspot.com/contacts/48250713/record/0-1/171');
  expect(pageOf('48250713/deals')).toBe('https://app.hubspot.com/contacts/48250713/record/0-3/171');
  expect(pageOf('48250713/2-99')).toBe('https://app.hubspot.com/contacts/48250713/record/2-99/171');
  expect(pageOf('48250713/p48250713_visits')).toBeUndefined();
});
