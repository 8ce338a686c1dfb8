import { type DescriptionParts, type PresetsThere, withTheirs } from '../event-content.ts';
import { additionsSchema } from './schemas.ts';

/** Parts of an event that users may have added to. */
interface WithAdditions {
  descriptionParts: DescriptionParts;
  presets: PresetsThere;
  categories: readonly string[];
  /** Minutes before the start of a reminder that a user set; null for none. */
  theirReminder: number | null;
}

/** Whether users set fields of an event other than its description. */
export function hasAdditions(event: Omit<WithAdditions, 'descriptionParts'>): boolean {
  return event.theirReminder !== null || theirCategories(event).length > 0;
}

function theirCategories({ categories, presets }: Pick<WithAdditions, 'categories' | 'presets'>): string[] {
  return categories.filter((category) => category !== presets.last.category);
}

/**
 * Returns what users added to an event as a text for another event; undefined for nothing. Attachments need their own requests, and stay
 * with the removed event in the folder of deleted items.
 */
export function additionsTextOf(event: WithAdditions): string | undefined {
  const { theirs } = event.descriptionParts;
  if (theirs === '' && !hasAdditions(event)) return;
  const categories = theirCategories(event);
  return JSON.stringify({ description: theirs, categories, reminderMinutesBeforeStart: event.theirReminder });
}

/**
 * Adds the additions of another event to an event that is about to be written. What its own users set stays.
 * @param text as {@link additionsTextOf} returned it; undefined for nothing
 * @returns the event, with all categories and the reminder for the PATCH: an own category joins the categories, and the reminder replaces
 * an own one
 */
export function withAdditionsOf<Event extends WithAdditions>(event: Event, text: string | undefined) {
  if (text === undefined) return { event, categories: {}, reminder: {} };
  const { description, categories, reminderMinutesBeforeStart } = additionsSchema.parse(JSON.parse(text));
  const all = [...new Set([...event.categories, ...categories])];
  const takesReminder = reminderMinutesBeforeStart !== null && event.theirReminder === null;
  return {
    event: { ...event, descriptionParts: withTheirs(event.descriptionParts, description), categories: all },
    categories: categories.length === 0 ? {} : { categories: all },
    reminder: takesReminder ? { isReminderOn: true, reminderMinutesBeforeStart } : {},
  };
}
