import { MirrorError, type MirrorErrorOptions } from '../../model/errors.ts';
import type { WireAnswer } from '../wire.ts';
import { RATE_LIMIT_PAUSE_MS, USAGE_LIMIT_PAUSE_MS } from './limits.ts';
import { errorBodySchema } from './schemas.ts';

type Meaning = Pick<MirrorErrorOptions, 'actor' | 'code' | 'retry' | 'remedy'> & { message: string; pauseMs?: number };

const RATE_LIMITED: Meaning = {
  message: 'Google asks for fewer requests',
  actor: 'remote',
  code: 'rate-limited',
  retry: 'later',
  pauseMs: RATE_LIMIT_PAUSE_MS,
};

const ADDRESS_REFUSED: Meaning = {
  message: 'Google does not take the address for notifications',
  actor: 'settings',
  code: 'notification-address-refused',
  retry: 'never',
  remedy:
    'notifications.url must be https with a valid certificate, and of a domain that the Google Cloud project may use',
};

const FORBIDDEN: Meaning = {
  message: 'Google does not allow this in the calendar',
  actor: 'settings',
  code: 'calendar-forbidden',
  retry: 'never',
  remedy: 'give the connected account the right to make changes to events in this calendar',
};

/** The event changed again between our reading and our writing. */
const CHANGED_MEANWHILE: Meaning = {
  message: 'the event was changed by somebody else at the same time',
  actor: 'conflict',
  code: 'changed-meanwhile',
  retry: 'now',
};

/** Meaning by reason: the same reason comes as 403 or 429, so it counts for more than the status. */
const BY_REASON: Readonly<Record<string, Meaning>> = {
  rateLimitExceeded: RATE_LIMITED,
  userRateLimitExceeded: RATE_LIMITED,
  quotaExceeded: {
    message: 'the account has reached the usage limits of Google Calendar',
    actor: 'remote',
    code: 'usage-limit',
    retry: 'later',
    pauseMs: USAGE_LIMIT_PAUSE_MS,
    remedy: 'wait; the limits recover by themselves, after hours or days',
  },
  dailyLimitExceeded: {
    message: 'the daily quota of the Google Cloud project is spent',
    actor: 'remote',
    code: 'daily-limit',
    retry: 'later',
    pauseMs: USAGE_LIMIT_PAUSE_MS,
    remedy: 'wait until midnight Pacific time, or raise the quota of the project',
  },
  accessNotConfigured: {
    message: 'the Calendar API is not enabled in the Google Cloud project',
    actor: 'settings',
    code: 'api-disabled',
    retry: 'never',
    remedy: 'enable the Google Calendar API in the project of the OAuth client',
  },
  insufficientPermissions: {
    message: 'the login was not granted the calendar permissions that are needed',
    actor: 'authorization',
    code: 'scope-missing',
    retry: 'never',
    remedy: 'connect again and leave all calendar permissions ticked',
  },
  forbidden: FORBIDDEN,
  forbiddenForNonOrganizer: {
    message: 'Google lets only the organizer change this event',
    actor: 'settings',
    code: 'event-forbidden',
    retry: 'never',
    remedy: 'remove the event by hand; it is written again with the next change',
  },
  requiredAccessLevel: FORBIDDEN,
  'push.webhookUrlUnauthorized': ADDRESS_REFUSED,
  'push.webhookUrlNotHttps': ADDRESS_REFUSED,
  pushNotSupportedForRequestedResource: {
    message: 'Google has no notifications for this calendar',
    actor: 'settings',
    code: 'notifications-unsupported',
    retry: 'never',
    remedy: 'none is needed: the calendar is polled; only calendars that people write to have notifications',
  },
  conflict: {
    message: 'the call did not go together with the others of its batch',
    actor: 'remote',
    code: 'batch-conflict',
    retry: 'later',
  },
  timeRangeEmpty: {
    message: 'Google refused an event that ends before it starts',
    actor: 'contract',
    code: 'empty-time-range',
    retry: 'never',
  },
};

/** Codes of errors that concern the whole target, not one operation. */
const TARGET_WIDE: ReadonlySet<string> = new Set([
  'login-refused',
  'scope-missing',
  'calendar-gone',
  'calendar-forbidden',
  'api-disabled',
  'rate-limited',
  'usage-limit',
  'daily-limit',
]);

