import { expect } from 'vitest';
import type { CalendarItem, Presets } from '../../../src/core/model/items.ts';
import { group } from '../contract-case.ts';
import { createOperation, describeOutcome, itemWith, updateOperation, type Written, written } from '../contract-kit.ts';
import { OURS, type OwnKit, THEIRS } from './persons-own.ts';

const UPDATES = 10;

/** The two labels of a target, each with a reminder, and how they are shown. */
function presetsOf({ target }: OwnKit) {
  const [[one, shownAsOne], [other, shownAsOther]] = target.own.labels;
  return {
    first: { presets: { ...one, reminderMinutes: 15 }, shown: { ...OURS, colour: shownAsOne, reminderMinutes: 15 } },
    second: {
      presets: { ...other, reminderMinutes: 60 },
      shown: { ...OURS, colour: shownAsOther, reminderMinutes: 60 },
    },
  };
}

async function make(kit: OwnKit, changes: Partial<CalendarItem> = {}) {
  const [outcome] = await kit.attempt([createOperation('a', itemWith(changes))]);
  return { made: written(outcome), remoteId: (await kit.object('a')).remoteId };
}

/** One update; gives its outcome. */
async function update(kit: OwnKit, last: Written, revision: number, changes: Partial<CalendarItem>): Promise<Written> {
  const operation = updateOperation('a', itemWith(changes), last.versionTag, last.remoteId);
  const [outcome] = await kit.attempt([{ ...operation, revision }]);
  expect(describeOutcome(outcome), `update ${revision}`).toBe('written updated');
  return written(outcome);
}

/** Ten updates with the same presets, of other titles. */
async function updateTenTimes(kit: OwnKit, first: Written, presets: Presets, revisionBefore = 1): Promise<Written> {
  let last = first;
  for (let count = 1; count <= UPDATES; count += 1) {
    last = await update(kit, last, revisionBefore + count, { title: `Version ${count}`, presets });
  }
  return last;
}

const readOne = async (kit: OwnKit) => (await kit.readAll())[0]?.item;

/** What an event comes with, and people may change. */
export const presets = group<OwnKit>('what an event comes with and people may change', {
  'a label and a reminder are shown, come back, follow the item and go with it': async (kit) => {
    const { first, second } = presetsOf(kit);
    const { made, remoteId } = await make(kit, { presets: first.presets });
    expect(await kit.target.own.shown(remoteId)).toEqual(first.shown);
    expect(await readOne(kit)).toEqual(itemWith({ presets: first.presets }));
    const changed = await update(kit, made, 2, { presets: second.presets });
    expect(await kit.target.own.shown(remoteId)).toEqual(second.shown);
    expect(await readOne(kit)).toEqual(itemWith({ presets: second.presets }));
    const cleared = await update(kit, changed, 3, {});
    expect(await kit.target.own.shown(remoteId)).toEqual(OURS);
    expect(await readOne(kit)).toEqual(itemWith());
    await update(kit, cleared, 4, { presets: first.presets });
    expect(await kit.target.own.shown(remoteId)).toEqual(first.shown);
  },
  'a user’s choice instead of a preset stays through ten updates, and is no change of managed values': async (kit) => {
    const { first, second } = presetsOf(kit);
    const { made, remoteId } = await make(kit, { presets: first.presets });
    await kit.target.own.set(remoteId, THEIRS);
    expect(await readOne(kit)).toEqual(itemWith({ presets: first.presets }));
    const last = await updateTenTimes(kit, made, first.presets);
    expect(await kit.target.own.shown(remoteId)).toEqual({ ...OURS, ...THEIRS });
    await updateTenTimes(kit, last, second.presets, 1 + UPDATES);
    expect(await kit.target.own.shown(remoteId)).toEqual({ ...OURS, ...THEIRS });
    expect((await readOne(kit))?.presets).toEqual(second.presets);
  },
  'a preset that a user removed is not restored': async (kit) => {
    const { first, second } = presetsOf(kit);
    const { made, remoteId } = await make(kit, { presets: first.presets });
    await kit.target.own.set(remoteId, { colour: '', reminderMinutes: null });
    const last = await update(kit, made, 2, { title: 'Moved', presets: first.presets });
    expect(await kit.target.own.shown(remoteId)).toEqual(OURS);
    await update(kit, last, 3, { presets: second.presets });
    expect(await kit.target.own.shown(remoteId)).toEqual(OURS);
  },
  'new presets do not replace a user’s earlier choice': async (kit) => {
    const { first } = presetsOf(kit);
    const { made, remoteId } = await make(kit);
    await kit.target.own.set(remoteId, { reminderMinutes: THEIRS.reminderMinutes });
    await update(kit, made, 2, { presets: first.presets });
    const shown = await kit.target.own.shown(remoteId);
    expect(shown).toEqual({ ...first.shown, reminderMinutes: THEIRS.reminderMinutes });
  },
  'a deleted event is recreated with its presets': async (kit) => {
    const { first } = presetsOf(kit);
    const { made, remoteId } = await make(kit, { presets: first.presets });
    await kit.target.server.deleteByHand(remoteId);
    const again = { ...updateOperation('a', itemWith({ presets: first.presets }), made.versionTag, made.remoteId) };
    const [outcome] = await kit.attempt([{ ...again, revision: 2 }]);
    // A vendor that never takes a key twice has it made under the next one.
    if (describeOutcome(outcome) === 'key-burnt') return;
    written(outcome);
    expect(await kit.target.own.shown((await kit.object('a')).remoteId)).toEqual(first.shown);
  },
  'the same presets are written once': async (kit) => {
    const { first } = presetsOf(kit);
    await make(kit, { presets: first.presets });
    const { version } = await kit.object('a');
    const [again] = await kit.attempt([createOperation('a', itemWith({ presets: first.presets }))]);
    expect(describeOutcome(again)).toBe('written adopted');
    expect((await kit.object('a')).version, 'nothing was written').toBe(version);
  },
  'an event is certain or not, and shown to whom it should be': async (kit) => {
    const { made } = await make(kit, { tentative: true, visibility: 'default' });
    expect(await kit.object('a')).toMatchObject({ busy: true, tentative: true, isPrivate: false });
    expect(await readOne(kit)).toEqual(itemWith({ tentative: true, visibility: 'default' }));
    const certain = await update(kit, made, 2, {});
    expect(await kit.object('a')).toMatchObject({ busy: true, tentative: false, isPrivate: true });
    expect(await readOne(kit)).toEqual(itemWith());
    await update(kit, certain, 3, { busy: false, visibility: 'default' });
    expect(await kit.object('a')).toMatchObject({ busy: false, tentative: false, isPrivate: false });
    expect(await readOne(kit)).toEqual(itemWith({ busy: false, visibility: 'default' }));
  },
});
