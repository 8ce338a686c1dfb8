import { expect } from 'vitest';
import type { Item } from '../../../src/core/model/items.ts';
import type { Operation } from '../../../src/core/model/operations.ts';
import { paced } from '../../support/pace.ts';
import { group } from '../contract-case.ts';
import {
  type AnyKit,
  type CalendarKit,
  deleteOperation,
  describeOutcome,
  itemWith,
  keyOf,
  OTHER_MARK,
  signal,
  timed,
  updateOperation,
  written,
} from '../contract-kit.ts';
import { required } from './batches.ts';

/** Manual changes in the calendar, and foreign objects. */
export const people = group('people and foreign objects', {
  'an object edited by hand is overwritten by the next update': async (kit) => {
    const [created] = await kit.create('a');
    await kit.target.server.editByHand((await kit.object('a')).remoteId, { title: 'By hand' });
    const [outcome] = await kit.attempt([updateOperation('a', kit.item('Changed'), created!.versionTag)]);
    expect(describeOutcome(outcome)).toBe('written updated');
    expect((await kit.object('a')).title).toBe('Changed');
  },
  'an object edited by hand is still deleted': async (kit) => {
    const [created] = await kit.create('a');
    await kit.target.server.editByHand((await kit.object('a')).remoteId, { title: 'By hand' });
    const [outcome] = await kit.attempt([deleteOperation('a', created!.versionTag)]);
    expect(describeOutcome(outcome)).toBe('deleted deleted');
    expect(await kit.objects()).toEqual([]);
  },
  'an edit by hand shows when read': async (kit) => {
    const [created] = await kit.create('a');
    await kit.target.server.editByHand((await kit.object('a')).remoteId, { title: 'By hand' });
    const [item] = await kit.readAll();
    if (created!.versionTag !== null) expect(item?.versionTag).not.toBe(created!.versionTag);
    expect(item?.item).toEqual(kit.item('By hand'));
  },
  'an object deleted manually comes back with the next update': async (kit) => {
    const [created] = await kit.create('a');
    await kit.target.server.deleteByHand((await kit.object('a')).remoteId);
    const update = updateOperation('a', kit.item('Changed'), created!.versionTag);
    await expectBack(kit, update, ['written recreated', 'written revived']);
  },
  'an object deleted manually comes back with a create of the same key': async (kit) => {
    await kit.create('a');
    await kit.target.server.deleteByHand((await kit.object('a')).remoteId);
    await expectBack(kit, kit.toCreate('a', kit.item('Changed')), ['written created', 'written revived']);
  },
  'an object that we deleted comes back with a create of the same key': async (kit) => {
    const [created] = await kit.create('a');
    await kit.attempt([deleteOperation('a', created!.versionTag)]);
    await expectBack(kit, kit.toCreate('a', kit.item('Changed')), ['written created', 'written revived']);
  },
  'a delete of an object deleted manually is already done': async (kit) => {
    const [created] = await kit.create('a', 'b');
    await kit.target.server.deleteByHand((await kit.object('a')).remoteId);
    const [outcome] = await kit.attempt([deleteOperation('a', created!.versionTag)]);
    expect(describeOutcome(outcome)).toBe('deleted already-gone');
    const [untagged] = await kit.attempt([deleteOperation('a', null)]);
    expect(describeOutcome(untagged)).toBe('deleted already-gone');
    expect(await kit.objects()).toHaveLength(1);
  },
  'a delete of an object that never existed is already done': async (kit) => {
    const outcomes = await kit.attempt([deleteOperation('a', null), deleteOperation('b', '"no-such-tag"')]);
    expect(outcomes.map(describeOutcome)).toEqual(['deleted already-gone', 'deleted already-gone']);
  },
  'foreign objects are neither read nor found nor touched by a whole cycle': async (kit) => {
    await kit.target.server.putForeign('Foreign');
    const before = await kit.objects();
    const [a, b] = await kit.create('a', 'b');
    await kit.attempt([updateOperation('a', kit.item('Changed'), a!.versionTag), deleteOperation('b', b!.versionTag)]);
    expect(await kit.readAll()).toHaveLength(1);
    const keys = [keyOf('a'), keyOf('b')];
    const found = await kit.connector.find(kit.target.container, keys, AbortSignal.timeout(paced(60_000)));
    expect(found.map((item) => item.key)).toEqual([keyOf('a')]);
    const foreign = new Set(before.map(({ remoteId }) => remoteId));
    expect((await kit.objects()).filter(({ remoteId }) => foreign.has(remoteId))).toEqual(before);
  },
});

