import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  type DescriptionParts,
  joinDescription,
  NO_DESCRIPTION,
  readDescription,
  recoveredParts,
  toDescriptionStamp,
  withTheirs,
} from '../../src/connectors/event-content.ts';
import { areOfWrite, fromFields, labelsOf, type Owned, ownedBy, toFields } from '../../src/connectors/labels.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Operation, RemoteItem } from '../../src/core/model/operations.ts';
import { shortened } from '../../src/core/model/text.ts';

const text = z.string().nullable().default(null);

/** Fields of an event that clinic-mirror writes, in the form of an item. */
const itemSchema = z.object({
  title: z.string().default(''),
  description: text,
  location: text,
  time: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('timed'), start: z.string(), end: z.string(), zone: z.string() }),
    z.object({ kind: z.literal('all-day'), startDate: z.string(), endDate: z.string() }),
  ]),
  busy: z.boolean().default(true),
  tentative: z.literal(true).exactOptional(),
  visibility: z.literal('default').exactOptional(),
});
/** An event of the file. Other fields belong to users and stay. */
const eventSchema = z.looseObject({ ...itemSchema.shape, labels: z.record(z.string(), z.string()).default({}) });
type FileEvent = z.output<typeof eventSchema>;

/** A calendar file: events by id, and the owner of a calendar that clinic-mirror created. */
export const calendarSchema = z.looseObject({
  owner: z.string().optional(),
  events: z.record(z.string(), z.unknown()),
});

/** Users may rename or copy an event, so its key is also a label. */
const FIELDS = { ownerTag: 'owner', key: 'key', sealedRecordId: 'record', revision: 'revision' };
/** Label that separates the description of the last write from users' text. */
const DESCRIPTION_STAMP = 'description';

/** Longest texts, in UTF-16 code units. Own choice. */
export const LONGEST = { title: 1_000, description: 20_000, location: 1_000 };

/** An event of clinic-mirror, as found in the file. */
export interface OwnEvent extends Owned {
  id: string;
  key: string;
  /** Null if a user made the event unreadable. */
  event: FileEvent | null;
  parts: DescriptionParts;
}

/** Returns an own event, or null for a foreign one. @param storedKey key of the event if its id is stored: then the event needs no labels */
export function ownEvent(ownerTag: string, id: string, value: unknown, storedKey?: string): OwnEvent | null {
  const event = eventSchema.safeParse(value).data ?? null;
  const labels: Partial<Record<string, string>> = event?.labels ?? {};
  const owned = ownedBy(
    ownerTag,
    fromFields(FIELDS, (field) => labels[field]),
    [id, storedKey],
  );
  if (owned === null || owned.key === null) return null;
  const description = event?.description ?? '';
  const parts = event === null ? NO_DESCRIPTION : readDescription(description, labels[DESCRIPTION_STAMP], 'plain');
  return { ...owned, key: owned.key, id, event, parts };
}

/** Converts an event to the contract's form. Each edit by hand changes the digest of the event, which is its version tag. */
export function toRemoteItem({ id, event, parts, ...owned }: OwnEvent): RemoteItem {
  if (event === null) return { ...owned, remoteId: id, versionTag: null, item: null, unreadable: true };
  return { ...owned, remoteId: id, versionTag: digestOf(JSON.stringify(event)), item: itemOf(event, parts) };
}

export function digestOf(content: string): string {
  return hash('sha256', content, 'base64url').slice(0, 22);
}

function itemOf(event: FileEvent, { ours }: DescriptionParts): CalendarItem {
  const item = itemSchema.parse(event);
  return { ...item, description: ours || null, location: item.location || null };
}

type Write = Exclude<Operation, { kind: 'delete' }>;

/** Shortens the texts of an item to the limits. */
function fitted(item: CalendarItem): CalendarItem {
  return {
    ...item,
    title: shortened(item.title, LONGEST.title),
    description: shortened(item.description ?? '', LONGEST.description) || null,
    location: shortened(item.location ?? '', LONGEST.location) || null,
  };
}

/** Builds an event, with users' additions to the existing event and to a removed event, each once. */
export function toEvent(ownerTag: string, write: Write, existing: OwnEvent | null) {
  const item = fitted(write.item);
  const recovered = existing === null ? NO_DESCRIPTION : recoveredParts(existing.parts, 'plain', write);
  const added = write.kind === 'update' && existing?.event != null ? write.additions : undefined;
  const [theirs, fields] = added === undefined ? ['', {}] : (JSON.parse(added) as [string, object]);
  return {
    ...fields,
    ...additionsIn(existing?.event ?? {}),
    ...item,
    description: joinDescription(item.description, withTheirs(recovered, theirs)) || null,
    labels: {
      ...toFields(FIELDS, labelsOf(ownerTag, write)),
      [DESCRIPTION_STAMP]: toDescriptionStamp(item.description),
    },
  };
}

/** Returns users' additions to an event as a text for another event; undefined for none. */
export function additionsTextOf({ event, parts: { theirs } }: OwnEvent): string | undefined {
  const fields = additionsIn(event ?? {});
  return theirs === '' && Object.keys(fields).length === 0 ? undefined : JSON.stringify([theirs, fields]);
}

/** Returns the fields of an event that users added. */
function additionsIn(event: object): object {
  return Object.fromEntries(
    Object.entries(event).filter(([name]) => name !== 'labels' && !Object.hasOwn(itemSchema.shape, name)),
  );
}

/** Decides whether an event already equals the result of a write. */
export function holds({ event, parts, ...owned }: OwnEvent, write: Write): boolean {
  return areOfWrite(owned, write) && event !== null && isDeepStrictEqual(itemOf(event, parts), fitted(write.item));
}
