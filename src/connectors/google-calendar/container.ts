import type { z } from 'zod';
import { type Owner, ownerText, ownOfMarked, refuseOtherKey } from '../owner.ts';
import { guardWalk } from '../walk.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { errors } from './errors.ts';
import { calendarSchema, calendarsPageSchema, type GoogleCalendarSettings } from './schemas.ts';

/** The calls that preparing needs, login included. */
export interface ContainerCalls {
  get(id: string): Promise<WireResponse>;
  insert(content: { summary: string; description: string }): Promise<WireResponse>;
  list(pageToken: string | null): Promise<WireResponse>;
}

/**
 * The calendar to write to: the configured one when it is there, else the one of ours, created when there is none. Nobody
 * is invited or told.
 * @param known the id that an earlier call gave, null at first
 * @throws MirrorError `settings`, code `calendar-gone`, for a configured calendar that is not there
 */
export async function prepareCalendar(
  calls: ContainerCalls,
  { calendar }: GoogleCalendarSettings,
  { ownerTag, owner }: { ownerTag: string; owner: Owner | null },
  known: string | null,
): Promise<string> {
  if ('id' in calendar) {
    const id = await findCalendar(calls, calendar.id);
    if (id === null) throw errors.make('calendar-gone', { status: 404 });
    return id;
  }
  if (known !== null) {
    const id = await findCalendar(calls, known);
    if (id !== null) return id;
  }
  return (await locateCalendar(calls, ownerTag, owner)) ?? (await create(calls, calendar.create, ownerTag, owner));
}

/**
 * The calendar of ours that is there already.
 * @throws MirrorError `settings`, code `identity-key-changed`, when one was made for this target with another key; `calendar-of-another`
 */
export async function locateCalendar(
  calls: ContainerCalls,
  ownerTag: string,
  owner: Owner | null,
): Promise<string | null> {
  const entries = await listCalendars(calls);
  const [ours = null] = markedIn(entries, ownerTag);
  if (ours === null && owner !== null)
    refuseOtherKey(
      entries.map(({ description }) => description),
      owner,
    );
  return ours;
}

/**
 * Google has no conditional creation of calendars. Two workers that create at the same moment see both calendars afterwards and
 * agree on the one with the lowest id; the other stays empty, for a person to remove.
 */
async function create(calls: ContainerCalls, summary: string, ownerTag: string, owner: Owner | null): Promise<string> {
  const answer = await calls.insert({ summary, description: descriptionWith(ownerTag, owner) });
  if (!isSuccess(answer)) throw errors.of(answer);
  const { id } = parse(calendarSchema, answer, true);
  return markedIn(await listCalendars(calls), ownerTag)[0] ?? id;
}

/** The calendar with this id, asked alone; null when there is none. */
export async function findCalendar(calls: ContainerCalls, id: string): Promise<string | null> {
  const answer = await calls.get(id);
  if (answer.status === 404 || answer.status === 410) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  return parse(calendarSchema, answer, false).id;
}

type Entry = z.output<typeof calendarsPageSchema>['items'][number];

/** Ids of the account's own calendars that carry our owner tag, lowest first. @throws MirrorError `settings`, code `calendar-of-another` */
function markedIn(entries: readonly Entry[], ownerTag: string): string[] {
  const account = entries.find(({ primary }) => primary === true)?.id ?? null;
  const marked = entries
    .filter(({ description }) => description?.includes(markLine(ownerTag)))
    .map(({ id, accessRole = 'owner', dataOwner = account }) => ({
      id,
      isOfAnother: accessRole !== 'owner' || (account !== null && dataOwner !== account),
    }));
  return ownOfMarked(marked)
    .map(({ id }) => id)
    .sort();
}

async function listCalendars(calls: ContainerCalls): Promise<Entry[]> {
  const entries: Entry[] = [];
  const visit = guardWalk(() => errors.make('unexpected-answer'));
  let pageToken: string | null = null;
  do {
    visit(pageToken);
    const answer = await calls.list(pageToken);
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = parse(calendarsPageSchema, answer, false);
    entries.push(...page.items);
    pageToken = page.nextPageToken ?? null;
  } while (pageToken !== null);
  return entries;
}

function descriptionWith(ownerTag: string, owner: Owner | null): string {
  const lines = ['Kept by clinic-mirror, which finds this calendar by the next line.', markLine(ownerTag)];
  return [...lines, ...(owner === null ? [] : [ownerText(owner)])].join('\n');
}

function markLine(ownerTag: string): string {
  return `[clinic-mirror ${ownerTag}]`;
}

interface Schema<Parsed> {
  safeParse(value: unknown): { success: true; data: Parsed } | { success: false };
}

function parse<Parsed>(schema: Schema<Parsed>, answer: WireResponse, ambiguous: boolean): Parsed {
  const parsed = schema.safeParse(answer.body);
  if (!parsed.success) throw errors.make('unexpected-answer', { ambiguous });
  return parsed.data;
}
