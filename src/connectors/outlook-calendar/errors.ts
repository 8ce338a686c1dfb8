import { MirrorError, type MirrorErrorOptions } from '../../model/errors.ts';
import type { WireAnswer } from '../wire.ts';
import { MAILBOX_FULL_PAUSE_MS, RATE_LIMIT_PAUSE_MS } from './limits.ts';
import { errorBodySchema } from './schemas.ts';

type Meaning = Pick<MirrorErrorOptions, 'actor' | 'code' | 'retry' | 'remedy'> & { message: string; pauseMs?: number };

const RATE_LIMITED: Meaning = {
  message: 'Outlook asks for fewer requests',
  actor: 'remote',
  code: 'rate-limited',
  retry: 'later',
  pauseMs: RATE_LIMIT_PAUSE_MS,
};

const FORBIDDEN: Meaning = {
  message: 'Outlook does not allow this in the calendar',
  actor: 'settings',
  code: 'calendar-forbidden',
  retry: 'never',
  remedy: 'give the connected account, or the application, the right to change this calendar',
};

const LOGIN_REFUSED: Meaning = {
  message: 'Microsoft does not accept the login',
  actor: 'authorization',
  code: 'login-refused',
  retry: 'never',
  remedy: 'connect the Microsoft account again',
};

/**
 * Microsoft wants the login proved again, by a token that only another login brings (Continuous Access Evaluation,
 * learn.microsoft.com/entra/identity-platform/claims-challenge). Told by a header alone, so the answer gets a code of ours.
 */
const CLAIMS_CHALLENGE: Meaning = {
  message: 'Microsoft asks to prove the login again',
  actor: 'authorization',
  code: 'claims-challenge',
  retry: 'never',
  remedy: 'log in again: a policy of the organisation, or a revoked session, ended the login',
};
const CLAIMS_CHALLENGE_CODE = 'ClaimsChallenge';

const NO_LICENCE: Meaning = {
  message: 'the mailbox is not served by Exchange Online',
  actor: 'settings',
  code: 'mailbox-unlicensed',
  retry: 'never',
  remedy: 'give the user a licence with Exchange Online, or name another mailbox',
};

const NO_MAILBOX: Meaning = {
  message: 'there is no such mailbox, or the login cannot see it',
  actor: 'settings',
  code: 'mailbox-gone',
  retry: 'never',
  remedy: 'check the user principal name of the mailbox',
};

const MAILBOX_FULL: Meaning = {
  message: 'the mailbox is full',
  actor: 'remote',
  code: 'mailbox-full',
  retry: 'later',
  pauseMs: MAILBOX_FULL_PAUSE_MS,
  remedy: 'make room in the mailbox, or raise its quota',
};

const CONFLICT: Meaning = {
  message: 'the event was changed by somebody else at the same time',
  actor: 'conflict',
  code: 'changed-meanwhile',
  retry: 'now',
};

const ADDRESS_REFUSED: Meaning = {
  message: 'Microsoft could not check the address for notifications',
  actor: 'settings',
  code: 'notification-address-refused',
  retry: 'later',
  remedy: 'see that notifications.url is https with a valid certificate, and reaches this port from the internet',
};

const NOTIFICATIONS_FORBIDDEN: Meaning = {
  message: 'Microsoft does not tell this login of changes in the calendar',
  actor: 'settings',
  code: 'notifications-forbidden',
  retry: 'never',
  remedy:
    "for another person's mailbox let that person log in, or use a login of the application; else the mailbox may have too many subscriptions",
};

const NOTIFICATIONS_REFUSED: Meaning = {
  message: 'Microsoft refused to tell of changes',
  actor: 'remote',
  code: 'notifications-refused',
  retry: 'never',
};

const LOCKED: Meaning = { message: 'the item is locked', actor: 'remote', code: 'item-locked', retry: 'later' };

