import { expect } from 'vitest';
import type { CrmItem } from '../../../src/core/model/items.ts';
import type { TimeWindow } from '../../../src/core/model/time.ts';
import type { RemoteChanges } from '../../../src/engine/ports.ts';
import { group } from '../contract-case.ts';
import { keyOf, OTHER_MARK, signal } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';

/** Spring 2027, in which the suite's items lie. */
const WINDOW: TimeWindow = { fromAt: Date.parse('2027-02-01T00:00:00Z'), toAt: Date.parse('2027-05-01T00:00:00Z') };

/** A CRM is always read completely: with any cursor, the answer holds all managed objects. */
export const crmChanges = group<CrmKit>('changes', {
  'every read is complete and returns managed objects': async (kit) => {
    await kit.create('a', 'b');
    await kit.target.server.putForeign('Foreign');
    await kit.attempt([kit.toCreate('theirs')], kit.worker({ ownerTag: OTHER_MARK }));
    const changes = await ask(kit);
    expect(changes).toMatchObject({ scope: 'whole', removed: [] });
    expect(changes.items.map(({ key }) => key).sort()).toEqual([keyOf('a'), keyOf('b')].sort());
    expect(changes.items.map(({ item }) => item)).toEqual([kit.item(), kit.item()]);
  },
  'a manual edit appears, a deleted object does not': async (kit) => {
    await kit.create('a', 'b', 'c');
    await kit.target.server.editByHand((await kit.object('a')).remoteId, { title: 'By hand' });
    await kit.target.server.deleteByHand((await kit.object('b')).remoteId);
    await kit.target.server.removeMarkByHand((await kit.object('c')).remoteId);
    expect((await ask(kit)).items).toMatchObject([{ key: keyOf('a'), item: kit.item('By hand') }]);
  },
  'a cursor, valid or invalid, has no effect': async (kit) => {
    await kit.create('a');
    const first = await ask(kit);
    for (const cursor of [first.cursor, '', 'x', '{}', 'x'.repeat(100_000)]) {
      expect(await ask(kit, cursor)).toMatchObject({ scope: 'whole', items: [{ key: keyOf('a') }], removed: [] });
    }
  },
  'an interrupted read is an error, not an empty result': async (kit) => {
    await kit.create('a');
    kit.target.proxy.add({ ...kit.target.dialect.reads, fault: { kind: 'cut-body' } });
    await expect(ask(kit)).rejects.toMatchObject({ name: 'MirrorError', retry: 'later' });
  },
});

async function ask(kit: CrmKit, cursor: string | null = null): Promise<RemoteChanges<CrmItem>> {
  return await kit.connector.changes(kit.target.container, { cursor, window: WINDOW }, signal());
}
