import type { MirrorError } from '../../model/errors.ts';
import { COMMON, common, defineErrors, refusal, remote, settings } from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import { USAGE_LIMIT_PAUSE_MS } from './limits.ts';
import { errorBodySchema } from './schemas.ts';

/** Reasons and domain of a spent quota. */
const RATE_WORDS = ['rateLimitExceeded', 'userRateLimitExceeded', 'usageLimits'];
/**
 * The daily quota comes with the reason of the quotas by the minute, and is named in the message alone: `Quota exceeded for quota metric
 * 'Queries' and limit 'Queries per day'`.
 */
const OF_A_DAY = /\b(per|a) day\b|perDay|\bdaily\b/i;
const DAILY_WORD = 'dailyLimitExceeded';

/**
 * Google's errors: known by the reason, else by its domain, since the same reason comes as 403 or 429; else by status.
 * @see https://developers.google.com/workspace/calendar/api/guides/errors
 */
export const errors = defineErrors('Google', wordsOf, {
  ...common(
    'changed-meanwhile',
    'html-answer',
    'not-found',
    'notifications-refused',
    'refused',
    'server-error',
    'timeout',
    'unexpected-answer',
  ),
  'login-refused': { ...COMMON['login-refused'], remedy: 'connect the Google account again' },
  'scope-missing': {
    ...COMMON['scope-missing'],
    words: ['insufficientPermissions'],
    remedy: 'connect again and leave all calendar permissions ticked',
  },
  'calendar-gone': settings.target('the calendar is gone, or the connected account cannot see it', {
    tellsGone: true,
    remedy: 'check the calendar id, and that the calendar is shared with the connected account',
    note: 'One of our own is made again by the next `sync`',
  }),
  'calendar-forbidden': settings.target('Google does not allow this in the calendar', {
    statuses: [403],
    words: ['forbidden', 'requiredAccessLevel'],
    remedy: 'give the connected account the right to make changes to events in this calendar',
  }),
  'event-forbidden': settings.item('Google lets only the organizer change this event', {
    words: ['forbiddenForNonOrganizer'],
    remedy: 'remove the event by hand; it is written again with the next change',
  }),
  'api-disabled': settings.target('the Calendar API is not enabled in the Google Cloud project', {
    words: ['accessNotConfigured'],
    remedy: 'enable the Google Calendar API in the project of the OAuth client',
  }),
  'empty-time-range': refusal.item('Google refused an event that ends before it starts', { words: ['timeRangeEmpty'] }),
  'not-yet-readable': remote.item('the event exists but cannot be read yet', {
    note: 'After a day its name is given up, and the next one is taken',
  }),
  /** @see https://developers.google.com/workspace/calendar/api/guides/quota and https://support.google.com/a/answer/2905486 */
  'rate-limited': { ...COMMON['rate-limited'], words: RATE_WORDS },
  'usage-limit': remote.target('the account has reached the usage limits of Google Calendar', {
    words: ['quotaExceeded'],
    leastPauseMs: USAGE_LIMIT_PAUSE_MS,
    remedy: 'wait; the limits recover by themselves, after hours or days',
  }),
  'daily-limit': remote.target('the daily quota of the Google Cloud project is spent', {
    words: [DAILY_WORD],
    leastPauseMs: USAGE_LIMIT_PAUSE_MS,
    remedy: 'wait until midnight Pacific time, or raise the quota of the project',
  }),
  /** @see https://developers.google.com/workspace/calendar/api/guides/batch */
  'batch-conflict': remote.item('the call did not go together with the others of its batch', { words: ['conflict'] }),
  /** @see https://developers.google.com/workspace/calendar/api/guides/push */
  'notification-address-refused': settings.target('Google does not take the address for notifications', {
    words: ['push.webhookUrlUnauthorized', 'push.webhookUrlNotHttps'],
    remedy:
      'notifications.url must be https with a valid certificate, and of a domain that the Google Cloud project may use',
    note: 'Until then the target is polled ([notifications](operating.md#notifications))',
  }),
  'notifications-unsupported': settings.target('Google has no notifications for this calendar', {
    words: ['pushNotSupportedForRequestedResource'],
    remedy: 'none is needed: the calendar is polled; only calendars that people write to have notifications',
  }),
});

function wordsOf({ body }: Pick<WireResponse, 'body'>): string[] {
  const parsed = errorBodySchema.safeParse(body);
  if (!parsed.success) return [];
  const { errors: faults, message } = parsed.data.error;
  const fault = faults?.[0];
  const words = [fault?.reason, fault?.domain].filter((word) => word !== undefined);
  const isOfDay = words.some((word) => RATE_WORDS.includes(word)) && OF_A_DAY.test(`${message} ${fault?.message}`);
  return isOfDay ? [DAILY_WORD, ...words] : words;
}

/** Whether Google gives a reason for a refusal, such as `duplicate`. */
export function hasReason(answer: WireResponse, reason: string): boolean {
  return wordsOf(answer).includes(reason);
}

/** Google does not tell of changes, for a reason that it gives, or for one that we don't know. */
export function notificationsRefused(answer: WireResponse): MirrorError {
  if (errors.kindOf(answer) !== 'refused') return errors.of(answer);
  return errors.make('notifications-refused', { status: answer.status });
}
