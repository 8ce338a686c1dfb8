import { COMMON, common, defineErrors, NO_WORDS } from '../errors.ts';

/**
 * Errors of CalDAV servers: those of refused writes by status; what conditions and texts say beside: `refusals.ts`.
 * @see https://www.rfc-editor.org/rfc/rfc4791#section-5.3.2 and https://www.rfc-editor.org/rfc/rfc4918#section-11
 */
export const errors = defineErrors('the server', NO_WORDS, {
  ...common('changed-meanwhile', 'rate-limited'),
  'login-refused': {
    ...COMMON['login-refused'],
    remedy: 'connect again; many servers want a password made for this application',
  },
  'server-error': { ...COMMON['server-error'], message: 'the server failed', ambiguous: true },
  'server-unavailable': {
    ...{ actor: 'remote', retry: 'later', scope: 'target' },
    message: 'the server is not available',
  },
  'not-a-caldav-answer': {
    ...{ actor: 'remote', retry: 'later', scope: 'target' },
    message: 'something other than a CalDAV server answered',
    note: 'Look at what answers at this address if it stays',
  },
  'redirected-elsewhere': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'the server sends requests to another site',
    remedy: "configure the server's new address, with the path of the calendars, or home: discover",
  },
  'bad-xml': {
    ...{ actor: 'contract', retry: 'later', scope: 'item' },
    message: 'the answer is not the XML that was asked for',
  },
  'unexpected-status': {
    ...COMMON['unexpected-status'],
    scope: 'target',
    message: 'the server gave an unexpected status',
  },
  'unexpected-server-status': {
    ...{ actor: 'remote', retry: 'later', scope: 'target' },
    code: 'unexpected-status',
    statuses: [501],
    ambiguous: false,
    message: 'the server gave an unexpected status',
  },
  'item-refused': {
    ...{ actor: 'contract', retry: 'never', scope: 'item' },
    statuses: [400, 404, 409, 410, 415, 422],
    ambiguous: false,
    message: 'the server refuses the event',
  },
  'item-too-large': {
    ...{ actor: 'contract', retry: 'never', scope: 'item' },
    statuses: [413],
    ambiguous: false,
    message: 'the server finds the event too large',
  },
  'item-locked': {
    ...{ actor: 'remote', retry: 'later', scope: 'item' },
    statuses: [423],
    message: 'the event is locked',
  },
  'storage-full': {
    ...{ actor: 'settings', retry: 'later', scope: 'target' },
    statuses: [507],
    ambiguous: false,
    message: 'the server has no room left',
    remedy: 'make room in the account that holds the calendar',
  },
  /** @see https://github.com/nextcloud/server/issues/42582: a name deleted before can't be moved to the trash bin again. */
  'trash-bin-keeps-name': {
    ...{ actor: 'settings', retry: 'later', scope: 'item' },
    message: "the server's trash bin stands in the way of a delete",
    remedy: "empty the calendar's trash bin",
  },
  'calendar-read-only': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    statuses: [403],
    message: 'the calendar may not be written',
    remedy: 'give the login the right to write, or configure another calendar',
  },
  'calendar-forbidden': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'the calendar may not be read',
    remedy: 'give the login the right to read and write the calendar',
  },
  'calendar-gone': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    tellsGone: true,
    message: 'the calendar is not there',
    remedy: 'restore the calendar or configure another one',
  },
  'own-calendar-gone': {
    ...{ code: 'calendar-gone', actor: 'settings', retry: 'never', scope: 'target' },
    tellsGone: true,
    message: 'the calendar that we made is not there any more',
    remedy: 'run clinic-mirror sync: it makes the calendar anew and fills it',
  },
  'not-a-calendar': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'the address is not that of a calendar for events',
    remedy: "configure the address of the calendar itself, as the server's settings show it for CalDAV",
  },
  /** @see https://www.rfc-editor.org/rfc/rfc6764#section-6 */
  'discovery-failed': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'the server does not say where the calendars of this login are',
    remedy: "configure the address of the calendar or of its home, as the server's settings show it for CalDAV",
  },
  'calendar-home-missing': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'the home of the calendars is not there',
    remedy: 'configure "home: discover" with the server, or the address that holds the calendars of this login',
  },
  /** @see https://www.rfc-editor.org/rfc/rfc4791#section-5.3.1.2 */
  'calendar-creation-refused': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'the server does not let us create a calendar',
    remedy: 'create a calendar by hand and configure its address',
  },
});
