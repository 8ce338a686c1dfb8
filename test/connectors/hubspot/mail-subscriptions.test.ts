import { describe, expect, test } from 'vitest';
import type { CrmItem } from '../../../src/core/model/items.ts';
import { containerOf } from '../../support/container-of.ts';
import { CONTACT, contact, describeOutcome, failure, NO_SIGNAL, rejection, startWorld, type World } from './support.ts';

const PROPERTIES = [...CONTACT, { name: 'newsletter', kind: 'boolean' }] as const;
const ADDRESS = 'ada@example.org';
const GROUND = { legalBasis: 'CONSENT_WITH_NOTICE', explanation: 'Agreed on the form of the clinic' };

/** Opens an account with a newsletter, and a way to open a target that writes its subscriptions. */
async function open(options: Parameters<typeof startWorld>[0] = {}) {
  const world = await startWorld(options);
  const flag = ['true', 'false'].map((value, displayOrder) => ({ label: value, value, displayOrder, hidden: false }));
  const property = { name: 'newsletter', label: 'Newsletter', type: 'bool', fieldType: 'booleancheckbox' };
  world.sandbox.createProperty('contacts', { ...property, options: flag });
  const newsletter = world.sandbox.addSubscriptionType('Newsletter');
  const rule = { property: 'newsletter', subscription: newsletter, ...GROUND };
  const target = await world.target({ properties: PROPERTIES, settings: { subscriptions: [rule] } });
  const stateOf = (address = ADDRESS) => world.sandbox.subscription(address, newsletter)?.status;
  return { world, target, newsletter, stateOf };
}

const patient = (newsletter: boolean | null, email: string | null = ADDRESS): CrmItem => contact({ email, newsletter });

/** Counts the calls that read or change subscriptions. */
function calls({ sandbox }: World): number {
  const lines = sandbox.requests.snapshot().requests.filter(({ route }) => route.includes('/statuses/'));
  return lines.reduce((total, { count }) => total + count, 0);
}

describe('a consent of the clinic', () => {
  test('subscribes the e-mail address on the legal basis in the settings, and a withdrawal unsubscribes it', async () => {
    const { world, target, newsletter, stateOf } = await open();
    const [created] = await target.write(target.create('a', patient(true)));
    expect(world.sandbox.subscription(ADDRESS, newsletter)).toMatchObject({
      status: 'SUBSCRIBED',
      legalBasis: GROUND.legalBasis,
      legalBasisExplanation: GROUND.explanation,
    });
    await target.write(target.update('a', patient(false), created!.remoteId));
    expect(stateOf()).toBe('UNSUBSCRIBED');
  });

  test('that is not known says nothing', async () => {
    const { target, stateOf, world } = await open();
    await target.write(target.create('a', patient(null)), target.create('b', patient(true, null)));
    expect(stateOf()).toBeUndefined();
    expect(calls(world)).toBe(0);
  });

  test('never resubscribes a contact after an unsubscription by a link in a mail', async () => {
    const { world, target, newsletter, stateOf } = await open();
    const [created] = await target.write(target.create('a', patient(true)));
    world.sandbox.unsubscribe(ADDRESS, newsletter);
    await target.write(target.update('a', patient(true), created!.remoteId));
    await target.write(target.update('a', patient(false), created!.remoteId));
    await target.write(target.update('a', patient(true), created!.remoteId));
    expect(stateOf()).toBe('UNSUBSCRIBED');
  });

  test.each([
    ['first', [true, false]],
    ['last', [false, true]],
  ] as const)(
    'of relatives with one e-mail address is invalid for all if one refuses (agreement of the %s)',
    async (_, given) => {
      const { target, stateOf } = await open();
      await target.write(...given.map((consent, index) => target.create(`${index}`, patient(consent))));
      expect(stateOf()).toBe('UNSUBSCRIBED');
      // One after the other as well.
      const other = await open();
      for (const [index, consent] of given.entries()) {
        await other.target.write(other.target.create(`${index}`, patient(consent)));
      }
      expect(other.stateOf()).toBe('UNSUBSCRIBED');
    },
  );

  test('costs one call to read for a hundred contacts, and one to tell', async () => {
    const { world, target } = await open();
    const ids = Array.from({ length: 100 }, (_, index) => `${index}`);
    const creates = ids.map((id) => target.create(id, patient(true, `${id}@example.org`)));
    await target.write(...creates);
    expect(calls(world)).toBe(2);
    await target.write(...creates);
    expect(calls(world)).toBe(3);
  });

  test.each(['/statuses/batch/read', '/statuses/batch/write'])(
    'that could not be sent (%s) is sent by the next attempt, and the contact is unfinished until then',
    async (path) => {
      const { world, target, stateOf } = await open();
      world.sandbox.faults.add({ match: { path }, times: 1, fault: { kind: 'status', status: 503 } });
      const create = target.create('a', patient(true));
      expect(await rejection(target.apply(create))).toMatchObject({ code: 'server-error', retry: 'later' });
      expect((await target.apply(create)).map(describeOutcome)).toEqual(['written adopted']);
      expect(stateOf()).toBe('SUBSCRIBED');
    },
  );

  test('whose status HubSpot did not accept causes another write of that contact only', async () => {
    const { world, target } = await open();
    const body = { status: 'COMPLETE', results: [] };
    world.sandbox.faults.add({
      match: { path: '/statuses/batch/write' },
      times: 1,
      fault: { kind: 'status', status: 200, body },
    });
    const outcomes = await target.apply(
      target.create('a', patient(true)),
      target.create('b', patient(null, 'b@x.org')),
    );
    const ends = Object.fromEntries(outcomes.map((outcome) => [outcome.recordId, describeOutcome(outcome)]));
    expect(ends).toEqual({ a: 'failed subscription-not-taken', b: 'written created' });
    expect(failure(outcomes.find(({ recordId }) => recordId === 'a'))).toMatchObject({ retry: 'later' });
  });

  test('does not subscribe an e-mail address whose opt-out status HubSpot could not return', async () => {
    const { world, target, stateOf } = await open();
    const body = { status: 'COMPLETE', results: [], numErrors: 1, errors: [{ category: 'VALIDATION_ERROR' }] };
    world.sandbox.faults.add({
      match: { path: '/statuses/batch/read' },
      times: 1,
      fault: { kind: 'status', status: 207, body },
    });
    const outcomes = await target.apply(target.create('a', patient(true)));
    expect(outcomes.map(describeOutcome)).toEqual(['failed subscription-not-taken']);
    expect(stateOf()).toBeUndefined();
  });

  test('is in no URL of a call', async () => {
    const { world, target } = await open();
    world.sandbox.recording.record(true);
    await target.write(target.create('a', patient(true)));
    expect(
      world.sandbox.recording
        .recorded()
        .map(({ url }) => url)
        .join('\n'),
    ).not.toMatch(/ada|example/);
  });
});

