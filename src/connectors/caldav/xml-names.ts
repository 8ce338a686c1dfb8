import { MOST_CHARACTERS } from '../icalendar.ts';
import { vocabularyOf } from '../xml.ts';

export const DAV = '{DAV:}';
export const CALDAV = '{urn:ietf:params:xml:ns:caldav}';
/** Apple's extensions, which most servers have. */
export const CALENDAR_SERVER = '{http://calendarserver.org/ns/}';
/** Exceptions of servers built on sabre/dav. */
export const SABRE = '{http://sabredav.org/ns}';
/** Namespaces of each request body. */
export const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"';

/** Names that this connector compares. */
const LOCAL_NAMES = [
  ...['multistatus', 'response', 'href', 'status', 'propstat', 'prop', 'sync-token', 'getetag', 'calendar-data'],
  ...['resourcetype', 'calendar', 'supported-calendar-component-set', 'comp', 'calendar-description', 'getctag'],
  ...['current-user-privilege-set', 'privilege', 'all', 'write', 'write-content', 'bind', 'owner'],
  ...[
    'current-user-principal',
    'calendar-home-set',
    'error',
    'exception',
    'message',
    'responsedescription',
    'if-match',
  ],
  ...['if-none-match', 'no-uid-conflict', 'unique-scheduling-object-resource', 'quota-not-exceeded'],
  ...['sufficient-disk-space', 'max-resource-size', 'need-privileges', 'valid-sync-token'],
];

/** The names, and the length of a calendar object, above which no object is read. */
export const VOCABULARY = vocabularyOf(
  [DAV, CALDAV, CALENDAR_SERVER, SABRE],
  LOCAL_NAMES,
  new Map([[`${CALDAV}calendar-data`, MOST_CHARACTERS]]),
);
