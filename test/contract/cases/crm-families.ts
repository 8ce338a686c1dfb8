import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import { keyOf, sealedRecordIdOf, updateOperation, written } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';

const SHARED = { email: 'family@clinic.example', phone: '+390551234567' };
const FAMILY = ['mother', 'father', 'daughter', 'son'];

/** Family members who share values that a CRM treats as personal: each stays one object, and no object is overwritten. */
export const crmFamilies = group<CrmKit>('families', {
  'a family of four with one e-mail address and one phone becomes four objects': async (kit) => {
    await createFamily(kit);
    const objects = await Promise.all(FAMILY.map((member) => kit.object(member)));
    expect(new Set(objects.map(({ remoteId }) => remoteId)).size).toBe(4);
    expect(objects.map(({ title }) => title)).toEqual(FAMILY);
    expect(objects.map(({ values }) => values.phone)).toEqual(FAMILY.map(() => SHARED.phone));
    expect(objects.some(({ values }) => values.email === SHARED.email)).toBe(true);
  },
  'the stored address of each is reported, so that no second write follows': async (kit) => {
    const outcomes = await createFamily(kit);
    const read = new Map((await kit.readAll()).map((item) => [item.key, item.item]));
    for (const { recordId, stored } of outcomes) {
      const sent = kit.row({ ...SHARED, title: recordId });
      expect(read.get(keyOf(recordId))).toEqual(stored ?? sent);
      expect([SHARED.email, null]).toContain((await kit.object(recordId)).values.email);
    }
  },
  'a changed or removed member does not affect the others': async (kit) => {
    const outcomes = await createFamily(kit);
    const before = new Map((await kit.objects()).map((object) => [object.remoteId, object]));
    const son = outcomes[3]!;
    const [changed] = await kit.deliver([
      updateOperation('son', kit.row({ ...SHARED, title: 'Married' }), son.versionTag, son.remoteId),
    ]);
    written(changed);
    const father = await kit.object('father');
    await kit.target.server.deleteByHand(father.remoteId);
    for (const member of ['mother', 'daughter']) {
      const object = await kit.object(member);
      expect(object).toEqual(before.get(object.remoteId));
    }
    expect((await kit.object('son')).title).toBe('Married');
  },
  'the address of a removed member is free for the next': async (kit) => {
    const outcomes = await createFamily(kit);
    for (const { recordId, remoteId, versionTag } of outcomes.slice(0, 3)) {
      await kit.deliver([{ kind: 'delete', recordId, key: keyOf(recordId), revision: 1, versionTag, remoteId }]);
    }
    const [outcome] = await kit.deliver([updateOperation('son', kit.row({ ...SHARED, title: 'son' }), null)]);
    written(outcome);
    expect((await kit.object('son')).values).toMatchObject(SHARED);
  },
  'an address released in a call goes to the member that requests it in the same call': async (kit) => {
    for (const [giver, taker] of [
      ['a', 'b'],
      ['d', 'c'],
    ] as const) {
      await kit.deliver([kit.toCreate(giver, kit.row(SHARED)), kit.toCreate(taker, kit.row({}))]);
      const changes = [
        updateOperation(giver, kit.row({ email: `${giver}@clinic.example` }), null),
        updateOperation(taker, kit.row(SHARED), null),
      ];
      const outcomes = await kit.deliver(changes.toSorted((one, other) => (one.recordId < other.recordId ? -1 : 1)));
      expect(outcomes.map(({ result }) => result)).toEqual(['written', 'written']);
      expect((await kit.object(giver)).values.email).toBe(`${giver}@clinic.example`);
      expect((await kit.object(taker)).values.email).toBe(SHARED.email);
      await kit.deliver([updateOperation(taker, kit.row({}), null)]);
    }
  },
  'values that differ only in case are two objects': async (kit) => {
    const outcomes = await kit.deliver([
      kit.toCreate('a', kit.row({ title: 'de luca', email: 'Anna@Clinic.example' })),
      kit.toCreate('b', kit.row({ title: 'De Luca', email: 'anna@clinic.example' })),
    ]);
    expect(outcomes.map(({ result }) => result)).toEqual(['written', 'written']);
    expect([(await kit.object('a')).title, (await kit.object('b')).title]).toEqual(['de luca', 'De Luca']);
  },
  'a manually created object with the same name, address and phone is never changed': async (kit) => {
    const { server } = kit.target;
    const remoteId = await server.addByHand({ ...SHARED, title: 'Appointment', number: 1 });
    const before = (await kit.objects()).filter((object) => object.remoteId === remoteId);
    expect(before).toHaveLength(1);
    const [created] = await kit.deliver([kit.toCreate('a', kit.row(SHARED))]);
    const { versionTag, remoteId: ours } = written(created);
    const changed = kit.row({ ...SHARED, number: 2 });
    const [updated] = await kit.deliver([updateOperation('a', changed, versionTag, ours)]);
    written(updated);
    expect((await kit.object('a')).remoteId).not.toBe(remoteId);
    expect((await kit.objects()).filter((object) => object.remoteId === remoteId)).toEqual(before);
    const [deleted] = await kit.deliver([
      { kind: 'delete', recordId: 'a', key: keyOf('a'), revision: 1, versionTag: null, remoteId: null, erase: true },
    ]);
    expect(deleted?.result).toBe('deleted');
    expect(await kit.objects()).toEqual(before);
    expect(before[0]).not.toMatchObject({ sealedRecordId: sealedRecordIdOf('a') });
  },
});

async function createFamily(kit: CrmKit) {
  const outcomes = await kit.deliver(
    FAMILY.map((member) => kit.toCreate(member, kit.row({ ...SHARED, title: member }))),
  );
  return outcomes.map((outcome) => written(outcome));
}
