import { COMMON, common, contract, defineErrors, NO_WORDS, refusal, remote, settings } from '../errors.ts';

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
  'server-unavailable': remote.target('the server is not available'),
  'not-a-caldav-answer': remote.target('something other than a CalDAV server answered', {
    note: 'Look at what answers at this address if it stays',
  }),
  'redirected-elsewhere': settings.target('the server sends requests to another site', {
    remedy: "configure the server's new address, with the path of the calendars, or home: discover",
  }),
  'bad-xml': contract.item('the answer is not the XML that was asked for'),
  'unexpected-status': {
    ...COMMON['unexpected-status'],
    scope: 'target',
    message: 'the server gave an unexpected status',
  },
  'unexpected-server-status': remote.target('the server gave an unexpected status', {
    code: 'unexpected-status',
    statuses: [501],
    ambiguous: false,
  }),
  'item-refused': refusal.item('the server refuses the event', {
    statuses: [400, 404, 409, 410, 415, 422],
    ambiguous: false,
  }),
  'item-too-large': refusal.item('the server finds the event too large', { statuses: [413], ambiguous: false }),
  'item-locked': remote.item('the event is locked', { statuses: [423] }),
  'storage-full': settings.target('the server has no room left', {
    retry: 'later',
    statuses: [507],
    ambiguous: false,
    remedy: 'make room in the account that holds the calendar',
  }),
  /** @see https://github.com/nextcloud/server/issues/42582: a name deleted before can't be moved to the trash bin again. */
  'trash-bin-keeps-name': settings.item("the server's trash bin stands in the way of a delete", {
    retry: 'later',
    remedy: "empty the calendar's trash bin",
  }),
  'calendar-read-only': settings.target('the calendar may not be written', {
    statuses: [403],
    remedy: 'give the login the right to write, or configure another calendar',
  }),
  'calendar-forbidden': settings.target('the calendar may not be read', {
    remedy: 'give the login the right to read and write the calendar',
  }),
  'calendar-gone': settings.target('the calendar is not there', {
    tellsGone: true,
    remedy: 'restore the calendar or configure another one',
  }),
  'own-calendar-gone': settings.target('the calendar that we made is not there any more', {
    code: 'calendar-gone',
    tellsGone: true,
    remedy: 'run clinic-mirror sync: it makes the calendar anew and fills it',
  }),
  'not-a-calendar': settings.target('the address is not that of a calendar for events', {
    remedy: "configure the address of the calendar itself, as the server's settings show it for CalDAV",
  }),
  /** @see https://www.rfc-editor.org/rfc/rfc6764#section-6 */
  'discovery-failed': settings.target('the server does not say where the calendars of this login are', {
    remedy: "configure the address of the calendar or of its home, as the server's settings show it for CalDAV",
  }),
  'calendar-home-missing': settings.target('the home of the calendars is not there', {
    remedy: 'configure "home: discover" with the server, or the address that holds the calendars of this login',
  }),
  /** @see https://www.rfc-editor.org/rfc/rfc4791#section-5.3.1.2 */
  'calendar-creation-refused': settings.target('the server does not let us create a calendar', {
    remedy: 'create a calendar by hand and configure its address',
  }),
});