describe('the settings of subscriptions', () => {
  test('are off unless given', async () => {
    const world = await startWorld();
    const target = await world.target();
    await target.write(target.create('a', contact({ email: ADDRESS })));
    expect(calls(world)).toBe(0);
  });

  test('name a type that the account has', async () => {
    const { world } = await open();
    const subscriptions = [{ property: 'newsletter', subscription: 7, ...GROUND }];
    const target = world.open({ properties: PROPERTIES, settings: { subscriptions } });
    const error = await rejection(containerOf(target.connector, null, NO_SIGNAL));
    expect(error).toMatchObject({ code: 'subscription-missing', actor: 'settings', about: '7' });
  });

  test.each([
    ['that the mapping does not fill', CONTACT],
    ['that is not boolean', [...CONTACT, { name: 'newsletter', kind: 'text' }] as const],
    ['of a mapping without an e-mail address', [{ name: 'newsletter', kind: 'boolean' }] as const],
  ])('name a property of the mapping, not a property %s', async (_, properties) => {
    const { world, newsletter } = await open();
    const subscriptions = [{ property: 'newsletter', subscription: newsletter, ...GROUND }];
    const target = world.open({ properties, settings: { subscriptions } });
    const error = await rejection(containerOf(target.connector, null, NO_SIGNAL));
    expect(error).toMatchObject({ actor: 'settings', retry: 'never' });
    expect(error.message).toMatch(/newsletter|email/);
  });
});

describe('who unsubscribed in HubSpot itself', () => {
  const refusing = async ({ target }: Awaited<ReturnType<typeof open>>) =>
    Object.fromEntries((await target.readAll()).map(({ key, refuses }) => [key, refuses]));

  test('is reported with the contact: from the mails of a consent, and from all', async () => {
    const opened = await open();
    const { world, target, newsletter } = opened;
    const operations = ['a', 'b', 'c'].map((id) => target.create(id, patient(true, `${id}@example.org`)));
    await target.write(...operations);
    const [a = '', b = '', c = ''] = operations.map(({ key }) => key);
    expect(await refusing(opened)).toEqual({ [a]: undefined, [b]: undefined, [c]: undefined });
    world.sandbox.unsubscribe('a@example.org', newsletter);
    world.sandbox.unsubscribeFromAll('b@example.org');
    expect(await refusing(opened)).toEqual({
      [a]: [`hs_email_optout_${newsletter}`],
      [b]: ['hs_email_optout', `hs_email_optout_${newsletter}`],
      [c]: undefined,
    });
  });

  test('excludes contacts that the clinic unsubscribed', async () => {
    const opened = await open();
    const operation = opened.target.create('a', patient(false));
    await opened.target.write(operation);
    expect(opened.stateOf()).toBe('UNSUBSCRIBED');
    expect(await refusing(opened)).toEqual({ [operation.key]: undefined });
  });
});
