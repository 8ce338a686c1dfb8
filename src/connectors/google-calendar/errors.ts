import type { MirrorError } from '../../core/model/errors.ts';
import {
  COMMON,
  common,
  defineErrors,
  OWN_MADE_AGAIN,
  POLLED_UNTIL_THEN,
  refusal,
  remote,
  settings,
} from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import { USAGE_LIMIT_PAUSE_MS } from './limits.ts';
import { errorBodySchema } from './schemas.ts';

/** Reasons and domain of an exhausted quota. */
const RATE_WORDS = ['rateLimitExceeded', 'userRateLimitExceeded', 'usageLimits'];
/**
 * The daily quota has the reason of the quotas per minute. Only the message shows the difference: `Quota exceeded for quota metric
 * 'Queries' and limit 'Queries per day'`.
 */
const OF_A_DAY = /\b(per|a) day\b|perDay|\bdaily\b/i;
const DAILY_WORD = 'dailyLimitExceeded';

/**
 * Google's errors, identified by reason, then by domain, then by status: a reason can come with status 403 or 429.
 * @see https://developers.google.com/workspace/calendar/api/guides/errors
 */
export const errors = defineErrors('google', wordsOf, {
  ...common(
    'changed-meanwhile',
    'html-answer',
    'login-refused',
    'not-found',
    'notifications-refused',
    'refused',
    'server-error',
    'timeout',
    'unexpected-answer',
  ),
  'scope-missing': { ...COMMON['scope-missing'], words: ['insufficientPermissions'] },
  'calendar-gone': settings.target({ provesGone: true, ...OWN_MADE_AGAIN }),
  'calendar-forbidden': settings.target({ statuses: [403], words: ['forbidden', 'requiredAccessLevel'] }),
  'event-forbidden': settings.item({ words: ['forbiddenForNonOrganizer'] }),
  'api-disabled': settings.target({ words: ['accessNotConfigured'] }),
  'empty-time-range': refusal.item({ words: ['timeRangeEmpty'] }),
  'not-yet-readable': remote.item({ detail: 'After one day the daemon uses the next event id' }),
  /** @see https://developers.google.com/workspace/calendar/api/guides/quota and https://support.google.com/a/answer/2905486 */
  'rate-limited': { ...COMMON['rate-limited'], words: RATE_WORDS },
  'usage-limit': remote.target({ words: ['quotaExceeded'], leastPauseMs: USAGE_LIMIT_PAUSE_MS }),
  'daily-limit': remote.target({ words: [DAILY_WORD], leastPauseMs: USAGE_LIMIT_PAUSE_MS }),
  /** @see https://developers.google.com/workspace/calendar/api/guides/batch */
  'batch-conflict': remote.item({ words: ['conflict'] }),
  /** @see https://developers.google.com/workspace/calendar/api/guides/push */
  'notification-address-refused': settings.target({
    words: ['push.webhookUrlUnauthorized', 'push.webhookUrlNotHttps'],
    ...POLLED_UNTIL_THEN,
  }),
  'notifications-unsupported': settings.target({ words: ['pushNotSupportedForRequestedResource'] }),
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

/** Checks whether a refusal contains a reason, such as `duplicate`. */
export function hasReason(answer: WireResponse, reason: string): boolean {
  return wordsOf(answer).includes(reason);
}

/** Returns the error for a refused watch request, also if the reason is unknown. */
export function notificationsRefused(answer: WireResponse): MirrorError {
  if (errors.kindOf(answer) !== 'refused') return errors.of(answer);
  return errors.make('notifications-refused', { status: answer.status });
}
