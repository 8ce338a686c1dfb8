import type { MirrorError } from '../../model/errors.ts';
import type { Instant } from '../../model/time.ts';
import { DAY_MS } from '../../model/time.ts';
import { offsetMs } from '../../model/zones.ts';
import { COMMON, common, defineErrors } from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import {
  DAILY_PAUSE_MS,
  LOCK_PAUSE_MS,
  MIDNIGHT_SPARE_MS,
  MOVING_PAUSE_MS,
  type ObjectName,
  TEN_SECONDLY_PAUSE_MS,
} from './limits.ts';
import { type Refusal, readRefusal } from './refusals.ts';

/**
 * HubSpot's errors: calls by status, the limit and category that it names, rows by their codes.
 * @see https://developers.hubspot.com/docs/api-reference/error-handling
 */
export const errors = defineErrors('HubSpot', wordsOf, {
  ...common('answer-missing', 'not-found', 'refused', 'server-error'),
  'unexpected-answer': { ...COMMON['unexpected-answer'], ambiguous: true },
  'login-refused': {
    ...COMMON['login-refused'],
    remedy: 'connect the HubSpot account again, or give the token of a private app that exists',
  },
  'scope-missing': {
    ...COMMON['scope-missing'],
    words: ['403 MISSING_SCOPES'],
    remedy:
      'add them to the app in HubSpot and connect again, or take the properties that need them out of the mapping',
  },
  'crm-forbidden': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    statuses: [403],
    message: 'HubSpot does not allow this to the login',
    remedy: 'look in HubSpot whether the app and the account may use this part of the CRM',
  },
  'crm-part-missing': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'a target in HubSpot needs its part crm',
    remedy: 'give the target its crm part: stream and mapping',
  },
  'changed-meanwhile': { ...COMMON['changed-meanwhile'], statuses: [409] },
  'writes-locked': {
    ...{ actor: 'remote', retry: 'later', scope: 'target' },
    statuses: [423],
    leastPauseMs: LOCK_PAUSE_MS,
    message: 'HubSpot has locked this kind of record for a moment',
    note: 'It does so for two seconds when much is written fast',
  },
  'account-moving': {
    ...{ actor: 'remote', retry: 'later', scope: 'target' },
    statuses: [477],
    pauseMs: MOVING_PAUSE_MS,
    message: 'HubSpot is moving the account to another data centre',
    note: 'It can take a day',
  },
  /** @see https://developers.hubspot.com/docs/api/usage-details */
  'rate-limited': { ...COMMON['rate-limited'], pauseMs: TEN_SECONDLY_PAUSE_MS },
  'account-daily-limit': {
    ...{ actor: 'remote', retry: 'later', scope: 'target' },
    words: ['429 DAILY'],
    message: "the account's daily allowance of requests at HubSpot is spent",
    remedy: 'it begins again at midnight of the account; all its private apps share it',
  },
  'batch-refused': {
    ...{ actor: 'remote', retry: 'later', scope: 'item' },
    message: 'HubSpot refused the batch for some of its rows',
    note: 'Which ones was not found within the allowance',
  },
  'contact-missing': {
    ...COMMON['contact-missing'],
    remedy: "see that the patients' target is in sync; a contact that people merged or deleted is missing too",
  },
  /** @see https://developers.hubspot.com/docs/api/crm/properties */
  'crm-property-missing': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    words: ['PROPERTY_DOESNT_EXIST'],
    message: 'HubSpot has no such property',
    remedy: 'create the properties in HubSpot, or correct their names in the mapping: internal names, not labels',
  },
  'property-read-only': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    words: ['READ_ONLY_VALUE'],
    message: 'HubSpot fills the property itself',
    remedy: 'take the properties out of the mapping, or map to others',
  },
  'property-unsuitable': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'the property in HubSpot does not fit',
    remedy: 'map to properties of the right type, or change what the mapping gives; our own need names of their own',
  },
  'property-not-made': {
    ...{ actor: 'settings', retry: 'never', scope: 'target' },
    message: 'HubSpot refused to make the property',
    remedy:
      'there may be at most ten unique properties of a kind of record, and no archived one of this name; make room, or give another name',
  },
  'property-option-missing': {
    ...{ actor: 'settings', retry: 'never', scope: 'item' },
    words: ['INVALID_OPTION'],
    message: 'HubSpot knows no such option of the property',
    remedy: 'add the option to the property in HubSpot, or let the mapping give one that is there',
  },
  'property-value-refused': {
    ...{ actor: 'settings', retry: 'never', scope: 'item' },
    message: 'HubSpot refused the value of a property',
    remedy: "correct the value in the clinic's record, or let the mapping give what HubSpot takes",
  },
  'unique-value-taken': {
    ...{ actor: 'settings', retry: 'never', scope: 'item' },
    message: 'another record in HubSpot has the same value of a unique property',
    remedy:
      'let a person look which record is right; a value that families share does not belong into a unique property',
  },
});

