import { isSuccess, type WireAnswer } from '../wire.ts';
import { calendarGone, toMirrorError, unexpectedAnswer } from './errors.ts';
import { calendarSchema, calendarsPageSchema, type GoogleCalendarSettings } from './schemas.ts';

/** The calls that preparing needs, login included. */
export interface ContainerCalls {
  get(id: string): Promise<WireAnswer>;
  insert(content: { summary: string; description: string }): Promise<WireAnswer>;
  list(pageToken: string | null): Promise<WireAnswer>;
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
  mark: string,
  known: string | null,
): Promise<string> {
  if ('id' in calendar) {
    const id = await check(calls, calendar.id);
    if (id === null) throw calendarGone();
    return id;
  }
  if (known !== null) {
    const id = await check(calls, known);
    if (id !== null) return id;
  }
  const found = await findByMark(calls, mark);
  return found[0] ?? (await create(calls, calendar.create, mark));
}

/**
 * Google has no conditional creation of calendars. Two workers that create at the same moment see both calendars afterwards and
 * agree on the one with the lowest id; the other stays empty, for a person to remove.
 */
async function create(calls: ContainerCalls, summary: string, mark: string): Promise<string> {
  const answer = await calls.insert({ summary, description: descriptionWith(mark) });
  if (!isSuccess(answer)) throw toMirrorError(answer);
  const { id } = parse(calendarSchema, answer, true);
  const all = await findByMark(calls, mark);
  return all[0] ?? id;
}

async function check(calls: ContainerCalls, id: string): Promise<string | null> {
  const answer = await calls.get(id);
  if (answer.status === 404 || answer.status === 410) return null;
  if (!isSuccess(answer)) throw toMirrorError(answer);
  return parse(calendarSchema, answer, false).id;
}

/** Ids of the calendars that bear our mark, lowest first. */
async function findByMark(calls: ContainerCalls, mark: string): Promise<string[]> {
  const ids: string[] = [];
  let pageToken: string | null = null;
  do {
    const answer = await calls.list(pageToken);
    if (!isSuccess(answer)) throw toMirrorError(answer);
    const page = parse(calendarsPageSchema, answer, false);
    ids.push(...page.items.filter((entry) => entry.description?.includes(markLine(mark))).map((entry) => entry.id));
    if (page.nextPageToken === pageToken) throw unexpectedAnswer(false);
    pageToken = page.nextPageToken ?? null;
  } while (pageToken !== null);
  return ids.sort();
}

function descriptionWith(mark: string): string {
  return `Kept by clinic-mirror, which finds this calendar by the next line.\n${markLine(mark)}`;
}

function markLine(mark: string): string {
  return `[clinic-mirror ${mark}]`;
}

interface Schema<Parsed> {
  safeParse(value: unknown): { success: true; data: Parsed } | { success: false };
}

function parse<Parsed>(schema: Schema<Parsed>, answer: WireAnswer, ambiguous: boolean): Parsed {
  const parsed = schema.safeParse(answer.body);
  if (!parsed.success) throw unexpectedAnswer(ambiguous);
  return parsed.data;
}
