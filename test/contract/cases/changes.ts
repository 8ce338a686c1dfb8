import { expect } from 'vitest';
import type { CalendarItem } from '../../../src/core/model/items.ts';
import { DAY_MS, type TimeWindow } from '../../../src/core/model/time.ts';
import type { RemoteChanges } from '../../../src/engine/ports.ts';
import { containerOf } from '../../support/container-of.ts';
import { group } from '../contract-case.ts';
import {
  type CalendarKit,
  createOperation,
  deleteOperation,
  itemWith,
  keyOf,
  OTHER_MARK,
  signal,
  timed,
  updateOperation,
  written,
} from '../contract-kit.ts';
import { failAt } from './asked-alone.ts';
import { required } from './batches.ts';

/** Spring 2027, in which the suite's items lie. */
const WINDOW: TimeWindow = { fromAt: Date.parse('2027-02-01T00:00:00Z'), toAt: Date.parse('2027-05-01T00:00:00Z') };
const CHANGED = itemWith({ title: 'Changed' });
const LONG_AGO = itemWith({ time: timed('2026-12-10T09:00:00+01:00', '2026-12-10T09:30:00+01:00', 'Europe/Rome') });

/** Changes of a calendar since the previous cursor, as the connector reports them. */
export const changes = group<CalendarKit>('changes', {
  'a first read is complete for the window, and returns a cursor': async (kit) => {
    const [a] = await kit.create('a');
    await kit.attempt([createOperation('long ago', LONG_AGO)]);
    await kit.target.server.putForeign('Foreign');
    const first = await ask(kit, null);
    expect(first).toMatchObject({ scope: 'whole', removed: [] });
    expect(first.items).toMatchObject([{ key: keyOf('a'), versionTag: a!.versionTag, item: itemWith() }]);
    expect(first.cursor).toMatch(/^[\w-]{1,8192}$/);
  },
  'an unchanged calendar reports no change, in one request each time': async (kit) => {
    const cursor = await begin(kit, 'a', 'b', 'c');
    kit.target.proxy.forget();
    const second = await ask(kit, cursor);
    expect(second).toMatchObject({ scope: 'since', items: [], removed: [] });
    expect(kit.target.proxy.requests).toHaveLength(1);
    expect(await ask(kit, second.cursor)).toMatchObject({ scope: 'since', items: [], removed: [] });
  },
  'a cursor may be used twice, with the same answer': async (kit) => {
    const cursor = await begin(kit, 'a', 'b');
    await kit.target.server.editByHand((await kit.object('a')).remoteId, { title: 'By hand' });
    const once = await ask(kit, cursor);
    const twice = await ask(kit, cursor);
    expect(once.items).toHaveLength(1);
    expect({ ...twice, cursor: null }).toEqual({ ...once, cursor: null });
  },
  'a manual edit is reported once, with the current content': async (kit) => {
    const cursor = await begin(kit, 'a', 'b');
    const { remoteId } = await kit.object('a');
    await kit.target.server.editByHand(remoteId, { title: 'By hand' });
    await kit.target.server.editByHand(remoteId, { title: 'By hand again' });
    const second = await ask(kit, cursor);
    expect(second).toMatchObject({ scope: 'since', items: [{ key: keyOf('a'), item: { title: 'By hand again' } }] });
    expect(second.items[0]?.versionTag).toBe((await kit.readAll()).find(({ key }) => key === keyOf('a'))?.versionTag);
    expect(second.removed).toEqual([]);
    expect(await ask(kit, second.cursor)).toMatchObject({ scope: 'since', items: [], removed: [] });
  },
  'an edited object that the server fails at is not removed, and hides no other edit': async (kit) => {
    const cursor = await begin(kit, 'a', 'b', 'c');
    const damaged = (await kit.object('a')).remoteId;
    for (const recordId of ['a', 'b'])
      await kit.target.server.editByHand((await kit.object(recordId)).remoteId, { title: 'By hand' });
    failAt(kit, new RegExp(`${damaged}|${encodeURIComponent(damaged)}`));
    const { items, removed } = await ask(kit, cursor);
    kit.target.proxy.clear();
    expect(items.find(({ key }) => key === keyOf('b'))).toMatchObject({ item: { title: 'By hand' } });
    expect(removed).toEqual([]);
  },
  '50 events edited by hand are reported by the next request for changes': async (kit) => {
    const recordIds = Array.from({ length: 50 }, (_, index) => `r${index}`);
    const cursor = await begin(kit, 'a', ...recordIds);
    const objects = await kit.connector.find(
      kit.target.container,
      recordIds.map((recordId) => keyOf(recordId)),
      signal(),
    );
    expect(objects).toHaveLength(recordIds.length);
    for (const { remoteId } of objects) await kit.target.server.editByHand(remoteId, { title: 'By hand' });
    const { items } = await ask(kit, cursor);
    const edited = items.filter(({ item }) => item?.title === 'By hand').map(({ key }) => key);
    expect(edited.sort()).toEqual(recordIds.map((recordId) => keyOf(recordId)).sort());
  },
  'a manual deletion is reported with the remote id': async (kit) => {
    const cursor = await begin(kit, 'a', 'b');
    const { remoteId } = await kit.object('a');
    await kit.target.server.deleteByHand(remoteId);
    expect(await ask(kit, cursor)).toMatchObject({ scope: 'since', items: [], removed: [remoteId] });
  },
  'writes and deletions of another worker are reported': async (kit) => {
    const cursor = await begin(kit, 'a', 'b');
    const other = kit.worker();
    const [b] = await kit.connector.find(kit.target.container, [keyOf('b')], signal());
    await kit.attempt([createOperation('c', CHANGED), deleteOperation('b', b!.versionTag, b!.remoteId)], other);
    const second = await ask(kit, cursor);
    expect(second).toMatchObject({ scope: 'since', removed: [b!.remoteId] });
    expect(second.items).toMatchObject([{ key: keyOf('c'), item: { title: 'Changed' } }]);
    expect(second.items).toEqual(await kit.connector.find(kit.target.container, [keyOf('c')], signal()));
  },
  'an own write is reported with the version tag of its outcome': async (kit) => {
    const cursor = await begin(kit, 'a');
    const [b] = await kit.create('b');
    const [a] = await kit.connector.find(kit.target.container, [keyOf('a')], signal());
    const [updated] = await kit.attempt([updateOperation('a', CHANGED, a!.versionTag, a!.remoteId)]);
    const { items } = await ask(kit, cursor);
    const tags = new Map(items.map(({ key, versionTag }) => [key, versionTag]));
    expect(tags).toEqual(
      new Map([
        [keyOf('a'), written(updated).versionTag],
        [keyOf('b'), b!.versionTag],
      ]),
    );
  },
  'the stored content in the answer to a write equals the content read': async (kit) => {
    const [created] = await kit.attempt([createOperation('a', itemWith({ description: 'One\r\ntwo', location: '' }))]);
    const { stored, versionTag, remoteId } = written(created);
    const [read] = await kit.readAll();
    if (stored !== undefined) expect(stored).toEqual(read?.item);
    const [updated] = await kit.attempt([updateOperation('a', CHANGED, versionTag, remoteId)]);
    const [again] = await kit.readAll();
    if (written(updated).stored !== undefined) expect(written(updated).stored).toEqual(again?.item);
    expect(again?.item).toEqual(CHANGED);
  },
  'foreign objects, and those of another target, are unmanaged': async (kit) => {
    const cursor = await begin(kit, 'a');
    const foreign = await kit.target.server.putForeign('Foreign');
    await kit.attempt([createOperation('theirs')], kit.worker({ ownerTag: OTHER_MARK }));
    const second = await ask(kit, cursor);
    expect(second).toMatchObject({ scope: 'since', items: [] });
    const { remoteId } = await kit.object('a');
    expect(second.removed).not.toContain(remoteId);
    await kit.target.server.editByHand(foreign, { title: 'Foreign, edited' });
    await kit.target.server.deleteByHand(foreign);
    expect(await ask(kit, second.cursor)).toMatchObject({ scope: 'since', items: [] });
  },
  'an object that was deleted and recreated exists': async (kit) => {
    const cursor = await begin(kit, 'a', 'b');
    await kit.target.server.deleteByHand((await kit.object('a')).remoteId);
    const epoch = kit.target.supports.revivesKeys ? 0 : 1;
    const [again] = await kit.attempt([createOperation('a', CHANGED, epoch)]);
    const { scope, items, removed } = await ask(kit, cursor);
    expect(scope).toBe('since');
    expect(items).toMatchObject([{ key: keyOf('a', epoch), versionTag: written(again).versionTag, item: CHANGED }]);
    expect(removed).not.toContain(items[0]?.remoteId);
  },
  'an event moved out of the window by a user, or changed outside of it, is not missing': async (kit) => {
    const cursor = await begin(kit, 'a');
    const [a] = await kit.connector.find(kit.target.container, [keyOf('a')], signal());
    await kit.attempt([updateOperation('a', LONG_AGO, a!.versionTag, a!.remoteId)], kit.worker());
    const { items, removed } = await ask(kit, cursor);
    expect(removed).toEqual([]);
    expect(items).toMatchObject([{ key: keyOf('a'), item: LONG_AGO }]);
  },
  'a window that advanced by a day needs no complete read': async (kit) => {
    const cursor = await begin(kit, 'a');
    const tomorrow = { fromAt: WINDOW.fromAt + DAY_MS, toAt: WINDOW.toAt + DAY_MS };
    expect(await ask(kit, cursor, tomorrow)).toMatchObject({ scope: 'since', items: [], removed: [] });
  },
  'the cursor of another calendar causes a complete read': async (kit) => {
    const cursor = await begin(kit, 'a');
    const worker = kit.worker({ createCalendar: 'Another calendar' });
    const container = await containerOf(worker, null, signal());
    expect(container).not.toBe(kit.target.container);
    const there = await worker.changes(container, { cursor, window: WINDOW }, signal());
    expect(there).toMatchObject({ scope: 'whole', items: [], removed: [] });
    expect(there.cursor).not.toBeNull();
  },
  'an invalid cursor causes a complete read': async (kit) => {
    const cursor = await begin(kit, 'a');
    const readable = Buffer.from(cursor ?? '', 'base64url').toString();
    const spoilt = Buffer.from(readable.replace(/.{6}("?\W*)$/, 'xxxxxx$1')).toString('base64url');
    for (const invented of ['', 'x', '{}', 'e30', 'x'.repeat(100_000), spoilt]) {
      const answer = await ask(kit, invented);
      expect(answer.scope).toBe('whole');
      expect(answer.items).toMatchObject([{ key: keyOf('a') }]);
      expect(await ask(kit, answer.cursor)).toMatchObject({ scope: 'since', items: [], removed: [] });
    }
  },
  'an expired cursor causes a complete read, and the next cursor continues from there': async (kit) => {
    const cursor = await begin(kit, 'a', 'b');
    await kit.target.server.deleteByHand((await kit.object('b')).remoteId);
    required(kit.target.dialect, 'expireCursors')();
    const whole = await ask(kit, cursor);
    expect(whole).toMatchObject({ scope: 'whole', items: [{ key: keyOf('a') }], removed: [] });
    await kit.target.server.editByHand((await kit.object('a')).remoteId, { title: 'By hand' });
    expect(await ask(kit, whole.cursor)).toMatchObject({ scope: 'since', items: [{ item: { title: 'By hand' } }] });
  },
  'changes of several pages are reported completely': async (kit) => {
    const cursor = await begin(kit, 'a');
    required(kit.target.dialect, 'changesPageLength')(4);
    const recordIds = Array.from({ length: 10 }, (_, index) => `r${index}`);
    await kit.create(...recordIds);
    const { scope, items } = await ask(kit, cursor);
    expect(scope).toBe('since');
    expect(items.map(({ key }) => key).sort()).toEqual(recordIds.map((recordId) => keyOf(recordId)).sort());
  },
  'a page of changes that fails is an error, not the end': async (kit) => {
    const cursor = await begin(kit, 'a');
    const { dialect, proxy } = kit.target;
    proxy.add({ ...required(dialect, 'changes'), after: 1, fault: { kind: 'answer', answer: dialect.unavailable() } });
    required(dialect, 'changesPageLength')(4);
    await kit.create(...Array.from({ length: 10 }, (_, index) => `r${index}`));
    await expect(ask(kit, cursor)).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
    proxy.clear();
    expect((await ask(kit, cursor)).items).toHaveLength(10);
  },
  'a missing calendar is reported, with a cursor and without': async (kit) => {
    const cursor = await begin(kit, 'a');
    await kit.target.server.deleteContainer(kit.target.container);
    await expect(ask(kit, cursor)).rejects.toMatchObject({ code: 'calendar-gone' });
    await expect(ask(kit, null)).rejects.toMatchObject({ code: 'calendar-gone' });
  },
  'more changes than are worth reading one by one are still told, within the budget of a reading': async (kit) => {
    const cursor = await begin(kit, 'a');
    const recordIds = Array.from({ length: 130 }, (_, index) => `r${index}`);
    await kit.create(...recordIds);
    kit.target.proxy.forget();
    const { scope, items } = await ask(kit, cursor);
    const told = scope === 'whole' ? ['a', ...recordIds] : recordIds;
    expect(items.map(({ key }) => key).sort()).toEqual(told.map((recordId) => keyOf(recordId)).sort());
    const { requestsForReading } = kit.target.dialect;
    expect(kit.target.proxy.requests.length).toBeLessThanOrEqual(1 + requestsForReading(131));
  },
});

async function ask(kit: CalendarKit, cursor: string | null, window = WINDOW): Promise<RemoteChanges<CalendarItem>> {
  return await kit.connector.changes(kit.target.container, { cursor, window }, signal());
}

/** Creates records and returns the cursor after a first read. */
async function begin(kit: CalendarKit, ...recordIds: string[]): Promise<string | null> {
  await kit.create(...recordIds);
  const { items, cursor } = await ask(kit, null);
  expect(items).toHaveLength(recordIds.length);
  return cursor;
}