/** When and where an answer came: what the wait after a daily limit goes by. */
export interface AnswerTime {
  at: Instant;
  /** The account's IANA zone; null while it is not known. */
  zone: string | null;
}

function wordsOf({ status, body }: Pick<WireResponse, 'status' | 'body'>): string[] {
  const { category, policy } = readRefusal(status, body);
  return [`${status} ${category}`, `${status} ${policy}`];
}

/** An answer that is not a success, as an error of the whole target. */
export function toMirrorError(answer: WireResponse, { at, zone }: AnswerTime): MirrorError {
  const { status } = answer;
  const kind = errors.kindOf(answer);
  if (kind === 'scope-missing') return errors.make(kind, { status, names: readRefusal(status, answer.body).scopes });
  if (kind !== 'account-daily-limit') return errors.of(answer);
  const pauseMs = zone === null ? DAILY_PAUSE_MS : untilMidnightMs(at, zone) + MIDNIGHT_SPARE_MS;
  return errors.make(kind, { status, retryAfterMs: answer.retryAfterMs ?? pauseMs });
}

/** From an instant to the next midnight of a zone, in milliseconds. */
export function untilMidnightMs(at: Instant, zone: string): number {
  const offset = offsetMs(zone, at);
  const localMidnight = (Math.floor((at + offset) / DAY_MS) + 1) * DAY_MS;
  return localMidnight - offsetMs(zone, localMidnight - offset) - at;
}

/** What of a row's refusal counts first. */
const ROW_CODES = ['PROPERTY_DOESNT_EXIST', 'READ_ONLY_VALUE', 'INVALID_OPTION'];

/** Why HubSpot refused one object. `known`: names of the properties that were sent; no other word of the answer is repeated. */
export function toRowError(refusal: Refusal, object: ObjectName, known: ReadonlySet<string>): MirrorError {
  const { status, category, codes, scopes, isTaken } = refusal;
  if (category === 'MISSING_SCOPES') return errors.make('scope-missing', { status: 403, names: scopes });
  const told = refusal.properties.filter((name) => known.has(name));
  const names = told.length === 0 ? [object] : namesIn(object, told);
  const kind = errors.known(ROW_CODES.filter((code) => codes.includes(code)));
  if (kind !== null) return errors.make(kind, { names });
  if (category === 'RATE_LIMITS' && status < 500) return errors.make('rate-limited', { status: 429 });
  if (status >= 500) return errors.make('server-error', { status });
  if (isTaken) return errors.make('unique-value-taken', { status: 409, names });
  return errors.make('property-value-refused', { status, names });
}

/** Names of properties as errors tell them: `contacts.email`. */
export function namesIn(object: ObjectName, properties: readonly string[]): string[] {
  return properties.map((name) => `${object}.${name}`);
}

/** @throws MirrorError for a success that is not the one of a call which answers with 204 and nothing else: HubSpot did not say so */
export function requireNothing({ status }: WireResponse): void {
  if (status !== 204) throw errors.make('unexpected-answer');
}
