import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import {
  deleteOperation,
  describeOutcome,
  keyOf,
  OTHER_MARK,
  signal,
  updateOperation,
  written,
} from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';
import { required } from './batches.ts';

/**
 * Manual changes in the CRM. A managed object has a key (unique, written only by clinic-mirror) and a stamp that names the target. An
 * upsert cannot check the stamp first; a read does.
 */
export const crmPeople = group<CrmKit>('people and foreign objects', {
  'an object without key and stamp is unmanaged: it stays unchanged, and an update creates another': async (kit) => {
    const [created] = await kit.create('a');
    const { remoteId } = await kit.object('a');
    await kit.target.server.removeMarkByHand(remoteId);
    const before = (await kit.objects()).find((object) => object.remoteId === remoteId);
    expect(await kit.readAll()).toEqual([]);
    const [outcome] = await kit.deliver([updateOperation('a', kit.item('Changed'), created!.versionTag, remoteId)]);
    expect(['written recreated', 'key-burnt']).toContain(describeOutcome(outcome));
    if (outcome?.result === 'key-burnt') await kit.deliver([kit.toCreate('a', kit.item('Changed'), 1)]);
    expect(await kit.object('a')).toMatchObject({ title: 'Changed' });
    expect((await kit.object('a')).remoteId).not.toBe(remoteId);
    expect((await kit.objects()).find((object) => object.remoteId === remoteId)).toEqual(before);
  },
  'an object whose key and stamp were emptied is not deleted': async (kit) => {
    const [created] = await kit.create('a');
    const { remoteId } = await kit.object('a');
    await kit.target.server.removeMarkByHand(remoteId);
    const before = await kit.objects();
    const outcomes = [
      ...(await kit.attempt([deleteOperation('a', created!.versionTag, remoteId)])),
      ...(await kit.attempt([deleteOperation('a', null)])),
    ];
    expect(outcomes.map(describeOutcome)).toEqual(['deleted already-gone', 'deleted already-gone']);
    expect(await kit.objects()).toEqual(before);
  },
  'an object that lost only its stamp is not read, and is managed again after the next update': async (kit) => {
    const [created] = await kit.create('a');
    const { remoteId } = await kit.object('a');
    await kit.target.server.removeStampByHand(remoteId);
    expect(await kit.readAll()).toEqual([]);
    const [outcome] = await kit.deliver([
      updateOperation('a', kit.item('Changed'), created!.versionTag, created!.remoteId),
    ]);
    expect(outcome?.result).toBe('written');
    expect(await kit.object('a')).toMatchObject({ title: 'Changed', remoteId });
    expect(await kit.readAll()).toHaveLength(1);
  },
  'an id that leads to another managed object is not followed: that object is neither written nor deleted': async (
    kit,
  ) => {
    await kit.create('a');
    const { remoteId } = await kit.object('a');
    const before = await kit.objects();
    const [deleted] = await kit.attempt([deleteOperation('b', null, remoteId)]);
    expect(describeOutcome(deleted)).toBe('deleted already-gone');
    expect(await kit.objects()).toEqual(before);
    const [updated] = await kit.deliver([updateOperation('b', kit.item('Changed'), null, remoteId)]);
    expect(['written', 'key-burnt']).toContain(updated?.result);
    expect((await kit.objects()).find((object) => object.remoteId === remoteId)).toEqual(before[0]);
  },
  'objects of another target are neither read nor found': async (kit) => {
    const other = kit.worker({ ownerTag: OTHER_MARK });
    const [theirs] = await kit.attempt([kit.toCreate('theirs')], other);
    await kit.create('a');
    expect((await kit.readAll()).map(({ key }) => key)).toEqual([keyOf('a')]);
    expect(await kit.connector.find(kit.target.container, [keyOf('theirs')], signal())).toEqual([]);
    const { versionTag } = written(theirs);
    const left = await kit.readAll(other);
    expect(left).toMatchObject([{ key: keyOf('theirs'), ...(versionTag === null ? {} : { versionTag }) }]);
  },
});

/** A user merges two contacts. */
export const crmMerging = group<CrmKit>('people and foreign objects', {
  'a managed object that a user merged into a foreign one becomes two separate objects again': async (kit) => {
    const [created] = await kit.create('a', 'b');
    const stranger = await kit.target.server.addByHand({ title: 'Stranger', number: 1 });
    const { remoteId } = await kit.object('a');
    const left = await required(kit.target.server, 'mergeByHand')(stranger, remoteId);
    const [outcome] = await kit.deliver([
      updateOperation('a', kit.item('Changed'), created!.versionTag, created!.remoteId),
    ]);
    expect(outcome?.result).toBe('written');
    expect((await kit.object('a')).title).toBe('Changed');
    expect((await kit.object('b')).title).toBe('Appointment');
    expect((await kit.objects()).map((object) => object.remoteId)).toContain(left);
    expect(await kit.readAll()).toHaveLength(2);
  },
  'a delete of one of two merged objects leaves the other': async (kit) => {
    const [, b] = await kit.create('a', 'b');
    const [kept, other] = [await kit.object('a'), await kit.object('b')];
    const left = await required(kit.target.server, 'mergeByHand')(kept.remoteId, other.remoteId);
    const [outcome] = await kit.deliver([deleteOperation('b', b!.versionTag, b!.remoteId)]);
    expect(outcome?.result).toBe('deleted');
    expect(await kit.object('a')).toMatchObject({ remoteId: left, key: keyOf('a') });
  },
  'two managed objects that a user merged are two again after the next updates, and remain two': async (kit) => {
    await kit.create('a', 'b');
    const [a, b] = [await kit.object('a'), await kit.object('b')];
    await required(kit.target.server, 'mergeByHand')(a.remoteId, b.remoteId);
    const updates = ['a', 'b'].map((id) => updateOperation(id, kit.item(`Title of ${id}`), null));
    for (let round = 0; round < 2; round += 1) {
      const outcomes = await kit.deliver(updates);
      expect(outcomes.map(({ result }) => result)).toEqual(['written', 'written']);
      expect([(await kit.object('a')).title, (await kit.object('b')).title]).toEqual(['Title of a', 'Title of b']);
      expect(await kit.readAll()).toHaveLength(2);
    }
  },
});
