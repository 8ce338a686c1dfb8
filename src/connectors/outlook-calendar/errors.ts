import type { MirrorError } from '../../model/errors.ts';
import {
  authorization,
  COMMON,
  common,
  defineErrors,
  OWN_MADE_AGAIN,
  POLLED_UNTIL_THEN,
  remote,
  settings,
} from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import { MAILBOX_FULL_PAUSE_MS } from './limits.ts';
import { errorBodySchema } from './schemas.ts';

/** Stands in an answer in place of a claims challenge, which headers alone tell. */
const CLAIMS_CHALLENGE = 'ClaimsChallenge';

/**
 * Microsoft's errors: known by code, the innermost first, since the same code comes with several statuses; else by status.
 * @see https://learn.microsoft.com/graph/errors
 */
export const errors = defineErrors('microsoft', codesOf, {
  ...common(
    'html-answer',
    'not-found',
    'notifications-refused',
    'refused',
    'server-error',
    'timeout',
    'unexpected-answer',
  ),
  'login-refused': { ...COMMON['login-refused'], words: ['InvalidAuthenticationToken'] },
  /**
   * Microsoft wants the login proved again, by a token that only another login brings (Continuous Access Evaluation).
   * @see https://learn.microsoft.com/entra/identity-platform/claims-challenge
   */
  'claims-challenge': authorization.target({ words: [CLAIMS_CHALLENGE] }),
  'scope-missing': { ...COMMON['scope-missing'], words: ['Authorization_RequestDenied'] },
  'calendar-gone': settings.target({ provesGone: true, ...OWN_MADE_AGAIN }),
  'calendar-forbidden': settings.target({ statuses: [403], words: ['ErrorAccessDenied'] }),
  'calendar-name-taken': settings.target(),
  'mailbox-unlicensed': settings.target({ words: ['MailboxNotEnabledForRESTAPI', 'MailboxNotSupportedForRESTAPI'] }),
  'mailbox-gone': settings.target({
    words: ['ErrorNonExistentMailbox', 'ErrorInvalidUser', 'Request_ResourceNotFound'],
  }),
  'mailbox-needed': settings.target(),
  'mailbox-full': remote.target({ statuses: [507], words: ['ErrorQuotaExceeded'], pauseMs: MAILBOX_FULL_PAUSE_MS }),
  'event-has-guests': settings.item(),
  'changed-meanwhile': { ...COMMON['changed-meanwhile'], words: ['ErrorIrresolvableConflict'] },
  'item-locked': remote.item({ statuses: [409, 423], words: ['ConcurrentItemSave'] }),
  /** @see https://learn.microsoft.com/graph/throttling */
  'rate-limited': {
    ...COMMON['rate-limited'],
    words: ['ApplicationThrottled', 'MailboxConcurrency', 'TooManyRequests', 'activityLimitReached'],
  },
  /** @see https://learn.microsoft.com/graph/json-batching */
  'batch-dependency': { ...COMMON['batch-dependency'], statuses: [424] },
  /** @see https://learn.microsoft.com/graph/change-notifications-delivery-webhooks */
  'notification-address-refused': settings.target({
    retry: 'later',
    ...POLLED_UNTIL_THEN,
  }),
  'notifications-forbidden': settings.target({ detail: 'The target is polled' }),
  'notifications-taken': settings.target({ detail: 'The target is polled' }),
});

/** Codes of an id that names nothing here: unknown, malformed or of another mailbox. */
const NOT_FOUND_CODES: ReadonlySet<string> = new Set([
  'ErrorItemNotFound',
  'ErrorInvalidIdMalformed',
  'ErrorInvalidMailboxItemId',
]);

/**
 * Codes of a delta link that is no longer good, in lower case.
 * @see https://learn.microsoft.com/graph/delta-query-overview
 */
const LINK_LOST_CODES: ReadonlySet<string> = new Set(['syncstatenotfound', 'syncstateinvalid', 'resyncrequired']);

