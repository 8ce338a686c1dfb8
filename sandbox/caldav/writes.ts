import { randomUUID } from 'node:crypto';
import { isMatched } from '../kit/answer.ts';
import type { Account } from './account.ts';
import { type Answer, hrefElement, page, refused, refusedWithin207 } from './answers.ts';
import { readObject } from './objects.ts';
import { type Place, placeAt } from './place.ts';
import { child, readXml } from './xml.ts';

/** Conditions under which a write may happen, as headers have them. */
export interface Conditions {
  ifMatch: string | undefined;
  ifNoneMatch: string | undefined;
}

/** Answers PUT of an object. */
export function put(account: Account, place: Place, data: string, conditions: Conditions): Answer {
  const { calendar, calendarName = '', name, object } = place;
  if (name === undefined) return { status: 405 };
  if (calendar === undefined) return intoAbsent(account);
  if (isUnmet(object?.etag, conditions)) return { status: 412 };
  const read = readObject(data);
  if ('unmet' in read) return refuse(account, place, `<c:${read.unmet}/>`);
  if (account.quirks.needsEnd && !read.hasEnd) return { status: 404 };
  if (account.quirks.needsLength && !read.hasLength) return refuse(account, place, '<c:valid-calendar-data/>');
  const other = account.whereUidIs(read.uid, { calendar: calendarName, name });
  if (other !== undefined) {
    const { uidTaken } = account.quirks;
    return refuse(account, place, `<c:${uidTaken}>${hrefElement(other)}</c:${uidTaken}>`);
  }
  const kept = keptOf(account, { name, data, uid: read.uid }, object !== undefined);
  const { etag } = calendar.put(kept.name, kept.data, kept.uid);
  return { status: object === undefined ? 201 : 204, headers: tagHeader(account, etag) };
}

/** What is stored of a written object. An object that is written again keeps its name. */
function keptOf({ quirks }: Account, written: { name: string; data: string; uid: string }, isThere: boolean) {
  if (quirks.keeps === 'all') return written;
  // A long line goes on in lines that begin with a blank.
  const data = written.data.replace(/^X-.*\r?\n(?:[ \t].*\r?\n)*/gm, '');
  if (quirks.keeps === 'name') return { ...written, data };
  const other = randomUUID();
  const uid = quirks.keeps === 'uid' ? written.uid : other;
  return { name: isThere ? written.name : `${other}.ics`, data: data.replace(/^UID:.*$/m, `UID:${uid}`), uid };
}

/** Answers DELETE of an object or of a calendar. */
export function remove(account: Account, place: Place, conditions: Conditions): Answer {
  const { calendar, calendarName = '', name, object } = place;
  if (calendar === undefined) return { status: 404 };
  if (name === undefined) return { status: account.calendars.delete(calendarName) ? 204 : 404 };
  if (object === undefined) return { status: 404 };
  if (isUnmet(object.etag, conditions)) return { status: 412 };
  calendar.remove(name);
  return { status: 204 };
}

/** Answers MOVE of an object, within the account. */
export function move(account: Account, place: Place, destination: string): Answer {
  const { calendar, name, object } = place;
  const target = placeAt(account, new URL(destination, 'http://sandbox').pathname);
  if (calendar === undefined || name === undefined || object === undefined) return { status: 404 };
  if (target?.name === undefined || target.calendar === undefined) return { status: 409 };
  calendar.remove(name);
  target.calendar.put(target.name, object.data, object.uid);
  return { status: target.object === undefined ? 201 : 204 };
}

/** Answers MKCALENDAR (RFC 4791 section 5.3.1). */
export function makeCalendar(account: Account, place: Place, body: string): Answer {
  const { calendar, calendarName, name } = place;
  if (calendarName === undefined || name !== undefined) return refused(403, '<c:calendar-collection-location-ok/>');
  if (calendar !== undefined) return refused(405, '<d:resource-must-be-null/>');
  const properties = child(child(readXml(body), 'set'), 'prop');
  const textOf = (property: string) => child(properties, property)?.text;
  account.addCalendar(calendarName, textOf('displayname'), textOf('calendar-description'));
  return { status: 201 };
}

function isUnmet(etag: string | undefined, { ifMatch, ifNoneMatch }: Conditions): boolean {
  if (ifNoneMatch !== undefined && etag !== undefined && isMatched(ifNoneMatch, etag)) return true;
  return ifMatch !== undefined && (etag === undefined || !isMatched(ifMatch, etag));
}

function intoAbsent({ quirks }: Account): Answer {
  if (quirks.absentCalendar === 'silent') return { status: 405 };
  return quirks.absentCalendar === 'forbidden-page' ? page(403, 'Mailbox does not exist') : { status: 409 };
}

function refuse({ quirks }: Account, { path }: Place, condition: string): Answer {
  return quirks.refusesWithin207 ? refusedWithin207(path, condition) : refused(403, condition);
}

function tagHeader({ quirks }: Account, etag: string): Record<string, string> {
  if (quirks.putTags === 'none') return {};
  return { etag: quirks.putTags === 'weak' ? `W/${etag}` : etag };
}
