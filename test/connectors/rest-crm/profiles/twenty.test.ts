import { describe, expect, test } from 'vitest';
import { contact, effectOf } from '../harness.ts';
import { openProfile, PROFILE_CASES } from '../profiles.ts';

describe('Twenty, with unique e-mail addresses,', () => {
  const twenty = PROFILE_CASES.find(({ dialect }) => dialect === 'twenty')!;
  const person = (given: string, address: string | null) =>
    contact({ ...twenty.person, 'name.firstName': given, 'emails.primaryEmail': address });

  test('writes the second relative without one, and reports it: the next read finds nothing to repair', async () => {
    const { sandbox, target } = await openProfile(twenty);
    const outcomes = await target.apply(
      target.create('p1', person('Anna', 'r@family.example')),
      target.create('p2', person('Bruno', 'r@family.example')),
    );
    expect(outcomes.map(effectOf)).toEqual(['created', 'created']);
    // One lookup and two creates. For the second contact: a lookup whether the create succeeded meanwhile, another before the retry, and
    // the retry.
    expect(sandbox.counts.requests()).toBe(6);
    expect(outcomes[1]).toMatchObject({ stored: person('Bruno', null) });
    const addresses = (await target.readAll()).map(({ item }) => item?.properties['emails.primaryEmail']);
    expect(addresses.sort()).toEqual([null, 'r@family.example']);
  });

  test('moves an e-mail address to its owner if two contacts exchange theirs, and if the holder is deleted', async () => {
    const { target } = await openProfile(twenty);
    const ids = ['p1', 'p2', 'p3'];
    const created = await target.apply(...ids.map((id) => target.create(id, person(id, `${id}@family.example`))));
    const remoteIds = created.map((end) => (end.result === 'written' ? end.remoteId : null));
    const outcomes = await target.apply(
      target.update('p1', person('p1', 'p2@family.example'), remoteIds[0]!),
      target.update('p2', person('p2', 'p1@family.example'), remoteIds[1]!),
      target.create('p4', person('p4', 'p3@family.example')),
      target.remove('p3', remoteIds[2]!),
    );
    expect(outcomes.map(effectOf)).toEqual(['updated', 'updated', 'created', 'deleted']);
    const items = (await target.readAll()).map(({ item }) => item!.properties);
    expect(Object.fromEntries(items.map((item) => [item['name.firstName'], item['emails.primaryEmail']]))).toEqual({
      p1: 'p2@family.example',
      p2: 'p1@family.example',
      // Twenty keeps the e-mail address of a deleted contact.
      p4: null,
    });
  });

  test('reports the reason if a record is refused without its e-mail address too', async () => {
    const { target } = await openProfile(twenty);
    const outcomes = await target.apply(target.create('p1', person('x'.repeat(300), 'r@family.example')));
    expect(outcomes.map(effectOf)).toEqual(['record-refused']);
  });
});