/** Renamed objects, and objects of other targets. */
export const calendarPeople = group<CalendarKit>('people and foreign objects', {
  'an object that a client renamed stays the one of its record, which moves and goes with it': async (kit) => {
    const [created] = await kit.create('a', 'b');
    const remoteId = await required(kit.target.server, 'renameByHand')((await kit.object('a')).remoteId);
    const later = itemWith({ time: timed('2027-03-11T15:00:00+01:00', '2027-03-11T16:00:00+01:00', 'Europe/Rome') });
    const moved = { ...updateOperation('a', later, created!.versionTag, created!.remoteId), revision: 2 };
    const [outcome] = await kit.attempt([moved]);
    expect(outcome).toMatchObject({ result: 'written', effect: 'updated', remoteId });
    expect(await kit.object('a')).toMatchObject({
      startAt: Date.parse('2027-03-11T14:00:00Z'),
      endAt: Date.parse('2027-03-11T15:00:00Z'),
    });
    expect((await kit.readAll()).map(({ key, item }) => [key, item])).toContainEqual([keyOf('a'), later]);
    expect(await kit.connector.find(kit.target.container, [keyOf('a')], signal())).toHaveLength(1);
    const back = { ...updateOperation('a', kit.item(), written(outcome).versionTag, remoteId), revision: 3 };
    written((await kit.attempt([back]))[0]);
    expect(describeOutcome((await kit.attempt([{ ...kit.toCreate('a'), revision: 4, mayExist: true }]))[0])).toBe(
      'written adopted',
    );
    expect(await kit.objects()).toHaveLength(2);
    expect(describeOutcome((await kit.attempt([{ ...deleteOperation('a', null), revision: 5 }]))[0])).toBe(
      'deleted deleted',
    );
    expect((await kit.readAll()).map(({ key }) => key)).toEqual([keyOf('b')]);
  },
  'objects of another target in the same calendar are foreign': async (kit) => {
    const other = kit.worker({ ownerTag: OTHER_MARK });
    const [theirs] = await kit.attempt([kit.toCreate('a')], other);
    expect(await kit.readAll()).toEqual([]);
    const outcomes = [
      ...(await kit.attempt([kit.toCreate('a', kit.item('Changed'))])),
      ...(await kit.attempt([updateOperation('a', kit.item('Changed'), null)])),
      ...(await kit.attempt([deleteOperation('a', null)])),
    ];
    expect(outcomes.map(describeOutcome)).toEqual(['key-burnt', 'key-burnt', 'deleted already-gone']);
    const [left] = await kit.readAll(other);
    expect(left?.versionTag).toBe(written(theirs).versionTag);
  },
});

async function expectBack(kit: AnyKit, operation: Operation<Item>, effects: string[]) {
  const [outcome] = await kit.attempt([operation]);
  if (kit.target.supports.revivesKeys) {
    expect(effects).toContain(describeOutcome(outcome));
  } else {
    expect([...effects, 'key-burnt']).toContain(describeOutcome(outcome));
    if (outcome?.result === 'key-burnt') await kit.attempt([kit.toCreate('a', kit.item('Changed'), 1)]);
  }
  expect((await kit.object('a')).title).toBe('Changed');
}