/** Whether the error would meet every other operation of the target too. */
export function isTargetWide(error: MirrorError): boolean {
  return TARGET_WIDE.has(error.code);
}

/** The reason that Google gives for a refusal, such as `duplicate`; null when it gives none. */
export function reasonOf(answer: WireAnswer): string | null {
  return firstError(answer)?.reason ?? null;
}

/** An answer that is not a success as an error: by reason, else by domain, else by status. */
export function toMirrorError(answer: WireAnswer): MirrorError {
  const { domain, reason } = firstError(answer) ?? {};
  const known = reason !== undefined && Object.hasOwn(BY_REASON, reason) ? BY_REASON[reason] : undefined;
  const { message, pauseMs, ...meaning } = known ?? (domain === 'usageLimits' ? RATE_LIMITED : byStatus(answer.status));
  const waitMs = answer.retryAfterMs ?? pauseMs;
  return new MirrorError(message, {
    ...meaning,
    status: answer.status,
    ambiguous: answer.status >= 500,
    ...(waitMs === undefined
      ? {}
      : { retryAfterMs: Math.max(waitMs, known?.pauseMs === USAGE_LIMIT_PAUSE_MS ? known.pauseMs : 0) }),
  });
}

/** Whether Google does not take the address for notifications, which comes as 400 and as 401. */
export function isAddressRefused(answer: WireAnswer): boolean {
  const reason = reasonOf(answer);
  return reason !== null && Object.hasOwn(BY_REASON, reason) && BY_REASON[reason] === ADDRESS_REFUSED;
}

/** Google does not tell of changes, for a reason that it gives, or for one that we don't know. */
export function notificationsRefused(answer: WireAnswer): MirrorError {
  const error = toMirrorError(answer);
  if (error.code !== 'refused') return error;
  return new MirrorError('Google refused to tell of changes', {
    actor: 'remote',
    code: 'notifications-refused',
    retry: 'never',
    status: answer.status,
  });
}

/** The login was refused although it had just been renewed. */
export function loginRefused(): MirrorError {
  return new MirrorError('Google does not accept the login', {
    actor: 'authorization',
    code: 'login-refused',
    retry: 'never',
    status: 401,
    remedy: 'connect the Google account again',
  });
}

/** The calendar is not there, or not for this account. */
export function calendarGone(): MirrorError {
  return new MirrorError('the calendar is gone, or the connected account cannot see it', {
    actor: 'settings',
    code: 'calendar-gone',
    retry: 'never',
    status: 404,
    remedy: 'check the calendar id, and that the calendar is shared with the connected account',
  });
}

/** Google says that the id is taken and, asked for it, that there is no such event. */
export function notYetReadable(): MirrorError {
  return new MirrorError('the event exists but cannot be read yet', {
    actor: 'remote',
    code: 'not-yet-readable',
    retry: 'later',
    status: 404,
  });
}

/** A successful answer has a shape that we do not know. */
export function unexpectedAnswer(ambiguous: boolean): MirrorError {
  return new MirrorError('Google answered something else than the Calendar API would', {
    actor: 'contract',
    code: 'unexpected-answer',
    retry: 'later',
    ambiguous,
  });
}

function firstError(answer: WireAnswer) {
  const parsed = errorBodySchema.safeParse(answer.body);
  return parsed.success ? parsed.data.error.errors?.[0] : undefined;
}

function byStatus(status: number): Meaning {
  if (status === 401) {
    const { message, actor, code, retry, remedy } = loginRefused();
    return { message, actor, code, retry, ...(remedy === undefined ? {} : { remedy }) };
  }
  if (status === 403) return FORBIDDEN;
  if (status === 404) return { message: 'not found', actor: 'contract', code: 'not-found', retry: 'later' };
  if (status === 408)
    return { message: 'the server gave up waiting', actor: 'remote', code: 'timeout', retry: 'later' };
  if (status === 412) return CHANGED_MEANWHILE;
  if (status === 429) return RATE_LIMITED;
  if (status >= 500) return { message: 'Google is in trouble', actor: 'remote', code: 'server-error', retry: 'later' };
  if (status >= 400) return { message: 'Google refused the event', actor: 'contract', code: 'refused', retry: 'never' };
  return { message: 'unknown status', actor: 'contract', code: 'unexpected-status', retry: 'later' };
}