/**
 * Statuses of a link that Graph does not take, and of a calendar that has no delta: it is documented for the first one only, and on shared
 * and room calendars the second page is forbidden (github.com/microsoftgraph/microsoft-graph-docs/issues/3997).
 */
const NO_FEED_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 405, 410, 501]);

/** The codes of an error, the innermost (most telling) first; none for another answer. */
export function codesOf({ body }: Pick<WireResponse, 'body'>): string[] {
  const parsed = errorBodySchema.safeParse(body);
  if (!parsed.success) return [];
  const { code, innerError, innererror } = parsed.data.error;
  const codes = [code];
  for (let inner = innerError ?? innererror; isObject(inner); inner = inner.innerError ?? inner.innererror) {
    if (typeof inner.code === 'string') codes.unshift(inner.code);
  }
  return codes;
}

/** Whether the answer says that this event, calendar or id is not there, while the mailbox is. */
export function isGone(answer: WireResponse): boolean {
  const codes = codesOf(answer);
  if (codes.some((code) => NOT_FOUND_CODES.has(code))) return true;
  return (answer.status === 404 || answer.status === 410) && errors.kindByWords(codes) === null;
}

/** Whether the key was used before as a `transactionId`; comes as 400 and as 409. */
export function isDuplicate(answer: WireResponse): boolean {
  return codesOf(answer).includes('ErrorDuplicateTransactionId');
}

/**
 * Whether the answer to an action says that there is no such action, while the event that it was for is there: its page names the clouds
 * that lack it (learn.microsoft.com/graph/api/event-permanentdelete), and no answer.
 */
export function isNoSuchAction(answer: WireResponse): boolean {
  const codes = codesOf(answer);
  if (codes.some((code) => NOT_FOUND_CODES.has(code)) || errors.kindByWords(codes) !== null) return false;
  return answer.status === 400 || answer.status === 404 || answer.status === 405 || answer.status === 501;
}

/**
 * Whether a write may have been refused for its zone. Graph takes the zones of Windows and some by their IANA names, which its pages don't
 * list whole (learn.microsoft.com/graph/api/resources/datetimetimezone), and nothing says by which code it refuses one
 * (`TimeZoneNotSupportedException` is seen).
 */
export function mayMeanZone(answer: WireResponse): boolean {
  return answer.status === 400 && !isDuplicate(answer) && !isGone(answer) && !isConflict(answer);
}

/** Whether the event is not in the state that was expected; comes with and without a condition of ours. */
export function isConflict(answer: WireResponse): boolean {
  return answer.status === 412 || codesOf(answer).includes('ErrorIrresolvableConflict');
}

/** Whether a delta round can't be had with this link; what ails the whole target shows again when the calendar is listed. */
export function isFeedRefused(answer: WireResponse): boolean {
  const isLost = codesOf(answer).some((code) => LINK_LOST_CODES.has(code.toLowerCase()));
  return isLost || NO_FEED_STATUSES.has(answer.status);
}

/** The body of an answer, or in its place the code of a claims challenge when the headers pose one. */
export function bodyOrChallenge(status: number, headers: Headers, body: unknown): unknown {
  const isChallenge = status === 401 && /\bclaims\s*=/i.test(headers.get('www-authenticate') ?? '');
  return isChallenge ? { error: { code: CLAIMS_CHALLENGE } } : body;
}

/** The subscription is not made or prolonged. Microsoft's check of the address fails as `ValidationError`. */
export function notificationsRefused(answer: WireResponse): MirrorError {
  const { status } = answer;
  const kind = errors.kindByWords(codesOf(answer));
  if (status === 400 && codesOf(answer).includes('ValidationError'))
    return errors.make('notification-address-refused', { status });
  if (status === 403 && (kind === null || kind === 'calendar-forbidden'))
    return errors.make('notifications-forbidden', { status });
  if (errors.kindOf(answer) === 'refused') return errors.make('notifications-refused', { status });
  return errors.of(answer);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