/** Meaning by code: the same code comes with several statuses, so it counts for more (learn.microsoft.com/graph/errors). */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  ApplicationThrottled: RATE_LIMITED,
  MailboxConcurrency: RATE_LIMITED,
  TooManyRequests: RATE_LIMITED,
  activityLimitReached: RATE_LIMITED,
  ErrorAccessDenied: FORBIDDEN,
  Authorization_RequestDenied: {
    message: 'the login was not granted the calendar permissions that are needed',
    actor: 'authorization',
    code: 'scope-missing',
    retry: 'never',
    remedy: 'connect again and consent to all calendar permissions',
  },
  InvalidAuthenticationToken: LOGIN_REFUSED,
  [CLAIMS_CHALLENGE_CODE]: CLAIMS_CHALLENGE,
  MailboxNotEnabledForRESTAPI: NO_LICENCE,
  MailboxNotSupportedForRESTAPI: NO_LICENCE,
  ErrorNonExistentMailbox: NO_MAILBOX,
  ErrorInvalidUser: NO_MAILBOX,
  Request_ResourceNotFound: NO_MAILBOX,
  ErrorQuotaExceeded: MAILBOX_FULL,
  ErrorIrresolvableConflict: CONFLICT,
  ConcurrentItemSave: { ...LOCKED, message: 'the item is being saved by somebody else' },
};

/** Codes of errors that concern the whole target, not one operation. */
const TARGET_WIDE: ReadonlySet<string> = new Set([
  'login-refused',
  'claims-challenge',
  'scope-missing',
  'calendar-gone',
  'calendar-forbidden',
  'mailbox-unlicensed',
  'mailbox-gone',
  'mailbox-full',
  'rate-limited',
]);

/** Codes of an id that names nothing here: unknown, malformed or of another mailbox. */
const NOT_FOUND_CODES: ReadonlySet<string> = new Set([
  'ErrorItemNotFound',
  'ErrorInvalidIdMalformed',
  'ErrorInvalidMailboxItemId',
]);

/** Whether the error would meet every other operation of the target too. */
export function isTargetWide(error: MirrorError): boolean {
  return TARGET_WIDE.has(error.code);
}

/** The codes of an error, the innermost (most telling) first; none for another answer. */
export function codesOf(answer: WireAnswer): string[] {
  const parsed = errorBodySchema.safeParse(answer.body);
  if (!parsed.success) return [];
  const { code, innerError, innererror } = parsed.data.error;
  const codes = [code];
  for (let inner = innerError ?? innererror; isObject(inner); inner = inner.innerError ?? inner.innererror) {
    if (typeof inner.code === 'string') codes.unshift(inner.code);
  }
  return codes;
}

/** Whether the answer says that this event, calendar or id is not there, while the mailbox is. */
export function isGone(answer: WireAnswer): boolean {
  const codes = codesOf(answer);
  if (codes.some((code) => NOT_FOUND_CODES.has(code))) return true;
  return (answer.status === 404 || answer.status === 410) && knownMeaning(codes) === null;
}

/** Whether the key was used before as a `transactionId`; comes as 400 and as 409. */
export function isDuplicate(answer: WireAnswer): boolean {
  return codesOf(answer).includes('ErrorDuplicateTransactionId');
}

/** Whether the event is not in the state that was expected; comes with and without a condition of ours. */
export function isConflict(answer: WireAnswer): boolean {
  return answer.status === 412 || codesOf(answer).includes('ErrorIrresolvableConflict');
}

/** Codes of a delta link that is no longer good (learn.microsoft.com/graph/delta-query-overview), in lower case. */
const LINK_LOST_CODES: ReadonlySet<string> = new Set(['syncstatenotfound', 'syncstateinvalid', 'resyncrequired']);

/** Statuses of a link that Graph does not take, and of a calendar that has no delta: it is documented for the first one only. */
const NO_FEED_STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 410, 501]);

/** Whether a delta round can't be had with this link; what ails the whole target shows again when the calendar is listed. */
export function isFeedRefused(answer: WireAnswer): boolean {
  const isLost = codesOf(answer).some((code) => LINK_LOST_CODES.has(code.toLowerCase()));
  return isLost || NO_FEED_STATUSES.has(answer.status);
}

/** The body of an answer, or in its place the code of a claims challenge when the headers pose one. */
export function bodyOrChallenge(status: number, headers: Headers, body: unknown): unknown {
  const isChallenge = status === 401 && /\bclaims\s*=/i.test(headers.get('www-authenticate') ?? '');
  return isChallenge ? { error: { code: CLAIMS_CHALLENGE_CODE } } : body;
}

/** An answer that is not a success as an error: by code, else by status. */
export function toMirrorError(answer: WireAnswer): MirrorError {
  const meaning = knownMeaning(codesOf(answer)) ?? byStatus(answer.status);
  return made(meaning, answer.status, answer.retryAfterMs);
}

/** The calendar is not there, or not for this login. */
export function calendarGone(): MirrorError {
  return new MirrorError('the calendar is gone, or the login cannot see it', {
    actor: 'settings',
    code: 'calendar-gone',
    retry: 'never',
    status: 404,
    remedy: 'check the mailbox and the calendar id, and that the calendar is shared with the connected account',
  });
}

