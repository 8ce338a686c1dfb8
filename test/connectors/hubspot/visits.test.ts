import { describe, expect, test } from 'vitest';
import { hubspot } from '../../../src/connectors/hubspot/index.ts';
import { SECOND_MS } from '../../../src/core/model/time.ts';
import { containerOf } from '../../support/container-of.ts';
import {
  contact,
  describeOutcome,
  failure,
  KEY,
  meeting,
  NO_SIGNAL,
  rejection,
  STAMP,
  startWorld,
  type Target,
  type World,
} from './support.ts';

const CUSTOM_OBJECT = '2-3141592';

/** Contact `anna`, and a target for her visits. */
async function open(options: Parameters<typeof startWorld>[0] = {}, settings: object = {}) {
  const world = await startWorld(options);
  const contacts = await world.target();
  await contacts.write(contacts.create('anna', contact()));
  const visits = await world.target({ stream: 'appointments', settings });
  return { world, visits, anna: contacts.identity.key('anna', 0) };
}

/** Creates a second meeting with all properties of the first. */
function copyOf(world: World, visits: Target, recordId: string): string {
  const { properties } = world.record(visits, 'meetings', recordId)!;
  const { [KEY]: key, [STAMP]: stamp, hs_timestamp: at } = properties;
  return world.sandbox.add('meetings', { [KEY]: key!, [STAMP]: stamp!, hs_timestamp: at! });
}

describe('a meeting in an account that holds no property of meetings unique', () => {
  test('is created once, although its answer was lost, once the search shows the created meeting', async () => {
    const { world, visits, anna } = await open({ searchLagMs: 60 * SECOND_MS });
    const path = '/meetings/batch/create';
    world.sandbox.faults.add({ match: { path }, times: 1, fault: { kind: 'lost-answer' } });
    const create = visits.create('visit', meeting(anna));
    expect(await rejection(visits.apply(create))).toMatchObject({ ambiguous: true, retry: 'later' });
    const keys = hubspot.keysOf!(hubspot.settingsSchema.parse({}), 'appointments');
    expect(keys).toEqual({ lookedUp: { lagMs: 60 * SECOND_MS } });
    world.clock.at += 60 * SECOND_MS;
    expect((await visits.apply(create)).map(describeOutcome)).toEqual(['written adopted']);
    expect(world.sandbox.records('meetings')).toHaveLength(1);
  });

  test('has a key that is not unique, and is written by its id, which no search is needed for', async () => {
    const { world, visits, anna } = await open();
    expect(world.sandbox.properties('meetings').find(({ name }) => name === KEY)?.hasUniqueValue).toBe(false);
    const [created] = await visits.write(visits.create('visit', meeting(anna)));
    const searches = world.sandbox.counts.searches;
    const later = meeting(anna, Date.parse('2026-12-02T09:00:00Z'));
    const [moved] = await visits.write(visits.update('visit', later, created!.remoteId));
    expect(moved).toMatchObject({ effect: 'updated', remoteId: created!.remoteId, stored: later });
    expect(world.sandbox.counts.searches).toBe(searches);
    expect(world.sandbox.records('meetings')).toHaveLength(1);
  });

  test('is updated although a search does not show it yet, without a duplicate', async () => {
    const { world, visits, anna } = await open({ searchLagMs: 3_600_000 });
    const [created] = await visits.write(visits.create('visit', meeting(anna)));
    const [updated] = await visits.write(visits.update('visit', meeting(null), created!.remoteId));
    expect(updated?.effect).toBe('updated');
    const outcomes = await visits.apply(visits.remove('visit', created!.remoteId));
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted']);
    expect(world.sandbox.records('meetings')).toEqual([]);
  });

  test('that the search still shows after its deletion by a user is recreated, and not written into the bin', async () => {
    const { world, visits, anna } = await open();
    const [created] = await visits.write(visits.create('visit', meeting(anna)));
    world.clock.at += SECOND_MS;
    expect(await visits.connector.find('', [visits.identity.key('visit', 0)], NO_SIGNAL)).toHaveLength(1);
    world.sandbox.configure({ searchLagMs: 3_600_000 });
    world.sandbox.archive('meetings', created!.remoteId!);
    const [again] = await visits.write(visits.update('visit', meeting(anna), created!.remoteId));
    expect(again?.effect).toBe('recreated');
    expect(world.sandbox.records('meetings').map(({ id }) => id)).toEqual([again!.remoteId]);
  });

  test('whose key two meetings carry is reported by a create, written by its id, and deleted with its copy', async () => {
    const { world, visits, anna } = await open();
    const [created] = await visits.write(visits.create('visit', meeting(anna)));
    copyOf(world, visits, 'visit');
    const [second] = await visits.apply(visits.create('visit', meeting(anna)));
    expect(failure(second)).toMatchObject({ code: 'several-matches', actor: 'settings', retry: 'never' });
    const [update] = await visits.write(visits.update('visit', meeting(anna, 1_000_000), created!.remoteId));
    expect(update).toMatchObject({ effect: 'updated', remoteId: created!.remoteId });
    expect(world.sandbox.records('meetings')).toHaveLength(2);
    const outcomes = await visits.apply(visits.remove('visit', created!.remoteId, true));
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted']);
    expect(world.sandbox.records('meetings')).toEqual([]);
  });

  test("that carries another target's stamp under a key of clinic-mirror remains unchanged", async () => {
    const { world, visits, anna } = await open();
    const [created] = await visits.write(visits.create('visit', meeting(anna)));
    world.sandbox.edit('meetings', created!.remoteId!, { [STAMP]: 'another0target00.x.0.' });
    const operations = [
      visits.create('visit', meeting(null)),
      visits.update('visit', meeting(null), created!.remoteId),
    ];
    for (const operation of operations) {
      expect((await visits.apply(operation)).map(describeOutcome)).toEqual(['key-burnt']);
    }
    expect((await visits.apply(visits.remove('visit', created!.remoteId))).map(describeOutcome)).toEqual([
      'deleted already-gone',
    ]);
  });

  test('is not made while the search answers something that cannot be read', async () => {
    const { world, visits, anna } = await open();
    for (const body of ['{"total": 1}', '{"total": 1, "results": [{"properties": {}}]}']) {
      world.sandbox.faults.add({ match: { path: '/search' }, times: 1, fault: { kind: 'garbage', body } });
      const error = await rejection(visits.apply(visits.create('visit', meeting(anna))));
      expect(error).toMatchObject({ code: 'unexpected-answer', retry: 'later' });
    }
    expect(world.sandbox.records('meetings')).toEqual([]);
  });

  test('waits a second where the account has searched too often', async () => {
    const { world, visits, anna } = await open();
    world.sandbox.configure({ searchesPerSecond: 0 });
    const error = await rejection(visits.apply(visits.create('visit', meeting(anna))));
    expect(error).toMatchObject({ code: 'rate-limited', actor: 'remote', retryAfterMs: SECOND_MS });
  });

  test('costs two searches for a hundred, and the found meetings are read in their current state', async () => {
    const { world, visits, anna } = await open();
    const creates = Array.from({ length: 100 }, (_, index) => visits.create(`visit-${index}`, meeting(anna)));
    await visits.write(...creates);
    const before = world.sandbox.counts.searches;
    expect((await visits.apply(...creates)).map(describeOutcome)).toEqual(creates.map(() => 'written adopted'));
    expect(world.sandbox.counts.searches - before).toBe(2);
    expect(world.sandbox.records('meetings')).toHaveLength(100);
  });
});

