import { expect } from 'vitest';
import type { ContactStamp, Contacts, ExistingContact } from '../../../src/connectors/connector.ts';
import { group } from '../contract-case.ts';
import { describeOutcome, keyOf, OTHER_MARK, sealedRecordIdOf, signal } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';

/** Contacts that were in the CRM before clinic-mirror, which an operator matches to patients. */
export const crmExisting = group<CrmKit>('contacts from before', {
  'are listed with their values, without managed ones, those of another target and those with only a key': async (
    kit,
  ) => {
    const byHand = await kit.target.server.addByHand({ title: 'Rossi', email: 'rossi@clinic.example' });
    await kit.create('a');
    await kit.attempt([kit.toCreate('b')], kit.worker({ ownerTag: OTHER_MARK }));
    await kit.create('c');
    await kit.target.server.removeStampByHand((await kit.object('c')).remoteId);
    const listed = await listAll(existing(kit));
    expect(listed.map(({ remoteId }) => remoteId)).toEqual([byHand]);
    const { title, email } = kit.target.names;
    expect(listed[0]).toMatchObject({ key: null, isFree: true });
    expect(listed[0]?.properties).toMatchObject({ [title]: 'Rossi', [email]: 'rossi@clinic.example' });
    expect(await existing(kit).read([byHand], signal())).toEqual(listed);
  },
  'all of many are listed, each once': async (kit) => {
    const ids: string[] = [];
    for (let index = 0; index < 230; index += 1)
      ids.push(await kit.target.server.addByHand({ title: `Rossi ${index}` }));
    const listed = (await listAll(existing(kit))).map(({ remoteId }) => remoteId);
    expect(listed.toSorted()).toEqual(ids.toSorted());
    const read = await existing(kit).read(ids, signal());
    expect(read.map(({ remoteId }) => remoteId).toSorted()).toEqual(ids.toSorted());
  },
  'a marked contact is managed: found, read, updated without a second object, and marking writes only the mark': async (
    kit,
  ) => {
    const byHand = await kit.target.server.addByHand({ title: 'Rossi', phone: '+390551239876' });
    const bystander = await kit.target.server.addByHand({ title: 'Bianchi' });
    const before = await kit.objects();
    expect(await existing(kit).stamp([stampFor('a', byHand)], signal())).toEqual(new Map());
    const after = await kit.objects();
    expect(after.map(({ remoteId, values }) => ({ remoteId, values }))).toEqual(
      before.map(({ remoteId, values }) => ({ remoteId, values })),
    );
    expect(after.find(({ remoteId }) => remoteId === bystander)).toEqual(
      before.find(({ remoteId }) => remoteId === bystander),
    );
    expect(await kit.object('a')).toMatchObject({ remoteId: byHand, key: keyOf('a') });
    expect(await kit.readAll()).toMatchObject([
      { remoteId: byHand, key: keyOf('a'), sealedRecordId: sealedRecordIdOf('a') },
    ]);
    expect((await listAll(existing(kit))).map(({ remoteId }) => remoteId)).toEqual([bystander]);
    expect(await existing(kit).read([byHand], signal())).toMatchObject([{ key: keyOf('a'), isFree: false }]);
    const [outcome] = await kit.attempt([kit.toCreate('a', kit.item('Rossi of the clinic'))]);
    expect(describeOutcome(outcome)).toBe('written adopted');
    expect(await kit.object('a')).toMatchObject({ remoteId: byHand, title: 'Rossi of the clinic' });
    expect(await kit.objects()).toHaveLength(2);
  },
  'a second marking has no effect, and removing the mark leaves an unmanaged, unchanged contact': async (kit) => {
    const byHand = await kit.target.server.addByHand({ title: 'Rossi', note: 'A note' });
    const [before] = await listAll(existing(kit));
    for (let time = 0; time < 2; time += 1) {
      expect(await existing(kit).stamp([stampFor('a', byHand)], signal())).toEqual(new Map());
    }
    expect(await kit.readAll()).toHaveLength(1);
    expect(await existing(kit).stamp([{ remoteId: byHand, as: null }], signal())).toEqual(new Map());
    expect(await kit.readAll()).toEqual([]);
    expect(await listAll(existing(kit))).toEqual([before]);
  },
  'a missing contact is not read, and only its own marking is refused': async (kit) => {
    const [gone, there] = [
      await kit.target.server.addByHand({ title: 'Gone' }),
      await kit.target.server.addByHand({ title: 'There' }),
    ];
    await kit.target.server.deleteByHand(gone);
    expect((await existing(kit).read([gone, there], signal())).map(({ remoteId }) => remoteId)).toEqual([there]);
    const refused = await existing(kit).stamp([stampFor('a', gone), stampFor('b', there)], signal());
    expect([...refused.keys()]).toEqual([gone]);
    expect(await kit.object('b')).toMatchObject({ remoteId: there });
  },
});

function existing({ connector }: CrmKit): Contacts {
  expect(connector.contacts).toBeDefined();
  return connector.contacts!;
}

async function listAll(contacts: Contacts): Promise<ExistingContact[]> {
  return (await Array.fromAsync(contacts.list(signal()))).flat();
}

function stampFor(recordId: string, remoteId: string): ContactStamp {
  return { remoteId, as: { key: keyOf(recordId), sealedRecordId: sealedRecordIdOf(recordId) } };
}
