import type { Account } from './account.ts';
import { type Answer, found, hrefElement, multistatus } from './answers.ts';
import type { Calendar } from './calendar.ts';
import type { Place } from './place.ts';
import { escaped } from './xml.ts';

const PRIVILEGES = ['read', 'write', 'bind', 'unbind']
  .map((name) => `<d:privilege><d:${name}/></d:privilege>`)
  .join('');

/**
 * Answers PROPFIND with the properties of a path, and with depth 1 also of its members. The answer contains all properties, independent of
 * the request.
 */
export function propfind(account: Account, place: Place, depth: string): Answer {
  const isDeep = depth !== '0';
  const { calendar, object } = place;
  if (calendar === undefined) {
    const home = [found(place.path, collectionProperties(account))];
    if (!isDeep || place.path !== account.homePath) return multistatus(home);
    const calendars = [...account.calendars].map(([name, each]) =>
      found(`${account.homePath}${name}/`, calendarProperties(each)),
    );
    return multistatus([...home, ...calendars]);
  }
  if (object !== undefined) return multistatus([found(place.path, etagElement(object.etag))]);
  const members = [...calendar.objects].map(([name, { etag }]) => found(`${place.path}${name}`, etagElement(etag)));
  return multistatus([found(place.path, calendarProperties(calendar)), ...(isDeep ? members : [])]);
}

/** An ETag as a property. */
export function etagElement(etag: string): string {
  return `<d:getetag>${escaped(etag)}</d:getetag>`;
}

function collectionProperties({ principalPath, homePath }: Account): string {
  return (
    `<d:resourcetype><d:collection/></d:resourcetype><d:current-user-principal>${hrefElement(principalPath)}</d:current-user-principal>` +
    `<c:calendar-home-set>${hrefElement(homePath)}</c:calendar-home-set>`
  );
}

function calendarProperties({ displayName, description, syncToken }: Calendar): string {
  return (
    `<d:resourcetype><d:collection/><c:calendar/></d:resourcetype><d:displayname>${escaped(displayName)}</d:displayname>` +
    `<c:calendar-description>${escaped(description)}</c:calendar-description><d:sync-token>${syncToken}</d:sync-token>` +
    `<d:current-user-privilege-set>${PRIVILEGES}</d:current-user-privilege-set>` +
    '<c:supported-calendar-component-set><c:comp name="VEVENT"/></c:supported-calendar-component-set>'
  );
}