describe('meetings in an account', () => {
  test('that declares their key unique without enforcing it are found by a search', async () => {
    const { world, visits, anna } = await open({ meetingKeys: 'unenforced' });
    expect(world.sandbox.properties('meetings').find(({ name }) => name === KEY)?.hasUniqueValue).toBe(true);
    await visits.write(visits.create('visit', meeting(anna)));
    expect((await visits.apply(visits.create('visit', meeting(anna)))).map(describeOutcome)).toEqual([
      'written adopted',
    ]);
    expect(world.sandbox.counts.searches).toBe(2);
    expect(world.sandbox.records('meetings')).toHaveLength(1);
  });

  test('that holds their key unique are upserted by it, and never searched for', async () => {
    const { world, visits, anna } = await open({ meetingKeys: 'unique', searchLagMs: 3_600_000 });
    const create = visits.create('visit', meeting(anna));
    await visits.write(create);
    expect((await visits.apply(create)).map(describeOutcome)).toEqual(['written adopted']);
    expect(world.sandbox.counts.searches).toBe(0);
    expect(world.sandbox.counts.rows('meetings', 'upsert')).toBe(2);
  });
});

describe('visits in a custom object', () => {
  const properties = [
    { name: 'title', kind: 'text' },
    { name: 'starts', kind: 'instant' },
  ] as const;
  const visit = (contactKey: string) => ({
    properties: { title: 'Visit', starts: '2026-12-01T09:00:00.000Z' },
    contactKey,
    startAt: Date.parse('2026-12-01T09:00:00Z'),
  });

  test.each([CUSTOM_OBJECT, 'p48250713_visits'])(
    'have a unique key, are joined with their contact, and are read back (%s)',
    async (object) => {
      const { world, anna } = await open({ searchLagMs: 3_600_000 });
      const visits = await world.target({ stream: 'appointments', properties, settings: { object } });
      expect(visits.container).toBe(`${world.sandbox.portalId}/${object}`);
      const create = visits.create('visit', visit(anna));
      await visits.write(create);
      const [again] = await visits.apply(create);
      expect(describeOutcome(again!)).toBe('written adopted');
      const [record] = world.sandbox.records('visits');
      const contactIds = world.sandbox.records('contacts').map(({ id }) => id);
      expect(world.sandbox.associated('visits', record!.id, 'contacts')).toEqual(contactIds);
      expect((await visits.readAll()).map(({ item }) => item)).toEqual([visit(anna)]);
      expect((await visits.apply(visits.remove('visit', record!.id))).map(describeOutcome)).toEqual([
        'deleted deleted',
      ]);
      expect(world.sandbox.counts.searches).toBe(0);
      expect(world.sandbox.records('meetings')).toEqual([]);
    },
  );

  test('that the account does not have are a matter of settings, named', async () => {
    const { world } = await open();
    const target = world.open({ stream: 'appointments', properties, settings: { object: '2-99' } });
    const error = await rejection(containerOf(target.connector, null, NO_SIGNAL));
    expect(error).toMatchObject({ actor: 'settings', code: 'object-missing', retry: 'never' });
    expect(error.message).toContain('2-99');
  });

  test('are nothing that patients can become', async () => {
    const world = await startWorld();
    const target = world.open({ settings: { object: CUSTOM_OBJECT } });
    expect(await rejection(containerOf(target.connector, null, NO_SIGNAL))).toMatchObject({
      code: 'object-unsuitable',
    });
  });
});