/** The mailbox is not there, or not for this login. */
export function mailboxGone(): MirrorError {
  return made(NO_MAILBOX, 404);
}

/** An application's login has no mailbox of its own. */
export function mailboxNeeded(): MirrorError {
  return new MirrorError('the login of an application has no mailbox of its own', {
    actor: 'settings',
    code: 'mailbox-needed',
    retry: 'never',
    remedy: 'give the user principal name of the mailbox instead of me',
  });
}

/** Names are taken in the mailbox, and none of the calendars that carry them is ours. */
export function calendarNameTaken(): MirrorError {
  return new MirrorError('the mailbox has calendars of this name that are not ours', {
    actor: 'settings',
    code: 'calendar-name-taken',
    retry: 'never',
    remedy: 'choose another name for the calendar',
  });
}

/** The event changed again between our reading and our writing. */
export function changedMeanwhile(): MirrorError {
  return made(CONFLICT, 412);
}

/** The subscription is not made or prolonged. Microsoft's check of the address fails as `ValidationError`. */
export function notificationsRefused(answer: WireAnswer): MirrorError {
  const codes = codesOf(answer);
  const known = knownMeaning(codes);
  if (answer.status === 400 && codes.includes('ValidationError')) return made(ADDRESS_REFUSED, 400);
  if (answer.status === 403 && (known === null || known === FORBIDDEN)) return made(NOTIFICATIONS_FORBIDDEN, 403);
  const error = toMirrorError(answer);
  return error.code === 'refused' ? made(NOTIFICATIONS_REFUSED, answer.status) : error;
}

/** Another installation has the one subscription to the calendar that Graph allows to an application and login. */
export function notificationsTaken(): MirrorError {
  return new MirrorError('another installation is told of the changes in this calendar', {
    actor: 'settings',
    code: 'notifications-taken',
    retry: 'never',
    status: 409,
    remedy: 'give each installation an application of its own at Microsoft',
  });
}

/** Somebody invited guests to an event of ours; any change or deletion would be mailed to them. */
export function hasGuests(): MirrorError {
  return new MirrorError('somebody invited guests to the event, and Outlook would mail them any change', {
    actor: 'settings',
    code: 'event-has-guests',
    retry: 'never',
    remedy: 'remove the guests from the event, or the event itself, by hand',
  });
}

/** A successful answer has a shape that we do not know. */
export function unexpectedAnswer(ambiguous: boolean): MirrorError {
  return new MirrorError('Microsoft answered something else than Graph would', {
    actor: 'contract',
    code: 'unexpected-answer',
    retry: 'later',
    ambiguous,
  });
}

/** A portal or proxy spoke instead of Graph. */
export function htmlAnswer(): MirrorError {
  return new MirrorError('an HTML page came instead of Graph', {
    actor: 'remote',
    code: 'html-answer',
    retry: 'later',
    ambiguous: true,
  });
}

function made(meaning: Meaning, status: number, retryAfterMs: number | null = null): MirrorError {
  const { message, pauseMs, ...rest } = meaning;
  const waitMs = retryAfterMs ?? pauseMs;
  return new MirrorError(message, {
    ...rest,
    status,
    ambiguous: status >= 500 && meaning !== RATE_LIMITED,
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

function knownMeaning(codes: readonly string[]): Meaning | null {
  const code = codes.find((one) => Object.hasOwn(BY_CODE, one));
  return code === undefined ? null : BY_CODE[code]!;
}

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  401: LOGIN_REFUSED,
  403: FORBIDDEN,
  404: { message: 'not found', actor: 'contract', code: 'not-found', retry: 'later' },
  409: LOCKED,
  408: { message: 'the server gave up waiting', actor: 'remote', code: 'timeout', retry: 'later' },
  412: CONFLICT,
  423: LOCKED,
  424: {
    message: 'the call was not tried because another of its batch failed',
    actor: 'remote',
    code: 'batch-dependency',
    retry: 'later',
  },
  429: RATE_LIMITED,
  507: MAILBOX_FULL,
};

function byStatus(status: number): Meaning {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500) return { message: 'Outlook is in trouble', actor: 'remote', code: 'server-error', retry: 'later' };
  if (status >= 400)
    return { message: 'Outlook refused the event', actor: 'contract', code: 'refused', retry: 'never' };
  return { message: 'unknown status', actor: 'contract', code: 'unexpected-status', retry: 'later' };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
