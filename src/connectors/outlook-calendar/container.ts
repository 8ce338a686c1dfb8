import { parsedBy } from '../errors.ts';
import { type Calendars, type ListedCalendar, lowestMarked, type Owner, ownerText } from '../owner.ts';
import { isSuccess, type WireCall, type WireResponse } from '../wire.ts';
import { codesOf, errors, isGone } from './errors.ts';
import { readProperties } from './from-model.ts';
import { CALENDARS_PAGE_SIZE, NAME_TRIES, PROPERTIES } from './limits.ts';
import { expandProperties, mailboxPath, walkLists, withQuery } from './paths.ts';
import { calendarSchema } from './schemas.ts';

/** Sends one call of preparing, login included; `label` names it in metrics. */
export type ContainerCall = (label: string, call: WireCall) => Promise<WireResponse>;

/** What looking for a calendar takes. */
export interface Preparing {
  call: ContainerCall;
  mailbox: string;
  ownerTag: string;
  owner: Owner | null;
}

/** The calendars of the mailbox. */
export function openCalendars(preparing: Preparing): Calendars {
  return {
    errors,
    owner: preparing.owner,
    find: (id) => findCalendar(preparing, id),
    list: () => listCalendars(preparing),
    create: (name) => create(preparing, name),
  };
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
    const ours = lowestMarked(await listCalendars(preparing));
    if (ours !== null) return ours;
    if (isSuccess(answer)) return readId(answer, true);
  }
  throw errors.make('calendar-name-taken');
}

/** The calendar with this id, asked alone; null when there is none. */
async function findCalendar(preparing: Pick<Preparing, 'call' | 'mailbox'>, id: string): Promise<string | null> {
  const mailbox = mailboxPath(preparing.mailbox);
  const path = id === 'primary' ? `${mailbox}/calendar` : `${mailbox}/calendars/${encodeURIComponent(id)}`;
  const answer = await preparing.call('graph.calendars.get', { method: 'GET', path });
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw refusal(preparing, answer);
  return readId(answer, false);
}

async function listCalendars({ call, mailbox, ownerTag }: Preparing): Promise<ListedCalendar[]> {
  const entries: ListedCalendar[] = [];
  const query = { $expand: expandProperties([PROPERTIES.ownerTag, PROPERTIES.owner]), $top: CALENDARS_PAGE_SIZE };
  const ask = (path: string) => call('graph.calendars.list', { method: 'GET', path });
  const refused = (answer: WireResponse) =>
    isGone(answer) ? errors.make('mailbox-gone', { status: answer.status }) : refusal({ mailbox }, answer);
  for await (const page of walkLists(withQuery(`${mailboxPath(mailbox)}/calendars`, query), ask, refused)) {
    const calendars = page.flatMap((calendar) => calendarSchema.safeParse(calendar).data ?? []);
    for (const { id, canShare, singleValueExtendedProperties } of calendars) {
      const properties = readProperties(singleValueExtendedProperties ?? []);
      const isMarked = properties.ownerTag === ownerTag;
      // Of another mailbox than the login's own nobody may share on, not even what we made there.
      entries.push({ id, isMarked, isOfAnother: mailbox === 'me' && canShare === false, ownerText: properties.owner });
    }
  }
  return entries;
}

/** `/me` means nothing to an application's own login, which Graph answers as a bad request. */
function refusal({ mailbox }: Pick<Preparing, 'mailbox'>, answer: WireResponse) {
  return mailbox === 'me' && answer.status === 400 ? errors.make('mailbox-needed') : errors.of(answer);
}

function readId(answer: WireResponse, ambiguous: boolean): string {
  return parsedBy(errors, calendarSchema, answer.body, { ambiguous }).id;
}
