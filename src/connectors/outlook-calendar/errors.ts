import type { AnswerHeaders } from '../../core/http/headers.ts';
import type { MirrorError } from '../../core/model/errors.ts';
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

/** Marks a response with a claims challenge, which only headers contain. */
const CLAIMS_CHALLENGE = 'ClaimsChallenge';

/**
 * Microsoft's errors, identified by code, the innermost first, since a code can have several statuses; otherwise by status.
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
   * Microsoft requires a new proof of the connection, by a token that only a new authorization provides (Continuous Access Evaluation).
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
  'record-locked': remote.item({ statuses: [409, 423], words: ['ConcurrentItemSave'] }),
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
  'notifications-forbidden': settings.target({ detail: 'The daemon polls the target' }),
  'notifications-taken': settings.target({ detail: 'The daemon polls the target' }),
});

/** Codes for an id without an event: unknown, malformed or in a different mailbox. */
const NOT_FOUND_CODES: ReadonlySet<string> = new Set([
  'ErrorItemNotFound',
  'ErrorInvalidIdMalformed',
  'ErrorInvalidMailboxItemId',
]);

/**
 * Codes of an expired delta link, in lower case.
 * @see https://learn.microsoft.com/graph/delta-query-overview
 */
const LINK_LOST_CODES: ReadonlySet<string> = new Set(['syncstatenotfound', 'syncstateinvalid', 'resyncrequired']);

/**
 * Statuses of a rejected link, and of a calendar without delta. Delta is documented only for the first calendar; on shared and room
 * calendars the second page is forbidden (github.com/microsoftgraph/microsoft-graph-docs/issues/3997).
 */
const NO_FEED_STATUSES: ReadonlySet<number> = new Set([400, 403, 404, 405, 410, 501]);

/** Returns the codes of an error, the innermost (most specific) first. Returns an empty list for other responses. */
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

/** Checks whether this event, calendar or id is absent while the mailbox exists. */
export function isGone(answer: WireResponse): boolean {
  const codes = codesOf(answer);
  if (codes.some((code) => NOT_FOUND_CODES.has(code))) return true;
  return (answer.status === 404 || answer.status === 410) && errors.kindByWords(codes) === null;
}

/** Checks whether an earlier request used the key as `transactionId`; the status is 400 or 409. */
export function isDuplicate(answer: WireResponse): boolean {
  return codesOf(answer).includes('ErrorDuplicateTransactionId');
}

/**
 * Checks whether Graph does not know the action although the event exists. The action's page names clouds without the action, but not their
 * response (learn.microsoft.com/graph/api/event-permanentdelete).
 */
export function isNoSuchAction(answer: WireResponse): boolean {
  const codes = codesOf(answer);
  if (codes.some((code) => NOT_FOUND_CODES.has(code)) || errors.kindByWords(codes) !== null) return false;
  return answer.status === 400 || answer.status === 404 || answer.status === 405 || answer.status === 501;
}

/**
 * Decides whether Graph may have refused a write because of its zone. Graph accepts Windows zones and an incompletely documented list of
 * IANA names (learn.microsoft.com/graph/api/resources/datetimetimezone). The refusal has no documented code
 * (`TimeZoneNotSupportedException` was seen).
 */
export function mayMeanZone(answer: WireResponse): boolean {
  return answer.status === 400 && !isDuplicate(answer) && !isGone(answer) && !isConflict(answer);
}

/** Checks whether the event is not in the expected state; Graph reports conflicts with and without an If-Match condition. */
export function isConflict(answer: WireResponse): boolean {
  return answer.status === 412 || codesOf(answer).includes('ErrorIrresolvableConflict');
}

/** Checks whether this link cannot start a delta round. An error of the whole target appears again when the calendar is listed. */
export function isFeedRefused(answer: WireResponse): boolean {
  const isLost = codesOf(answer).some((code) => LINK_LOST_CODES.has(code.toLowerCase()));
  return isLost || NO_FEED_STATUSES.has(answer.status);
}

/** Returns the body of a response, or the code of a claims challenge if the headers contain one. */
export function bodyOrChallenge(status: number, headers: AnswerHeaders, body: unknown): unknown {
  const isChallenge = status === 401 && /\bclaims\s*=/i.test(headers.get('www-authenticate') ?? '');
  return isChallenge ? { error: { code: CLAIMS_CHALLENGE } } : body;
}

/**
 * Returns the error of a subscription that was neither created nor extended. A failed check of the notification URL has the code
 * `ValidationError`.
 */
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
