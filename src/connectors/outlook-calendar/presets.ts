import type { Presets } from '../../model/items.ts';
import { fromPresetsText, type PresetsThere, presetChanges, presetsThere } from '../presets.ts';
import type { EventHead } from './schemas.ts';

/** Whose the presets of an event are, and all of its categories. */
export interface CategoriesThere {
  presets: PresetsThere;
  categories: readonly string[];
}

/**
 * The fields of an event that a write changes for its presets. Of the categories one is ours; the others stay.
 * @see https://learn.microsoft.com/graph/api/resources/event
 */
export function toPresetFields({ presets, categories }: CategoriesThere, wanted: Presets | undefined): object {
  const { category, reminderMinutes } = presetChanges(presets, wanted);
  const others = categories.filter((one) => one !== presets.last.category && one !== category);
  return {
    ...(category === undefined ? {} : { categories: category === null ? others : [...others, category] }),
    ...(reminderMinutes === undefined ? {} : toReminder(reminderMinutes)),
  };
}

/** Whose the presets of an event are. @param stamped what our last write wanted */
export function readPresets(head: EventHead, stamped: string | undefined): PresetsThere {
  const { categories, isReminderOn, reminderMinutesBeforeStart } = head;
  const last = fromPresetsText(stamped);
  const hasOurs = last.category !== undefined && categories?.includes(last.category) === true;
  return presetsThere(last, {
    category: hasOurs ? last.category : undefined,
    reminderMinutes: isReminderOn === true ? reminderMinutesBeforeStart : undefined,
  });
}

function toReminder(minutes: Presets['reminderMinutes'] | null): object {
  return typeof minutes === 'number'
    ? { isReminderOn: true, reminderMinutesBeforeStart: minutes }
    : { isReminderOn: false };
}
