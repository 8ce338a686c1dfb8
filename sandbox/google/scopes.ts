const PREFIX = 'https://www.googleapis.com/auth/';

/** The calendar scopes of the v3 reference, without their prefix. */
const CALENDAR_SCOPES = new Set([
  'calendar',
  'calendar.readonly',
  'calendar.acls',
  'calendar.acls.readonly',
  'calendar.app.created',
  'calendar.calendarlist',
  'calendar.calendarlist.readonly',
  'calendar.calendars',
  'calendar.calendars.readonly',
  'calendar.events',
  'calendar.events.freebusy',
  'calendar.events.owned',
  'calendar.events.owned.readonly',
  'calendar.events.public.readonly',
  'calendar.events.readonly',
  'calendar.freebusy',
  'calendar.settings.readonly',
]);

const LOGIN_SCOPES = new Set(['openid', `${PREFIX}userinfo.email`, `${PREFIX}userinfo.profile`]);

/** The scopes of a request in the vendor's long form, or undefined when one is unknown or there is none. */
export function parseScopes(scope: string): string[] | undefined {
  const scopes = scope.split(' ').filter(Boolean).map(longForm);
  return scopes.length > 0 && scopes.every(isKnown) ? [...new Set(scopes)] : undefined;
}

/** Returns true for the scopes that a user cannot deselect on the consent page. */
export function isLoginScope(scope: string): boolean {
  return LOGIN_SCOPES.has(scope);
}

/** `calendar.events` for the full scope URL. */
export function shortScope(scope: string): string {
  return scope.startsWith(PREFIX) ? scope.slice(PREFIX.length) : scope;
}

/** The full form of a short or full scope. */
export function longForm(scope: string): string {
  if (scope === 'email' || scope === 'profile') {
    return `${PREFIX}userinfo.${scope}`;
  }
  return CALENDAR_SCOPES.has(scope) ? PREFIX + scope : scope;
}

function isKnown(scope: string): boolean {
  return LOGIN_SCOPES.has(scope) || (scope.startsWith(PREFIX) && CALENDAR_SCOPES.has(shortScope(scope)));
}
