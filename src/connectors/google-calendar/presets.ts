import { COLOURS, type Presets } from '../../model/items.ts';
import { fromPresetsText, type PresetsThere, presetChanges, presetsThere } from '../presets.ts';
import type { EventHead } from './schemas.ts';

/** What stands for reminders that we never set. */
const OTHER = 'other';

/**
 * The fields of an event that a write changes for its presets: `colorId`, `reminders` and `source`, null where one is to go.
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events
 */
export function toPresetFields(there: PresetsThere, wanted: Presets | undefined): object {
  const { colour, reminderMinutes, pageUrl } = presetChanges(there, wanted);
  return {
    ...(colour === undefined ? {} : { colorId: colour === null ? null : String(COLOURS.indexOf(colour) + 1) }),
    ...(reminderMinutes === undefined ? {} : { reminders: { useDefault: false, overrides: alarms(reminderMinutes) } }),
    ...(pageUrl === undefined ? {} : { source: pageUrl === null ? null : { url: pageUrl, title: hostOf(pageUrl) } }),
  };
}

/** Whose the presets of an event are. @param stamped what our last write wanted */
export function readPresets({ colorId, reminders, source }: EventHead, stamped: string | undefined): PresetsThere {
  const last = fromPresetsText(stamped);
  const colour = colorId === undefined ? undefined : (COLOURS[Number(colorId) - 1] ?? OTHER);
  return presetsThere(last, { colour, reminderMinutes: shownReminder(reminders), pageUrl: source?.url });
}

function alarms(minutes: Presets['reminderMinutes'] | null): object[] {
  return typeof minutes === 'number' ? [{ method: 'popup', minutes }] : [];
}

function shownReminder(reminders: EventHead['reminders']): unknown {
  const [first, ...more] = reminders?.overrides ?? [];
  if (reminders?.useDefault === true || more.length > 0) return OTHER;
  return first?.method === 'email' ? OTHER : first?.minutes;
}

function hostOf(url: string): string {
  return new URL(url).host;
}
