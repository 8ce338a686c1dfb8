import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import { deleteOperation, describeOutcome, updateOperation, written } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';

/** A patient is to be forgotten. */
export const crmErasing = group<CrmKit>('erasing', {
  'an erased object is gone as far as the connector says': async (kit) => {
    const [a] = await kit.create('a', 'b');
    const { remoteId } = await kit.object('a');
    const [outcome] = await kit.attempt([{ ...deleteOperation('a', a!.versionTag, a!.remoteId), erase: true }]);
    expect(describeOutcome(outcome)).toBe('deleted deleted');
    await expectGone(kit, remoteId);
    expect((await kit.object('b')).title).toBe('Appointment');
  },
  'an object is erased without knowing its id, and only it': async (kit) => {
    await kit.create('a', 'b');
    const { remoteId } = await kit.object('a');
    const [outcome] = await kit.attempt([{ ...deleteOperation('a', null), erase: true }]);
    expect(describeOutcome(outcome)).toBe('deleted deleted');
    await expectGone(kit, remoteId);
    expect(await kit.readAll()).toHaveLength(1);
  },
  'erasing twice ends well both times': async (kit) => {
    const [a] = await kit.create('a');
    const operation = { ...deleteOperation('a', a!.versionTag, a!.remoteId), erase: true };
    expect(describeOutcome((await kit.attempt([operation]))[0])).toBe('deleted deleted');
    expect((await kit.attempt([operation]))[0]?.result).toBe('deleted');
    expect(await kit.readAll()).toEqual([]);
  },
  'many are erased together, and erasure is distinguished from deletion': async (kit) => {
    const created = await kit.create('a', 'b', 'c', 'd');
    const ids = await Promise.all(['a', 'b'].map(async (recordId) => (await kit.object(recordId)).remoteId));
    const [a, b, c] = created;
    const outcomes = await kit.attempt([
      { ...deleteOperation('a', a!.versionTag, a!.remoteId), erase: true },
      { ...deleteOperation('b', b!.versionTag, b!.remoteId), erase: true },
      deleteOperation('c', c!.versionTag, c!.remoteId),
      updateOperation('d', kit.item('Changed'), null),
    ]);
    expect(outcomes.map(describeOutcome)).toEqual([
      'deleted deleted',
      'deleted deleted',
      'deleted deleted',
      'written updated',
    ]);
    for (const id of ids) await expectGone(kit, id);
  },
  'an erased record that comes back is written again': async (kit) => {
    const [a] = await kit.create('a');
    await kit.attempt([{ ...deleteOperation('a', a!.versionTag, a!.remoteId), erase: true }]);
    const [outcome] = await kit.deliver([kit.toCreate('a', kit.item('Back'))]);
    written(outcome);
    expect((await kit.object('a')).title).toBe('Back');
  },
});

/** Expects that no one sees the contact, and that the bin does not hold it if the connector declares permanent deletion. */
async function expectGone(kit: CrmKit, remoteId: string): Promise<void> {
  const { server, supports, stream } = kit.target;
  expect((await kit.objects()).map((object) => object.remoteId)).not.toContain(remoteId);
  if (supports.erases.includes(stream)) expect(await server.isInBin(remoteId)).toBe(false);
}
