import { type DescriptionParts, withTheirs } from '../event-content.ts';
import { type Additions, additionsSchema, type EventHead } from './schemas.ts';

/** An event with additions of users. */
interface WithAdditions {
  descriptionParts: DescriptionParts;
  additions: Omit<Additions, 'description'>;
}

/** Returns the fields of an event that its users set. @param theirs presets that belong to users */
export function additionsIn(head: EventHead, theirs: ReadonlySet<string>): WithAdditions['additions'] {
  const { colorId, reminders, attendees, attachments, conferenceData } = head;
  return {
    ...(theirs.has('colour') && colorId !== undefined ? { colorId } : {}),
    ...(theirs.has('reminderMinutes') && reminders !== undefined ? { reminders } : {}),
    ...(attendees === undefined || attendees.length === 0 ? {} : { attendees }),
    ...(attachments === undefined || attachments.length === 0 ? {} : { attachments }),
    ...(conferenceData === undefined ? {} : { conferenceData }),
  };
}

/** Returns what users added to an event as a text for another event; undefined for nothing. */
export function additionsTextOf({ descriptionParts: { theirs }, additions }: WithAdditions): string | undefined {
  if (theirs === '' && Object.keys(additions).length === 0) return;
  return JSON.stringify({ description: theirs, ...additions } satisfies Additions);
}

/**
 * Adds the additions of another event to an event that is about to be written. What its own users set stays.
 * @param text as {@link additionsTextOf} returned it; undefined for nothing
 * @returns the description parts, additional fields of the PATCH, and the parameters of the request that these fields need
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events/patch
 */
export function withAdditionsOf(event: WithAdditions, text: string | undefined) {
  const { descriptionParts, additions: own } = event;
  if (text === undefined) return { descriptionParts, fields: {}, query: {} };
  const { description, colorId, reminders, ...lists } = additionsSchema.parse(JSON.parse(text));
  const attendees = joined(own.attendees, lists.attendees, 'email');
  const attachments = joined(own.attachments, lists.attachments, 'fileUrl');
  const conferenceData = own.conferenceData === undefined ? lists.conferenceData : undefined;
  return {
    descriptionParts: withTheirs(descriptionParts, description),
    fields: {
      ...(colorId === undefined || own.colorId !== undefined ? {} : { colorId }),
      ...(reminders === undefined || own.reminders !== undefined ? {} : { reminders }),
      ...(attendees === null ? {} : { attendees }),
      ...(attachments === null ? {} : { attachments }),
      ...(conferenceData === undefined ? {} : { conferenceData }),
    },
    query: {
      ...(attachments === null ? {} : { supportsAttachments: 'true' }),
      ...(conferenceData === undefined ? {} : { conferenceDataVersion: '1' }),
    },
  };
}

/** Returns the elements of both lists, each once by its name; null if the second adds nothing. */
function joined<Element extends object>(
  own: readonly Element[] = [],
  added: readonly Element[] = [],
  name: keyof Element,
): Element[] | null {
  const names = new Set(own.map((element) => element[name]));
  const others = added.filter((element) => !names.has(element[name]));
  return others.length === 0 ? null : [...own, ...others];
}
