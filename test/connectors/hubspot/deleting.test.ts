import { describe, expect, test } from 'vitest';
import { contact, describeOutcome, KEY, meeting, STAMP, startWorld } from './support.ts';

async function withContacts(...recordIds: string[]) {
  const world = await startWorld();
  const target = await world.target();
  const written = await target.write(
    ...recordIds.map((id) => target.create(id, contact({ lastname: id, email: `${id}@example.org` }))),
  );
  return { world, target, ids: written.map(({ remoteId }) => remoteId!) };
}

describe('a deletion', () => {
  test('puts contacts into the bin, with or without their id, two requests for a hundred', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `record-${index}`);
    const { world, target, ids } = await withContacts(...names);
    const before = world.sandbox.counts.httpRequests;
    const outcomes = await target.apply(
      ...names.map((name, index) => target.remove(name, index % 2 === 0 ? ids[index]! : null)),
    );
    expect(new Set(outcomes.map(describeOutcome))).toEqual(new Set(['deleted deleted']));
    expect(world.sandbox.counts.httpRequests - before).toBe(2);
    expect(world.sandbox.records('contacts')).toEqual([]);
    expect(world.sandbox.records('contacts', { archived: true })).toHaveLength(100);
  });

  test.each(['archived', 'erased', 'never there'])('of what is %s finds it gone', async (state) => {
    const { world, target, ids } = await withContacts('a');
    if (state === 'archived') world.sandbox.archive('contacts', ids[0]!);
    if (state === 'erased') world.sandbox.erase(ids[0]!);
    const deletion = state === 'never there' ? target.remove('b') : target.remove('a', ids[0]!);
    expect((await target.apply(deletion)).map(describeOutcome)).toEqual(['deleted already-gone']);
  });

  test('finds a contact of clinic-mirror whose key was removed', async () => {
    const { world, target, ids } = await withContacts('a');
    world.sandbox.edit('contacts', ids[0]!, { [KEY]: '' });
    expect((await target.apply(target.remove('a', ids[0]!))).map(describeOutcome)).toEqual(['deleted deleted']);
    expect(world.sandbox.records('contacts')).toEqual([]);
  });

  test('leaves a contact that carries the stamp of another target', async () => {
    const { world, target, ids } = await withContacts('a');
    world.sandbox.edit('contacts', ids[0]!, { [STAMP]: 'another0target00.x.0.' });
    expect((await target.apply(target.remove('a', ids[0]!))).map(describeOutcome)).toEqual(['deleted already-gone']);
    expect(world.sandbox.records('contacts')).toHaveLength(1);
  });

  test.each(['nothing', 'winner'] as const)(
    'of the loser of a merge leaves the other patient (%s)',
    async (mergedKeys) => {
      const { world, target, ids } = await withContacts('a', 'b');
      world.sandbox.configure({ mergedKeys });
      world.sandbox.merge('contacts', ids[0]!, ids[1]!);
      expect((await target.apply(target.remove('b', ids[1]!))).map(describeOutcome)).toEqual(['deleted already-gone']);
      expect(world.record(target, 'contacts', 'a')).toBeDefined();
    },
  );

  test('also removes meetings', async () => {
    const { world, target: contacts } = await withContacts('anna');
    const target = await world.target({ stream: 'appointments' });
    const [written] = await target.write(target.create('visit', meeting(contacts.identity.key('anna', 0))));
    const outcomes = await target.apply(target.remove('visit', written!.remoteId, true));
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted']);
    expect(world.sandbox.records('meetings')).toEqual([]);
  });
});

describe('an erasure', () => {
  test('empties a meeting before it goes into the bin', async () => {
    const { world, target: contacts } = await withContacts('anna');
    const target = await world.target({ stream: 'appointments' });
    const key = contacts.identity.key('anna', 0);
    const visits = await target.write(target.create('visit', meeting(key)), target.create('other', meeting(key)));
    const [visit, other] = visits.map(({ remoteId }) => remoteId!);
    await target.apply(target.remove('visit', visit!, true), target.remove('other', other!));
    const inBin = (id: string) => world.sandbox.record('meetings', id);
    expect(inBin(visit!)).toMatchObject({ archived: true });
    expect(inBin(visit!)?.properties).not.toHaveProperty('hs_meeting_title');
    expect(inBin(visit!)?.properties).not.toHaveProperty(STAMP);
    expect(inBin(other!)).toMatchObject({ archived: true, properties: { hs_meeting_title: 'Visit' } });
  });

  test('deletes objects that HubSpot does not allow to empty', async () => {
    const world = await startWorld();
    const target = await world.target({ stream: 'appointments' });
    const [visit] = await target.write(target.create('visit', meeting(null)));
    world.sandbox.faults.add({ match: { path: '/batch/update' }, fault: { kind: 'status', status: 400 } });
    const outcomes = await target.apply(target.remove('visit', visit!.remoteId, true));
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted']);
    expect(world.sandbox.records('meetings')).toEqual([]);
  });

  test('deletes a contact permanently, with its e-mail address', async () => {
    const { world, target, ids } = await withContacts('a', 'b');
    const outcomes = await target.apply(target.remove('a', ids[0]!, true), target.remove('b', ids[1]!));
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted', 'deleted deleted']);
    expect(world.sandbox.record('contacts', ids[0]!)).toBeUndefined();
    expect(world.sandbox.records('contacts', { archived: true }).map(({ id }) => id)).toEqual([ids[1]]);
    expect(world.sandbox.counts.rows('contacts', 'gdpr-delete')).toBe(1);
  });

  test('reaches into the bin', async () => {
    const { world, target, ids } = await withContacts('a');
    await target.apply(target.remove('a', ids[0]!));
    expect((await target.apply(target.remove('a', ids[0]!, true))).map(describeOutcome)).toEqual(['deleted deleted']);
    expect(world.sandbox.record('contacts', ids[0]!)).toBeUndefined();
    expect((await target.apply(target.remove('a', ids[0]!, true))).map(describeOutcome)).toEqual([
      'deleted already-gone',
    ]);
  });

  test('that is interrupted reports the completed deletions', async () => {
    const { world, target, ids } = await withContacts('a', 'b');
    world.sandbox.faults.add({
      match: { path: '/gdpr-delete' },
      after: 1,
      times: 1,
      fault: { kind: 'status', status: 503 },
    });
    const outcomes = await target.apply(...['a', 'b'].map((id, index) => target.remove(id, ids[index]!, true)));
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted', 'failed server-error']);
  });
});
