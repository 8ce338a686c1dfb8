import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import { describeOutcome, keyOf, MARK, sealedRecordIdOf, updateOperation } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';

/** The CRM's view of repeated writes. An upsert writes existing content again: the content stays, the version may change. */
export const crmRepetition = group<CrmKit>('repetition', {
  'a create makes one managed object with its key, owner tag, encrypted record id and values': async (kit) => {
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(describeOutcome(outcome)).toBe('written created');
    expect(await kit.object('a')).toMatchObject({
      key: keyOf('a'),
      ownerTag: MARK,
      sealedRecordId: sealedRecordIdOf('a'),
      title: 'Appointment',
      values: { number: 7, boolean: true, date: '2027-03-10', instant: '2027-03-10T08:00:00.000Z', note: null },
    });
  },
  'the same create twice leaves one object with the same content': async (kit) => {
    await kit.create('a');
    const before = await kit.object('a');
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(describeOutcome(outcome)).toBe('written adopted');
    expect({ ...(await kit.object('a')), version: '' }).toEqual({ ...before, version: '' });
    expect(await kit.objects()).toHaveLength((await kit.readAll()).length);
  },
  'the same update twice leaves one object with the same content': async (kit) => {
    const [created] = await kit.create('a');
    const update = updateOperation('a', kit.item('Moved'), created!.versionTag, created!.remoteId);
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('written updated');
    const first = await kit.object('a');
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('written updated');
    expect({ ...(await kit.object('a')), version: '' }).toEqual({ ...first, version: '' });
    expect(first.title).toBe('Moved');
  },
  'two operations of the same content are two objects': async (kit) => {
    const outcomes = await kit.attempt([kit.toCreate('a'), kit.toCreate('b')]);
    expect(outcomes.map(describeOutcome)).toEqual(['written created', 'written created']);
    expect(await kit.object('a')).not.toMatchObject({ remoteId: (await kit.object('b')).remoteId });
  },
});
