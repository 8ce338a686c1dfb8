import { parsedBy } from '../errors.ts';
import { type Calendars, type ListedCalendar, lowestMarked, type Owner, ownerText } from '../owner.ts';
import { isSuccess, type WireResponse, walkPages } from '../wire.ts';
import { errors } from './errors.ts';
import { calendarSchema, calendarsPageSchema } from './schemas.ts';

/** The calls that preparing needs, login included. */
export interface ContainerCalls {
  get(id: string): Promise<WireResponse>;
  insert(content: { summary: string; description: string }): Promise<WireResponse>;
  list(pageToken: string | null): Promise<WireResponse>;
}

/** The calendars of the account. */
export function openCalendars(calls: ContainerCalls, ownerTag: string, owner: Owner | null): Calendars {
  const list = () => listCalendars(calls, ownerTag);
  return {
    errors,
    owner,
    find: (id) => findCalendar(calls, id),
    list,
    create: async (summary) => {
      const id = await insertCalendar(calls, summary, ownerTag, owner);
      return lowestMarked(await list()) ?? id;
    },
  };
}

/**
 * Google has no conditional creation of calendars. Two workers that create at the same moment see both calendars afterwards and
 * agree on the one with the lowest id; the other stays empty, for a person to remove.
 */
async function insertCalendar(calls: ContainerCalls, summary: string, ownerTag: string, owner: Owner | null) {
  const answer = await calls.insert({ summary, description: descriptionWith(ownerTag, owner) });
  if (!isSuccess(answer)) throw errors.of(answer);
  return parsedBy(errors, calendarSchema, answer.body, { ambiguous: true }).id;
}

/** The calendar with this id, asked alone; null when there is none. */
async function findCalendar(calls: ContainerCalls, id: string): Promise<string | null> {
  const answer = await calls.get(id);
  if (answer.status === 404 || answer.status === 410) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  return parsedBy(errors, calendarSchema, answer.body).id;
}

async function listCalendars(calls: ContainerCalls, ownerTag: string): Promise<ListedCalendar[]> {
  const ask = async (pageToken: string | null) => {
    const answer = await calls.list(pageToken);
    if (!isSuccess(answer)) throw errors.of(answer);
    const { items: page, nextPageToken: next } = parsedBy(errors, calendarsPageSchema, answer.body);
    return { page, next };
  };
  const entries = (await Array.fromAsync(walkPages(null, ask, () => errors.make('unexpected-answer')))).flat();
  const account = entries.find(({ primary }) => primary === true)?.id ?? null;
  return entries.map(({ id, description, accessRole = 'owner', dataOwner = account }) => ({
    id,
    isMarked: description?.includes(markLine(ownerTag)) === true,
    isOfAnother: accessRole !== 'owner' || (account !== null && dataOwner !== account),
    ownerText: description,
  }));
}

function descriptionWith(ownerTag: string, owner: Owner | null): string {
  const lines = ['Kept by clinic-mirror, which finds this calendar by the next line.', markLine(ownerTag)];
  return [...lines, ...(owner === null ? [] : [ownerText(owner)])].join('\n');
}

function markLine(ownerTag: string): string {
  return `[clinic-mirror ${ownerTag}]`;
}
