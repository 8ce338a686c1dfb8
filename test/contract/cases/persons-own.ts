import fc from 'fast-check';
import { expect } from 'vitest';
import type { Presets } from '../../../src/core/model/items.ts';
import type { RemoteItem } from '../../../src/core/model/operations.ts';
import { group } from '../contract-case.ts';
import {
  allDay,
  type CalendarKit,
  createKit,
  createOperation,
  deleteOperation,
  describeOutcome,
  failure,
  itemWith,
  keyOf,
  signal,
  updateOperation,
  type Written,
  written,
} from '../contract-kit.ts';
import type { ContractTarget } from '../contract-target.ts';

/** Properties that a user sets on an event in addition to those written by clinic-mirror. */
export interface PersonsOwn {
  /** Or category, in the vendor's words; '' for none. */
  colour: string;
  reminderMinutes: number | null;
  /** Text at the position of the description; '' if empty. */
  note: string;
  /** E-mail addresses. */
  guests: string[];
}

/** A user's changes to the user's own properties. */
export interface PersonsHands {
  /**
   * `kept`: clinic-mirror updates the event and no one gets mail; `left-alone`: the vendor would mail the guests, so the event stays
   * unchanged.
   */
  guests: 'kept' | 'left-alone';
  /** Two labels of clinic-mirror, and the colour of each. */
  labels: readonly [one: readonly [Presets, string], other: readonly [Presets, string]];
  /** Sets what is given, past the connector. */
  set(remoteId: string, own: Partial<PersonsOwn>): Promise<void>;
  shown(remoteId: string): Promise<PersonsOwn>;
}

/** A calendar whose harness can make a user's changes: its connector takes part in these cases. */
export interface OwnTarget extends ContractTarget {
  own: PersonsHands;
}

export interface OwnKit extends CalendarKit {
  target: OwnTarget;
}

/** Prepares a case on a fresh calendar. */
export function createOwnKit(target: OwnTarget): OwnKit {
  return { ...createKit(target), target };
}

const UPDATES = 10;
export const OURS = { colour: '', reminderMinutes: null, note: '', guests: [] };
export const THEIRS = { colour: '5', reminderMinutes: 25 };
const NOTE = 'Ring the bell twice';
const GUESTS = ['guest@example.org'];

/** Makes ten updates (titles, places, times, to whole days and back), each after the previous answer. Returns the last outcome. */
async function updateTenTimes(kit: OwnKit, first: Written, revisionBefore = 1): Promise<Written> {
  let last = first;
  for (let count = 1; count <= UPDATES; count += 1) {
    const time = count % 3 === 0 ? { time: allDay('2027-03-11', '2027-03-12') } : {};
    const item = itemWith({ title: `Version ${count}`, location: count % 2 === 0 ? 'Room 2' : null, ...time });
    const update = { ...updateOperation('a', item, last.versionTag, last.remoteId), revision: revisionBefore + count };
    const [outcome] = await kit.attempt([update]);
    expect(describeOutcome(outcome), `update ${count}`).toBe('written updated');
    last = written(outcome);
  }
  return last;
}

async function createA(kit: OwnKit, changes: Parameters<typeof itemWith>[0] = {}) {
  const [outcome] = await kit.attempt([createOperation('a', itemWith(changes))]);
  return { created: written(outcome), remoteId: (await kit.object('a')).remoteId };
}

/** What happens to an event before a write. */
interface Step {
  /** The user's new note; undefined for no edit. */
  note: string | undefined;
  isAbove: boolean;
  losesMarks: boolean;
  /** The event is read before the write, as by an audit. */
  isRead: boolean;
  description: string | null;
}

