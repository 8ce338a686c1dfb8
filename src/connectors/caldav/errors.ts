import { COMMON, common, defineErrors, NO_WORDS, refusal, remote, settings } from '../errors.ts';

/**
 * Errors of CalDAV servers. Refused writes are identified by status; `webdav.ts` handles conditions and texts.
 * @see https://www.rfc-editor.org/rfc/rfc4791#section-5.3.2 and https://www.rfc-editor.org/rfc/rfc4918#section-11
 */
export const errors = defineErrors('caldav', NO_WORDS, {
  ...common('bad-xml', 'changed-meanwhile', 'login-refused', 'rate-limited'),
  'server-error': { ...COMMON['server-error'], ambiguous: true },
  'server-unavailable': remote.target(),
  'not-a-caldav-answer': remote.target({ detail: 'If the error persists, check which server responds at this URL' }),
  'redirected-elsewhere': settings.target(),
  'unexpected-status': { ...COMMON['unexpected-status'], scope: 'target' },
  'unexpected-server-status': remote.target({ code: 'unexpected-status', statuses: [501], ambiguous: false }),
  'record-refused': refusal.item({ statuses: [400, 404, 409, 410, 415, 422], ambiguous: false }),
  'record-too-large': refusal.item({ statuses: [413], ambiguous: false }),
  'record-locked': remote.item({ statuses: [423] }),
  'storage-full': settings.target({ retry: 'later', statuses: [507], ambiguous: false }),
  /** @see https://github.com/nextcloud/server/issues/42582: a previously deleted name cannot be moved to the trash bin again. */
  'trash-bin-keeps-name': settings.item({ retry: 'later' }),
  'calendar-read-only': settings.target({ statuses: [403] }),
  'calendar-forbidden': settings.target(),
  'calendar-gone': settings.target({ provesGone: true }),
  'own-calendar-gone': settings.target({ code: 'calendar-gone', provesGone: true }),
  'not-a-calendar': settings.target(),
  /** @see https://www.rfc-editor.org/rfc/rfc6764#section-6 */
  'discovery-failed': settings.target(),
  'calendar-home-missing': settings.target(),
  /** @see https://www.rfc-editor.org/rfc/rfc4791#section-5.3.1.2 */
  'calendar-creation-refused': settings.target(),
});
