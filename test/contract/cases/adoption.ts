import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import {
  type CalendarKit,
  deleteOperation,
  describeOutcome,
  itemWith,
  keyOf,
  sealedRecordIdOf,
  signal,
  timed,
  updateOperation,
} from '../contract-kit.ts';
import { required } from './batches.ts';

/** A state that was lost is rebuilt from what is stamped on the objects. */
export const adoption = group('reading and adoption', {
  'reading an empty target gives nothing': async (kit) => {
    expect(await kit.readAll()).toEqual([]);
  },
  'a read returns key, encrypted record id, version tag and content of all managed objects': async (kit) => {
    const created = await kit.create('a', 'b', 'c');
    const items = (await kit.readAll(kit.worker())).sort((one, other) => one.key.localeCompare(other.key));
    const expected = ['a', 'b', 'c'].map((recordId, index) => ({
      key: keyOf(recordId),
      sealedRecordId: sealedRecordIdOf(recordId),
      ...(created[index]!.versionTag === null ? {} : { versionTag: created[index]!.versionTag }),
      item: kit.item(),
    }));
    expect(items).toMatchObject(expected.sort((one, other) => one.key.localeCompare(other.key)));
  },
  'what was read can be updated and deleted with its version tag and remote id': async (kit) => {
    await kit.create('a', 'b');
    const items = new Map((await kit.readAll(kit.worker())).map((item) => [item.key, item]));
    const [a, b] = [items.get(keyOf('a'))!, items.get(keyOf('b'))!];
    const outcomes = await kit.attempt([
      updateOperation('a', kit.item('Changed'), a.versionTag, a.remoteId),
      deleteOperation('b', b.versionTag, b.remoteId),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual(['written updated', 'deleted deleted']);
    expect((await kit.object('a')).title).toBe('Changed');
    expect(await kit.objects()).toHaveLength(1);
  },
  'a read omits deleted objects': async (kit) => {
    const [created] = await kit.create('a', 'b');
    await kit.attempt([deleteOperation('a', created!.versionTag)]);
    expect((await kit.readAll()).map((item) => item.key)).toEqual([keyOf('b')]);
  },
  'each object has a page on which users edit it': async (kit) => {
    const { connector, target } = kit;
    await kit.create('a', 'b');
    const ids = (await kit.readAll()).map(({ remoteId }) => remoteId);
    const pages = await required(connector, 'pagesOf')(target.container, ids, signal());
    expect([...pages.keys()].sort()).toEqual(ids.toSorted());
    expect(new Set(pages.values()).size).toBe(2);
    for (const page of pages.values()) expect(page).toMatch(/^https?:\/\/./);
    expect(await required(connector, 'pagesOf')(target.container, [], signal())).toEqual(new Map());
  },
  'a lookup returns the existing objects, in one request for many keys': async (kit) => {
    const [created] = await kit.create('a', 'b', 'c');
    await kit.attempt([deleteOperation('a', created!.versionTag)]);
    const keys = ['a', 'b', 'c', 'never'].map((recordId) => keyOf(recordId));
    const found = await kit.connector.find(kit.target.container, keys, signal());
    expect(found.map((item) => item.key).sort()).toEqual([keyOf('b'), keyOf('c')].sort());
    expect(found.map((item) => item.item)).toEqual([kit.item(), kit.item()]);
    expect(await kit.connector.find(kit.target.container, [], signal())).toEqual([]);
  },
});

/** Calendars are read by a window. */
export const calendarAdoption = group<CalendarKit>('reading and adoption', {
  'a read of a window returns exactly the overlapping events': async (kit) => {
    const at = (day: string) =>
      itemWith({ time: timed(`${day}T09:00:00+01:00`, `${day}T10:00:00+01:00`, 'Europe/Rome') });
    await kit.attempt([
      kit.toCreate('early', at('2027-01-10')),
      kit.toCreate('inside', at('2027-01-20')),
      kit.toCreate('late', at('2027-01-30')),
    ]);
    const window = { fromAt: Date.parse('2027-01-15T00:00:00Z'), toAt: Date.parse('2027-01-25T00:00:00Z') };
    expect((await kit.readAll(kit.connector, window)).map((item) => item.key)).toEqual([keyOf('inside')]);
  },
});
