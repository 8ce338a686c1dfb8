import type { Account } from './account.ts';
import { type Answer, found, multistatus, refused, withStatus } from './answers.ts';
import type { Calendar } from './calendar.ts';
import { fits, readFilter } from './filter.ts';
import type { CalendarObject } from './objects.ts';
import { type Place, placeAt } from './place.ts';
import { etagElement } from './properties.ts';
import { child, childrenOf, type Element, escaped, readXml } from './xml.ts';

/** Answers a REPORT on a calendar. */
export function report(account: Account, place: Place, body: string): Answer {
  const { calendar, path } = place;
  const asked = readXml(body);
  if (calendar === undefined) return account.quirks.absentCalendar === 'silent' ? multistatus([]) : { status: 404 };
  if (asked === undefined) return { status: 400 };
  if (asked.name === 'calendar-query') return query(account, calendar, path, asked);
  if (asked.name === 'calendar-multiget') return multiget(account, asked);
  if (asked.name === 'sync-collection') return changes(account, calendar, path, asked);
  return refused(403, '<d:supported-report/>');
}

function query({ quirks }: Account, calendar: Calendar, path: string, asked: Element): Answer {
  const filter = readFilter(asked);
  if (filter === undefined) return refused(403, '<c:supported-filter/>');
  const isBlind = quirks.timeRangeHidesOtherFilters && filter.range !== undefined;
  const used = isBlind ? { ...filter, properties: [] } : filter;
  const matching = [...calendar.objects].filter(([, { data }]) => fits(data, used));
  return multistatus(matching.map(([name, object]) => found(`${path}${name}`, propertiesOf(object, asked))));
}

function multiget(account: Account, asked: Element): Answer {
  const places = childrenOf(asked, 'href').map(({ text }) => {
    const { pathname } = new URL(text, 'http://sandbox');
    return { pathname, object: placeAt(account, pathname)?.object };
  });
  const isAnyAbsent = places.some(({ object }) => object === undefined);
  if (account.quirks.multigetRefusesAbsent && isAnyAbsent) return { status: 404 };
  const responses = places.flatMap(({ pathname, object }) => {
    if (object !== undefined) return [found(pathname, propertiesOf(object, asked))];
    return account.quirks.multigetLeavesOutAbsent ? [] : [withStatus(pathname, '404 Not Found')];
  });
  return multistatus(responses);
}

function changes({ quirks }: Account, calendar: Calendar, path: string, asked: Element): Answer {
  const token = child(asked, 'sync-token')?.text ?? '';
  const known = token === '' ? undefined : calendar.changedSince(token);
  if (token !== '' && known === undefined && !quirks.unknownTokenGetsAll) return refused(403, '<d:valid-sync-token/>');
  const responses = (known ?? [...calendar.objects.keys()]).map((name) => {
    const object = calendar.objects.get(name);
    return object === undefined
      ? withStatus(`${path}${name}`, '404 Not Found')
      : found(`${path}${name}`, propertiesOf(object, asked));
  });
  return multistatus(responses, `<d:sync-token>${calendar.syncToken}</d:sync-token>`);
}

function propertiesOf({ etag, data }: CalendarObject, asked: Element): string {
  const isWhole = child(child(asked, 'prop'), 'calendar-data') !== undefined;
  return `${etagElement(etag)}${isWhole ? `<c:calendar-data>${escaped(data).replaceAll('\r', '&#13;')}</c:calendar-data>` : ''}`;
}
