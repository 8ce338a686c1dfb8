import { type Owner, ownerText, ownOfMarked, refuseOtherKey } from '../owner.ts';
import { guardWalk } from '../walk.ts';
import { isSuccess, type WireCall, type WireResponse } from '../wire.ts';
import { codesOf, errors, isGone } from './errors.ts';
import { readProperties } from './from-model.ts';
import { CALENDARS_PAGE_SIZE, NAME_TRIES, PROPERTIES } from './limits.ts';
import { readPage } from './pages.ts';
import { expandProperties, mailboxPath, withQuery } from './paths.ts';
import { calendarSchema, type OutlookCalendarSettings } from './schemas.ts';

/** Sends one call of preparing, login included; `label` names it in metrics. */
export type ContainerCall = (label: string, call: WireCall) => Promise<WireResponse>;

/** What looking for a calendar takes. */
export interface Preparing {
  call: ContainerCall;
  mailbox: string;
  ownerTag: string;
  owner: Owner | null;
}

/**
 * The calendar to write to: the configured one when it is there, else the one of ours, created when there is none. Nobody
 * is invited or told.
 * @param known the id that an earlier call gave, null at first
 * @throws MirrorError `settings`: `calendar-gone` for a configured calendar that is not there, `calendar-name-taken`
 */
export async function prepareCalendar(
  call: ContainerCall,
  { calendar, mailbox }: OutlookCalendarSettings,
  { ownerTag, owner }: { ownerTag: string; owner: Owner | null },
  known: string | null,
): Promise<string> {
  const preparing = { call, mailbox, ownerTag, owner };
  if ('id' in calendar) {
    const id = await findCalendar(preparing, calendar.id);
    if (id === null) throw errors.make('calendar-gone', { status: 404 });
    return id;
  }
  if (known !== null) {
    const id = await findCalendar(preparing, known);
    if (id !== null) return id;
  }
  return (await locateCalendar(preparing)) ?? (await create(preparing, calendar.create));
}

/**
 * The calendar of ours that is there already.
 * @throws MirrorError `settings`, code `identity-key-changed`, when one was made for this target with another key; `calendar-of-another`
 */
export async function locateCalendar(preparing: Preparing): Promise<string | null> {
  const all = await listCalendars(preparing);
  const [ours = null] = markedIn(all, preparing.ownerTag);
  if (ours === null && preparing.owner !== null)
    refuseOtherKey(
      all.map(({ owner }) => owner),
      preparing.owner,
    );
  return ours;
}

/**
 * A mailbox holds each name once, so of two workers that create at the same moment one is refused and finds the other's
 * calendar. Should both be let through, they agree on the lowest id; the other stays empty, for a person to remove.
 */
async function create(preparing: Preparing, name: string): Promise<string> {
  for (let count = 1; count <= NAME_TRIES; count += 1) {
    const answer = await preparing.call('graph.calendars.create', {
      method: 'POST',
      path: `${mailboxPath(preparing.mailbox)}/calendars`,
      body: {
        name: count === 1 ? name : `${name} (${count})`,
        singleValueExtendedProperties: [
          { id: PROPERTIES.ownerTag, value: preparing.ownerTag },
          ...(preparing.owner === null ? [] : [{ id: PROPERTIES.owner, value: ownerText(preparing.owner) }]),
        ],
      },
    });
    const isTaken = answer.status === 409 || codesOf(answer).includes('ErrorFolderExists');
    if (!isSuccess(answer) && !isTaken) throw refusal(preparing, answer);
    const ours = markedIn(await listCalendars(preparing), preparing.ownerTag);
    if (ours[0] !== undefined) return ours[0];
    if (isSuccess(answer)) return readId(answer, true);
  }
  throw errors.make('calendar-name-taken');
}

/** The calendar with this id, asked alone; null when there is none. */
export async function findCalendar(preparing: Pick<Preparing, 'call' | 'mailbox'>, id: string): Promise<string | null> {
  const mailbox = mailboxPath(preparing.mailbox);
  const path = id === 'primary' ? `${mailbox}/calendar` : `${mailbox}/calendars/${encodeURIComponent(id)}`;
  const answer = await preparing.call('graph.calendars.get', { method: 'GET', path });
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw refusal(preparing, answer);
  return readId(answer, false);
}

/** What our properties say of a calendar. */
type Entry = { id: string; isOfAnother: boolean } & ReturnType<typeof readProperties>;

/** Ids of the mailbox's own calendars that carry our owner tag, lowest first. @throws MirrorError `settings`, code `calendar-of-another` */
function markedIn(calendars: readonly Entry[], ownerTag: string): string[] {
  return ownOfMarked(calendars.filter((one) => one.ownerTag === ownerTag))
    .map(({ id }) => id)
    .sort();
}

async function listCalendars({ call, mailbox }: Preparing): Promise<Entry[]> {
  const entries: Entry[] = [];
  const query = { $expand: expandProperties([PROPERTIES.ownerTag, PROPERTIES.owner]), $top: CALENDARS_PAGE_SIZE };
  let path: string | null = withQuery(`${mailboxPath(mailbox)}/calendars`, query);
  const visit = guardWalk(() => errors.make('unexpected-answer'));
  while (path !== null) {
    visit(path);
    const answer: WireResponse = await call('graph.calendars.list', { method: 'GET', path });
    if (isGone(answer)) throw errors.make('mailbox-gone', { status: answer.status });
    if (!isSuccess(answer)) throw refusal({ mailbox }, answer);
    const page = readPage(answer);
    const calendars = page.elements.flatMap((calendar) => calendarSchema.safeParse(calendar).data ?? []);
    entries.push(
      ...calendars.map((one) => ({
        id: one.id,
        // Of another mailbox than the login's own nobody may share on, not even what we made there.
        isOfAnother: mailbox === 'me' && one.canShare === false,
        ...readProperties(one.singleValueExtendedProperties ?? []),
      })),
    );
    path = page.next;
  }
  return entries;
}

/** `/me` means nothing to an application's own login, which Graph answers as a bad request. */
function refusal({ mailbox }: Pick<Preparing, 'mailbox'>, answer: WireResponse) {
  return mailbox === 'me' && answer.status === 400 ? errors.make('mailbox-needed') : errors.of(answer);
}

function readId(answer: WireResponse, ambiguous: boolean): string {
  const calendar = calendarSchema.safeParse(answer.body);
  if (!calendar.success) throw errors.make('unexpected-answer', { ambiguous });
  return calendar.data.id;
}
