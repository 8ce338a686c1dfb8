import { expect } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { group } from '../contract-case.ts';
import {
  type CalendarKit,
  deleteOperation,
  describeOutcome,
  keyOf,
  sealedRecordIdOf,
  signal,
  updateOperation,
  written,
} from '../contract-kit.ts';
import { required } from './batches.ts';

/** The only event of a record without marks, with the stored id that finds it. */
async function unmarked(kit: CalendarKit) {
  const [created] = await kit.create('a');
  const { remoteId } = await kit.object('a');
  await kit.target.server.loseMarks(remoteId);
  return { remoteId, stored: created!.remoteId, versionTag: created!.versionTag };
}

async function expectOneMarked(kit: CalendarKit, title: string) {
  expect(await kit.objects()).toMatchObject([{ title, sealedRecordId: sealedRecordIdOf('a') }]);
}

/** Objects that lost all properties of clinic-mirror, but not the name or id that clinic-mirror chose or stored. */
export const lostMarks = group<CalendarKit>('lost marks', {
  'an object without marks is found by its key and its stored id': async (kit) => {
    const { remoteId, stored } = await unmarked(kit);
    const ids = new Map([[keyOf('a'), stored]]);
    const found = await kit.connector.find(kit.target.container, [keyOf('a'), keyOf('b')], signal(), ids);
    expect(found).toMatchObject([{ key: keyOf('a'), remoteId, sealedRecordId: null, marksLost: true }]);
  },
  'an object without marks is listed with the others if no window is given': async (kit) => {
    const { remoteId } = await unmarked(kit);
    await kit.create('b');
    await kit.target.server.putForeign('Foreign');
    const found = (await kit.readAll()).toSorted(
      (one, other) => Number(other.marksLost ?? 0) - Number(one.marksLost ?? 0),
    );
    expect(found).toMatchObject([{ key: keyOf('a'), remoteId, marksLost: true }, { key: keyOf('b') }]);
    expect(found).toHaveLength(2);
  },
  'an object without marks is never reported as removed by its key': async (kit) => {
    await kit.create('a');
    const window = { fromAt: Date.parse('2027-01-01T00:00:00Z'), toAt: Date.parse('2027-12-31T00:00:00Z') + DAY_MS };
    const { cursor } = await kit.connector.changes(kit.target.container, { cursor: null, window }, signal());
    await kit.target.server.loseMarks((await kit.object('a')).remoteId);
    const changes = await kit.connector.changes(kit.target.container, { cursor, window }, signal());
    expect(changes.removed).toEqual([]);
    expect(changes.items).toMatchObject([{ key: keyOf('a'), marksLost: true }]);
  },
  'an update writes an object without marks again, with its marks': async (kit) => {
    const { stored, versionTag } = await unmarked(kit);
    const [first] = await kit.attempt([updateOperation('a', kit.item('Changed'), versionTag, stored)]);
    expect(describeOutcome(first)).toBe('written updated');
    await expectOneMarked(kit, 'Changed');
    await kit.target.server.loseMarks((await kit.object('a')).remoteId);
    const [second] = await kit.attempt([{ ...updateOperation('a', kit.item('Again'), null, stored), revision: 2 }]);
    expect(describeOutcome(second)).toBe('written updated');
    await expectOneMarked(kit, 'Again');
  },
  'a delete removes an object without marks, with and without a version tag': async (kit) => {
    for (const [index, hasTag] of [true, false].entries()) {
      const [created] = await kit.attempt([kit.toCreate('a', kit.item(), index)]);
      const { remoteId, versionTag } = written(created);
      await kit.target.server.loseMarks((await kit.object('a')).remoteId);
      const deletion = { ...deleteOperation('a', hasTag ? versionTag : null, remoteId), key: keyOf('a', index) };
      expect(describeOutcome((await kit.attempt([deletion]))[0])).toBe('deleted deleted');
      expect(await kit.objects()).toEqual([]);
    }
  },
  'a create that meets its object without marks adopts it': async (kit) => {
    await unmarked(kit);
    for (const [index, mayExist] of [false, true].entries()) {
      const create = { ...kit.toCreate('a', kit.item(`Change ${index}`)), mayExist, revision: index + 2 };
      expect(describeOutcome((await kit.attempt([create]))[0])).toBe('written adopted');
      await expectOneMarked(kit, `Change ${index}`);
      await kit.target.server.loseMarks((await kit.object('a')).remoteId);
    }
  },
  'an object without marks that a client renamed is found by its UID': async (kit) => {
    const rename = required(kit.target.server, 'renameByHand');
    const { remoteId } = await unmarked(kit);
    await kit.create('b');
    const name = await rename(remoteId);
    const ids = new Map([[keyOf('a'), null]]);
    expect(await kit.connector.find(kit.target.container, [keyOf('a')], signal(), ids)).toMatchObject([
      { key: keyOf('a'), remoteId: name, marksLost: true },
    ]);
    const [outcome] = await kit.attempt([updateOperation('a', kit.item('Changed'), null)]);
    expect(outcome).toMatchObject({ effect: 'updated', remoteId: name });
    expect(await kit.objects()).toHaveLength(2);
  },
  'a copy of an object is removed alone, and only while it exists': async (kit) => {
    const copy = required(kit.target.server, 'copyByHand');
    await kit.create('a');
    const { remoteId } = await kit.object('a');
    for (const hasTag of [true, false]) {
      const copied = await copy(remoteId);
      const remote = (await kit.readAll()).find((each) => each.remoteId === copied);
      expect(remote).toMatchObject({ sealedRecordId: sealedRecordIdOf('a'), remoteId: copied });
      const deletion = { ...deleteOperation('a', remote!.versionTag, copied), isDuplicate: true };
      await kit.target.server.editByHand(copied, { title: 'Edited meanwhile' });
      const first = hasTag ? deletion : { ...deletion, versionTag: null };
      expect(describeOutcome((await kit.attempt([first]))[0])).toBe('deleted deleted');
      for (const versionTag of [deletion.versionTag, null]) {
        const [again] = await kit.attempt([{ ...deletion, versionTag }]);
        expect(describeOutcome(again)).toBe('deleted already-gone');
      }
      expect((await kit.objects()).map((object) => object.remoteId)).toEqual([remoteId]);
    }
  },
  'an object without marks, name and id of clinic-mirror stays untouched': async (kit) => {
    await kit.target.server.putForeign('Foreign');
    const before = await kit.objects();
    await kit.create('a');
    expect(await kit.readAll()).toHaveLength(1);
    expect((await kit.objects()).filter(({ title }) => title === 'Foreign')).toEqual(before);
  },
});