const words = fc.stringMatching(/^[a-z]{1,9}( [a-z]{1,9})?$/);
const noted = fc.array(words, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n'));
const ours = fc.array(words, { minLength: 1, maxLength: 3 }).map((lines) => ['Dr. Verdi', ...lines].join('\nStatus: '));

const steps: fc.Arbitrary<Step> = fc.record({
  note: fc.option(noted, { nil: undefined, freq: 2 }),
  isAbove: fc.boolean(),
  losesMarks: fc.boolean(),
  isRead: fc.boolean(),
  description: fc.option(ours, { nil: null, freq: 4 }),
});

/** Finds an event of a record, as an audit does. */
async function foundAt(kit: OwnKit, recordId: string, { remoteId }: Written): Promise<RemoteItem> {
  const ids = new Map([[keyOf(recordId), remoteId]]);
  const [found] = await kit.connector.find(kit.target.container, [keyOf(recordId)], signal(), ids);
  return found!;
}

/** Writes an event after each step, and expects both texts once. */
async function passThrough(kit: OwnKit, recordId: string, history: Step[]): Promise<void> {
  let before: string | null = 'Dr. Verdi\nStatus: booked';
  let last = written((await kit.attempt([createOperation(recordId, itemWith({ description: before }))]))[0]);
  const remoteId = last.remoteId ?? keyOf(recordId);
  let note = '';
  for (const [index, step] of history.entries()) {
    if (step.note !== undefined) {
      // A user who adds a note knows no separator.
      const hasOurs = before !== null;
      const parts = step.isAbove
        ? [step.note, before]
        : [before, ...(hasOurs && note !== '' ? ['--------'] : []), step.note];
      note = step.note;
      await kit.target.own.set(remoteId, { note: parts.filter((part) => part !== null).join('\n') });
    }
    if (step.losesMarks) await kit.target.server.loseMarks(remoteId);
    const { versionTag } = step.isRead ? await foundAt(kit, recordId, last) : last;
    const known = before;
    const update = {
      ...updateOperation(recordId, itemWith({ title: `${index}`, description: step.description }), versionTag),
      remoteId: last.remoteId,
      revision: index + 2,
      hadDescription: (text: string) => text === known,
    };
    last = written((await kit.attempt([update]))[0]);
    before = step.description;
    const expected = [before, ...(before !== null && note !== '' ? ['--------'] : []), note];
    expect((await kit.target.own.shown(remoteId)).note).toBe(expected.filter((part) => part).join('\n'));
  }
}

/** clinic-mirror owns only the properties it sets: a user's additions to a managed event stay. */
export const personsOwn = group<OwnKit>('a user’s own settings', {
  'a colour and a reminder stay through ten updates': async (kit) => {
    const { created, remoteId } = await createA(kit);
    expect(await kit.target.own.shown(remoteId)).toEqual(OURS);
    await kit.target.own.set(remoteId, THEIRS);
    await updateTenTimes(kit, created);
    expect(await kit.target.own.shown(remoteId)).toEqual({ ...OURS, ...THEIRS });
    expect((await kit.object('a')).title).toBe(`Version ${UPDATES}`);
  },
  'a colour and a reminder stay when a state that was lost is rebuilt, and after it': async (kit) => {
    const { remoteId } = await createA(kit);
    await kit.target.own.set(remoteId, THEIRS);
    const [found] = await kit.readAll(kit.worker());
    const [again] = await kit.attempt([{ ...createOperation('a'), mayExist: true }]);
    expect(describeOutcome(again)).toBe('written adopted');
    const { versionTag } = found!;
    await updateTenTimes(kit, { ...written(again), versionTag });
    expect(await kit.target.own.shown(remoteId)).toEqual({ ...OURS, ...THEIRS });
  },
  'a note stays through ten updates while we write none': async (kit) => {
    const { created, remoteId } = await createA(kit);
    await kit.target.own.set(remoteId, { note: NOTE });
    const last = await updateTenTimes(kit, created);
    expect((await kit.target.own.shown(remoteId)).note).toBe(NOTE);
    const [found] = await kit.readAll();
    await updateTenTimes(kit, { ...last, versionTag: found!.versionTag }, 1 + UPDATES);
    expect((await kit.target.own.shown(remoteId)).note).toBe(NOTE);
  },
  'a user’s note stays below a managed note, and the managed note is removed when no longer wanted': async (kit) => {
    const { created, remoteId } = await createA(kit);
    await kit.target.own.set(remoteId, { note: NOTE });
    let last: Written = { ...created, versionTag: (await kit.readAll())[0]!.versionTag };
    for (const [index, description] of [
      'Status: booked',
      'Dr. Verdi\nStatus: arrived',
      null,
      'Status: booked',
    ].entries()) {
      const update = updateOperation('a', itemWith({ description }), last.versionTag, last.remoteId);
      last = written((await kit.attempt([{ ...update, revision: 2 + index }]))[0]);
      const below = description === null ? '' : `${description}\n--------\n`;
      expect((await kit.target.own.shown(remoteId)).note).toBe(`${below}${NOTE}`);
      expect((await kit.readAll()).map(({ item }) => item)).toEqual([itemWith({ description })]);
    }
    const { version } = await kit.object('a');
    const [again] = await kit.attempt([
      { ...createOperation('a', itemWith({ description: 'Status: booked' })), revision: 5 },
    ]);
    expect(describeOutcome(again)).toBe('written adopted');
    expect((await kit.object('a')).version, 'nothing was written').toBe(version);
  },
  'a user’s text around the managed text is no change of it, and stays': async (kit) => {
    const description = 'Dr. Verdi\nStatus: booked';
    const { created, remoteId } = await createA(kit, { description });
    await kit.target.own.set(remoteId, { note: `Bring the keys\n${description}, by the side door` });
    expect((await kit.readAll()).map(({ item }) => item)).toEqual([itemWith({ description })]);
    const ours = itemWith({ description: 'Dr. Verdi\nStatus: arrived' });
    const [outcome] = await kit.attempt([
      { ...updateOperation('a', ours, created.versionTag, created.remoteId), revision: 2 },
    ]);
    const { versionTag, remoteId: id } = written(outcome);
    const { note } = await kit.target.own.shown(remoteId);
    expect(note).toBe('Dr. Verdi\nStatus: arrived\n--------\nBring the keys\n, by the side door');
    const [cleared] = await kit.attempt([{ ...updateOperation('a', itemWith(), versionTag, id), revision: 3 }]);
    written(cleared);
    expect((await kit.target.own.shown(remoteId)).note).toBe('Bring the keys\n, by the side door');
  },
  'a note of a user in an event that lost its marks stays': async (kit) => {
    const texts = ['Dr. Verdi\nStatus: booked', 'Dr. Verdi\nStatus: arrived', 'Dr. Bianchi', null, 'Status: paid'];
    const { created, remoteId } = await createA(kit, { description: texts[0]! });
    await kit.target.own.set(remoteId, { note: `${texts[0]}\n${NOTE}` });
    let { versionTag } = created;
    for (const [index, description] of texts.entries()) {
      await kit.target.server.loseMarks(remoteId);
      // The version tag of a read does not permit a write that clears the note.
      if (index > 1) ({ versionTag } = await foundAt(kit, 'a', created));
      const update = {
        ...updateOperation('a', itemWith({ title: `Version ${index}`, description }), versionTag, created.remoteId),
        revision: index + 2,
        hadDescription: (text: string) => text === texts[Math.max(0, index - 1)],
      };
      const [outcome] = await kit.attempt([update]);
      expect(describeOutcome(outcome)).toBe('written updated');
      ({ versionTag } = written(outcome));
      const above = description === null ? '' : `${description}\n--------\n`;
      expect((await kit.target.own.shown(remoteId)).note).toBe(`${above}${NOTE}`);
    }
  },
  'a user’s note and the managed text each stay once through random edits, changes and losses of the marks': async (
    kit,
  ) => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 6 }), async (history) => {
        count += 1;
        await passThrough(kit, `r${count}`, history);
      }),
      { numRuns: 12 },
    );
  },
  'a note in an event that lost its marks stays when nothing shows which text is whose': async (kit) => {
    const { remoteId } = await createA(kit, { description: 'Status: booked' });
    await kit.target.own.set(remoteId, { note: `Status: booked\n${NOTE}` });
    for (const [index, description] of ['Status: booked', 'Status: arrived', 'Status: arrived'].entries()) {
      await kit.target.server.loseMarks(remoteId);
      const create = { ...createOperation('a', itemWith({ title: `Version ${index}`, description })), mayExist: true };
      const [outcome] = await kit.attempt([{ ...create, revision: index + 2 }]);
      expect(describeOutcome(outcome)).toBe('written adopted');
      const below = index === 0 ? NOTE : `Status: booked\n--------\n${NOTE}`;
      expect((await kit.target.own.shown(remoteId)).note).toBe(`${description}\n--------\n${below}`);
    }
  },
  'managed values are removed when no longer wanted, except those that a user changed': async (kit) => {
    const { created, remoteId } = await createA(kit, { description: 'Status: booked' });
    const without = { ...updateOperation('a', itemWith(), created.versionTag, created.remoteId), revision: 2 };
    const cleared = written((await kit.attempt([without]))[0]);
    expect((await kit.target.own.shown(remoteId)).note).toBe('');
    const ours = {
      ...updateOperation('a', itemWith({ description: 'Status: booked' }), cleared.versionTag, cleared.remoteId),
    };
    const back = written((await kit.attempt([{ ...ours, revision: 3 }]))[0]);
    await kit.target.own.set(remoteId, { note: 'Status: comes at ten' });
    expect((await kit.readAll())[0]?.item?.description).toBe('Status: comes at ten');
    await kit.attempt([{ ...updateOperation('a', itemWith(), back.versionTag, back.remoteId), revision: 4 }]);
    expect((await kit.target.own.shown(remoteId)).note).toBe('Status: comes at ten');
    expect((await kit.readAll()).map(({ item }) => item)).toEqual([itemWith()]);
  },
  'a user’s setting is no change of managed values': async (kit) => {
    const { remoteId } = await createA(kit);
    await kit.target.own.set(remoteId, { ...THEIRS, note: NOTE, guests: GUESTS });
    expect((await kit.readAll()).map(({ item }) => item)).toEqual([itemWith()]);
    const { version } = await kit.object('a');
    const [again] = await kit.attempt([createOperation('a')]);
    expect(describeOutcome(again)).toBe('written adopted');
    expect((await kit.object('a')).version, 'nothing was written').toBe(version);
  },
  'guests stay, and no one gets mail': async (kit) => {
    const { created, remoteId } = await createA(kit);
    await kit.target.own.set(remoteId, { guests: GUESTS });
    const mails = await kit.target.server.mails();
    const [found] = await kit.readAll();
    if (kit.target.own.guests === 'kept') {
      const last = await updateTenTimes(kit, created);
      await updateTenTimes(kit, { ...last, versionTag: found!.versionTag }, 1 + UPDATES);
    } else {
      const before = await kit.object('a');
      for (const { versionTag, remoteId: id } of [created, found!]) {
        const [outcome] = await kit.attempt([updateOperation('a', itemWith({ title: 'Changed' }), versionTag, id)]);
        expect(failure(outcome)).toMatchObject({ actor: 'settings', code: 'event-has-guests', retry: 'never' });
      }
      expect(await kit.object('a')).toEqual(before);
    }
    expect((await kit.target.own.shown(remoteId)).guests).toEqual(GUESTS);
    expect(await kit.target.server.mails()).toBe(mails);
  },
  'what users added to a removed event is taken over by the event of another record, once': async (kit) => {
    const guests = kit.target.own.guests === 'kept' ? GUESTS : [];
    const mails = await kit.target.server.mails();
    for (const [index, description] of ['Status: booked', null].entries()) {
      const [from, to] = [`from ${index}`, `to ${index}`];
      const [first, second] = await Promise.all(
        [from, to].map(async (id) => written((await kit.attempt([createOperation(id, itemWith({ description }))]))[0])),
      );
      const idOf = async (recordId: string) => (await kit.object(recordId)).remoteId;
      const above = description === null ? '' : `${description}\n--------\n`;
      await kit.target.own.set(await idOf(from), { ...THEIRS, note: `${above}${NOTE}`, guests });
      const [removed] = await kit.attempt([deleteOperation(from, first!.versionTag, first!.remoteId)]);
      const { additions } = removed as { additions?: string };
      let { versionTag } = second!;
      for (const revision of [2, 3]) {
        const update = { ...updateOperation(to, itemWith({ description }), versionTag, second!.remoteId), revision };
        const [outcome] = await kit.attempt([additions === undefined ? update : { ...update, additions }]);
        ({ versionTag } = written(outcome));
        expect(await kit.target.own.shown(await idOf(to))).toEqual({ ...THEIRS, note: `${above}${NOTE}`, guests });
      }
      expect((await kit.readAll()).map(({ item }) => item)).toContainEqual(itemWith({ description }));
    }
    expect(await kit.target.server.mails()).toBe(mails);
  },
  'an untouched or an erased event leaves nothing to another one': async (kit) => {
    const operations = ['plain', 'erased'].map((id) => createOperation(id));
    const [plain, erased] = (await kit.attempt(operations)).map(written);
    await kit.target.own.set((await kit.object('erased')).remoteId, { ...THEIRS, note: NOTE });
    const outcomes = await kit.attempt([
      deleteOperation('plain', plain!.versionTag, plain!.remoteId),
      { ...deleteOperation('erased', erased!.versionTag, erased!.remoteId), erase: true },
    ]);
    expect(outcomes.map((outcome) => Object.keys(outcome).includes('additions'))).toEqual([false, false]);
  },
});
