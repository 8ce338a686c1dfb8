export const DAV = '{DAV:}';
export const CALDAV = '{urn:ietf:params:xml:ns:caldav}';
/** Apple's extensions, which most servers have. */
export const CALENDAR_SERVER = '{http://calendarserver.org/ns/}';
/** Exceptions of servers built on sabre/dav. */
export const SABRE = '{http://sabredav.org/ns}';
/** Any other namespace. */
export const NO_NAMESPACE = '{}';

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

/** Full names by namespace and local name. */
export const NAMES: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  [DAV, CALDAV, CALENDAR_SERVER, SABRE, NO_NAMESPACE].map((namespace) => [
    namespace,
    new Map(LOCAL_NAMES.map((local) => [local, `${namespace}${local}`])),
  ]),
);
