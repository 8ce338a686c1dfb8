import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import { deleteOperation, describeOutcome, keyOf, sealedRecordIdOf, signal, updateOperation } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';

/** Stamps that a user or a program emptied, cut or replaced; the key is still clinic-mirror's. */
const DAMAGES: readonly (readonly [name: string, damage: (stamp: string) => string | null])[] = [
  ['empty', () => null],
  ['cut', (stamp) => stamp.slice(0, 20)],
  ['other text', () => 'checked by Anna'],
  ['another case', (stamp) => stamp.toUpperCase()],
];

/** Creates the object of record `a`, and damages its stamp. Returns its remote id and the stored id. */
async function damaged(kit: CrmKit, damage: (stamp: string) => string | null, attempt = 0) {
  await kit.attempt([kit.toCreate('a', kit.item(), attempt)]);
  const { remoteId } = (await kit.objects()).find(({ key }) => key === keyOf('a', attempt))!;
  await kit.target.server.damageStamp(remoteId, damage);
  return remoteId;
}

async function expectOneStamped(kit: CrmKit, title: string, remoteId: string) {
  expect(await kit.objects()).toMatchObject([{ title, remoteId, key: keyOf('a') }]);
  expect(await kit.readAll()).toMatchObject([{ key: keyOf('a'), sealedRecordId: sealedRecordIdOf('a') }]);
}

/** Objects under clinic-mirror's key whose stamp was lost or damaged: clinic-mirror created them. */
export const crmLostStamps = group<CrmKit>('lost stamps', {
  'the object is found by its key, so that a patient is forgotten after loss of all state': async (kit) => {
    const remoteId = await damaged(kit, () => null);
    for (const [name, damage] of DAMAGES) {
      await kit.target.server.damageStamp(remoteId, damage);
      const found = await kit.connector.find(kit.target.container, [keyOf('a'), keyOf('b')], signal());
      expect([name, found]).toMatchObject([name, [{ key: keyOf('a'), remoteId, sealedRecordId: null }]]);
    }
  },
  'a create and an update write the object again with its stamp, never a second object': async (kit) => {
    const remoteId = await damaged(kit, () => null);
    let revision = 2;
    for (const [name, damage] of DAMAGES) {
      for (const write of ['create', 'known', 'update', 'update without id'] as const) {
        await kit.target.server.damageStamp(remoteId, damage);
        const title = `${name} ${write}`;
        const operation =
          write === 'create' || write === 'known'
            ? { ...kit.toCreate('a', kit.item(title)), mayExist: write === 'known' }
            : updateOperation('a', kit.item(title), null, write === 'update' ? remoteId : null);
        const [outcome] = await kit.attempt([{ ...operation, revision }]);
        revision += 1;
        expect([title, outcome?.result]).toEqual([title, 'written']);
        await expectOneStamped(kit, title, remoteId);
      }
    }
  },
  'a deletion and an erasure remove the object, with and without its id': async (kit) => {
    let attempt = 0;
    for (const [name, damage] of DAMAGES) {
      for (const erase of [false, true]) {
        for (const isKnown of [true, false]) {
          const remoteId = await damaged(kit, damage, attempt);
          const deletion = { ...deleteOperation('a', null, isKnown ? remoteId : null), key: keyOf('a', attempt) };
          const [outcome] = await kit.attempt([erase ? { ...deletion, erase } : deletion]);
          expect([name, erase, isKnown, describeOutcome(outcome)]).toEqual([name, erase, isKnown, 'deleted deleted']);
          expect(await kit.objects()).toEqual([]);
          attempt += 1;
        }
      }
    }
  },
});
