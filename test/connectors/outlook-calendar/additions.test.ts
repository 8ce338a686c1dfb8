import { expect, test } from 'vitest';
import { NO_DESCRIPTION, NO_PRESETS } from '../../../src/connectors/event-content.ts';
import { additionsTextOf, hasAdditions, withAdditionsOf } from '../../../src/connectors/outlook-calendar/additions.ts';

const PRESETS = { last: { category: 'Clinic' }, theirs: new Set<never>() };
const event = (changes: { theirs?: string; categories?: string[]; theirReminder?: number | null } = {}) => {
  const { theirs = '', categories = ['Clinic'], theirReminder = null } = changes;
  return { descriptionParts: { ...NO_DESCRIPTION, theirs }, presets: PRESETS, categories, theirReminder };
};

test('the category of clinic-mirror and its reminder are no additions', () => {
  expect(hasAdditions(event())).toBe(false);
  expect(additionsTextOf(event())).toBeUndefined();
  expect(hasAdditions({ ...event(), presets: NO_PRESETS })).toBe(true);
  expect(hasAdditions(event({ theirReminder: 0 }))).toBe(true);
});

test('note, categories and reminder are added once, and an own reminder stays', () => {
  const text = additionsTextOf(event({ theirs: 'Ring twice', categories: ['Clinic', 'Urgent'], theirReminder: 25 }));
  const taken = withAdditionsOf(event(), text);
  expect(taken.event.descriptionParts.theirs).toBe('Ring twice');
  expect(taken.categories).toEqual({ categories: ['Clinic', 'Urgent'] });
  expect(taken.reminder).toEqual({ isReminderOn: true, reminderMinutesBeforeStart: 25 });
  const again = withAdditionsOf({ ...taken.event, theirReminder: 10 }, text);
  expect(again.event.descriptionParts.theirs).toBe('Ring twice');
  expect(again.categories).toEqual({ categories: ['Clinic', 'Urgent'] });
  expect(again.reminder).toEqual({});
  expect(withAdditionsOf(event(), undefined)).toEqual({ event: event(), categories: {}, reminder: {} });
});
