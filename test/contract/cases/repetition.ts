import { expect } from 'vitest';
import { group } from '../contract-case.ts';
import { type CalendarKit, deleteOperation, describeOutcome, updateOperation, written } from '../contract-kit.ts';

/** A repeated operation has the same result as a single one. */
export const repetition = group('repetition', {
  'the same delete twice ends well both times': async (kit) => {
    const [created] = await kit.create('a');
    const operation = deleteOperation('a', created!.versionTag);
    expect(describeOutcome((await kit.attempt([operation]))[0])).toBe('deleted deleted');
    expect(describeOutcome((await kit.attempt([operation]))[0])).toBe('deleted already-gone');
    expect(await kit.objects()).toEqual([]);
  },
  'the next update succeeds at once with a returned version tag': async (kit) => {
    const [created] = await kit.create('a');
    const [first] = await kit.attempt([updateOperation('a', kit.item('One'), created!.versionTag)]);
    const [second] = await kit.attempt([updateOperation('a', kit.item('Two'), written(first).versionTag)]);
    expect(describeOutcome(second)).toBe('written updated');
    expect((await kit.object('a')).title).toBe('Two');
  },
  'an update and a delete without a version tag work on managed objects': async (kit) => {
    await kit.create('a', 'b');
    const outcomes = await kit.attempt([updateOperation('a', kit.item('New'), null), deleteOperation('b', null)]);
    expect(outcomes.map(describeOutcome)).toEqual(['written updated', 'deleted deleted']);
    expect((await kit.objects()).map((object) => object.title)).toEqual(['New']);
  },
});

/** What a calendar shows of it; a write that would change nothing isn't made. */
export const calendarRepetition = group<CalendarKit>('repetition', {
  'a create makes one managed object with its owner tag and locator': async (kit) => {
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(describeOutcome(outcome)).toBe('written created');
    const object = await kit.object('a');
    expect(object).toMatchObject({ title: 'Appointment', isPrivate: true, busy: true, attendees: 0, alarms: 0 });
  },
  'the same create twice leaves one object and writes nothing the second time': async (kit) => {
    await kit.create('a');
    const before = await kit.object('a');
    const [outcome] = await kit.attempt([kit.toCreate('a')]);
    expect(describeOutcome(outcome)).toBe('written adopted');
    expect((await kit.object('a')).version).toBe(before.version);
    expect(await kit.objects()).toHaveLength(1);
  },
  'the same update twice leaves the same content': async (kit) => {
    const [created] = await kit.create('a');
    const update = updateOperation('a', kit.item('Moved'), created!.versionTag);
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('written updated');
    const first = await kit.object('a');
    expect(describeOutcome((await kit.attempt([update]))[0])).toBe('written updated');
    expect(await kit.object('a')).toEqual(first);
    expect(first.title).toBe('Moved');
  },
});
