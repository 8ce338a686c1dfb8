import type { MirrorError } from '../../core/model/errors.ts';
import { parseJson } from '../../core/model/json.ts';
import { DAY_MS, type Instant, offsetMs } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import { authorization, COMMON, common, contract, defineErrors, remote, settings } from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import {
  DAILY_PAUSE_MS,
  LOCK_PAUSE_MS,
  MIDNIGHT_SPARE_MS,
  MOVING_PAUSE_MS,
  SEARCH_PAUSE_MS,
  TEN_SECONDLY_PAUSE_MS,
} from './limits.ts';
import { errorBodySchema } from './schemas.ts';

/** Only the message identifies this refusal (see the changelog at `readRefusal`). */
const NO_EDIT_ASSOCIATIONS = 'NO_EDIT_ASSOCIATIONS';

/**
 * HubSpot's errors. Calls are identified by status, limit and category, and objects in a batch by their codes.
 * @see https://developers.hubspot.com/docs/api-reference/error-handling
 */
export const errors = defineErrors('hubspot', wordsOf, {
  ...common('answer-missing', 'contact-missing', 'login-refused', 'not-found', 'refused', 'server-error'),
  'unexpected-answer': { ...COMMON['unexpected-answer'], ambiguous: true },
  'scope-missing': { ...COMMON['scope-missing'], words: ['403 MISSING_SCOPES'] },
  /** @see https://developers.hubspot.com/changelog/crm-api-write-validation-enforcement */
  'associations-not-allowed': authorization.target({ words: [NO_EDIT_ASSOCIATIONS] }),
  'crm-forbidden': settings.target({ statuses: [403] }),
  'crm-part-missing': settings.target(),
  'changed-meanwhile': { ...COMMON['changed-meanwhile'], statuses: [409] },
  'writes-locked': remote.target({
    statuses: [423],
    leastPauseMs: LOCK_PAUSE_MS,
    detail: 'Lasts two seconds after many fast writes',
  }),
  'account-moving': remote.target({ statuses: [477], pauseMs: MOVING_PAUSE_MS, detail: 'Can take a day' }),
  /** @see https://developers.hubspot.com/docs/api/usage-details */
  'rate-limited': { ...COMMON['rate-limited'], pauseMs: TEN_SECONDLY_PAUSE_MS },
  'searches-limited': {
    ...{ ...COMMON['rate-limited'], statuses: [], code: 'rate-limited', pauseMs: SEARCH_PAUSE_MS },
    words: ['429 SECONDLY'],
    detail: 'An account has five searches per second for all its applications',
  },
  'account-daily-limit': remote.target({ words: ['429 DAILY'] }),
  'batch-refused': remote.item({ detail: 'The refused records were not found within the request limit' }),
  'search-refused': contract.target({
    detail: 'Check that the property exists: HubSpot refuses searches right after its creation, and after its deletion',
  }),
  'several-matches': settings.item(),
  'object-unsuitable': settings.target(),
  'object-missing': settings.target(),
  /** @see https://developers.hubspot.com/docs/api-reference/latest/communication-preferences/guide */
  'subscription-missing': settings.target(),
  'subscription-unmapped': settings.target(),
  'subscription-not-taken': remote.item(),
  /** @see https://developers.hubspot.com/docs/api/crm/properties */
  'crm-property-missing': settings.target({ words: ['PROPERTY_DOESNT_EXIST'] }),
  'property-read-only': settings.target({ words: ['READ_ONLY_VALUE'] }),
  'property-unsuitable': settings.target(),
  'option-missing': settings.target(),
  'property-not-made': settings.target(),
  /** @see https://developers.hubspot.com/changelog/crm-api-write-validation-enforcement */
  'property-required': settings.item({ words: ['MISSING_REQUIRED_PROPERTY'] }),
  'property-required-by-rule': settings.item({ words: ['MISSING_CONDITIONAL_REQUIRED_PROPERTY'] }),
  'property-option-missing': settings.item({ refusesValues: true, words: ['INVALID_OPTION'] }),
  'property-value-refused': settings.item({ refusesValues: true }),
  'unique-value-taken': settings.item({ refusesValues: true }),
});

/** Time and zone of a response, which determine the pause after a daily limit. */
export interface AnswerTime {
  at: Instant;
  /** IANA zone of the account; null before the account is known. */
  zone: string | null;
}

function wordsOf({ status, body }: Pick<WireResponse, 'status' | 'body'>): string[] {
  const { category, policy, codes } = readRefusal(status, body);
  const reported = codes.filter((code) => code === NO_EDIT_ASSOCIATIONS);
  return [`${status} ${category}`, `${status} ${policy}`, ...reported];
}

/** Returns the error of an unsuccessful response, for the whole target. */
export function toMirrorError(answer: WireResponse, { at, zone }: AnswerTime): MirrorError {
  const { status } = answer;
  const kind = errors.kindOf(answer);
  if (kind === 'scope-missing') return errors.make(kind, { status, names: readRefusal(status, answer.body).scopes });
  if (kind !== 'account-daily-limit') return errors.of(answer);
  const pauseMs = zone === null ? DAILY_PAUSE_MS : untilMidnightMs(at, zone) + MIDNIGHT_SPARE_MS;
  return errors.make(kind, { status, retryAfterMs: answer.retryAfterMs ?? pauseMs });
}

/** Returns the milliseconds from an instant to the next midnight of a zone. */
export function untilMidnightMs(at: Instant, zone: string): number {
  const offset = offsetMs(zone, at);
  const localMidnight = (Math.floor((at + offset) / DAY_MS) + 1) * DAY_MS;
  return localMidnight - offsetMs(zone, localMidnight - offset) - at;
}

/** Codes of an object's refusal in order of precedence. */
const ROW_CODES = [
  'PROPERTY_DOESNT_EXIST',
  'READ_ONLY_VALUE',
  'INVALID_OPTION',
  'MISSING_REQUIRED_PROPERTY',
  'MISSING_CONDITIONAL_REQUIRED_PROPERTY',
  NO_EDIT_ASSOCIATIONS,
];

/**
 * Returns the error of one refused object.
 * @param allowedNames names of sent properties or of the account's properties; the error repeats no other word of the response
 */
export function toRowError(refusal: Refusal, object: string, allowedNames: ReadonlySet<string>): MirrorError {
  const { status, category, codes, scopes, isTaken } = refusal;
  if (category === 'MISSING_SCOPES') return errors.make('scope-missing', { status: 403, names: scopes });
  // The object existed when it was fetched.
  if (category === 'OBJECT_NOT_FOUND') return errors.make('changed-meanwhile', { status: 404 });
  const reported = refusal.properties.filter((name) => allowedNames.has(name));
  const names = reported.length === 0 ? [object] : namesIn(object, reported);
  const kind = errors.kindByWords(ROW_CODES.filter((code) => codes.includes(code)));
  const ruledBy = refusal.ruledBy.filter((name) => allowedNames.has(name));
  if (kind === 'property-required-by-rule' && ruledBy.length > 0) {
    const others = namesIn(object, ruledBy).join(', ');
    return errors.make(kind, { names: [message('hubspot.ruled-by', { properties: names.join(', '), others })] });
  }
  if (kind !== null) return errors.make(kind, { names, refuses: reported });
  if (category === 'RATE_LIMITS' && status < 500) return errors.make('rate-limited', { status: 429 });
  if (status >= 500) return errors.make('server-error', { status });
  if (isTaken) return errors.make('unique-value-taken', { status: 409, names, refuses: reported });
  return errors.make('property-value-refused', { status, names, refuses: reported });
}

/** Returns property names in the form of error texts: `contacts.email`. */
export function namesIn(object: string, properties: readonly string[]): string[] {
  return properties.map((name) => `${object}.${name}`);
}

/**
 * Requires the status 204.
 * @throws MirrorError if the response has a different success status, which HubSpot did not send
 */
export function requireNothing({ status }: WireResponse): void {
  if (status !== 204) throw errors.make('unexpected-answer');
}

/** Reason of a refused call or object, without HubSpot's messages, which repeat sent values. */
export interface Refusal {
  status: number;
  category: string | null;
  /** Exceeded limit, with 429. */
  policy: string | null;
  /** Codes of invalid values, such as `INVALID_OPTION`. */
  codes: string[];
  /** Possible property names. Only sent names may be repeated. */
  properties: string[];
  /** Properties whose values trigger a rule that requires other properties. Only the account's names may be repeated. */
  ruledBy: string[];
  /** Missing permissions. */
  scopes: string[];
  /** Whether a unique value belongs to a different object. */
  isTaken: boolean;
  /** Id of the object with the unique value, if HubSpot reports the id. */
  holderId: string | null;
  /** Whether the key property is absent or not unique. */
  isKeyUnusable: boolean;
}

const PROPERTY_NAME = /^[a-z][a-z0-9_]{0,99}$/;
const SCOPE = /^[a-z0-9._-]{1,100}$/;

/**
 * Parses the body of an error, or an element of a 207's `errors`. An unreadable body results in only the status.
 * @see https://developers.hubspot.com/changelog/crm-api-write-validation-enforcement
 */
export function readRefusal(status: number, body: unknown): Refusal {
  const error = errorBodySchema.safeParse(body).data ?? {};
  const details = error.errors ?? [];
  const contexts = [error.context ?? {}, ...details.map(({ context }) => context ?? {})];
  const message = error.message ?? '';
  const faults = faultsIn(message);
  const codes = [...details.flatMap(({ code }) => code ?? []), ...faults.map(({ code }) => code)];
  if (/'Edit Associations' permission/i.test(message)) codes.push(NO_EDIT_ASSOCIATIONS);
  const reported = [
    ...contexts.flatMap(({ propertyName, properties }) => [...(propertyName ?? []), ...(properties ?? [])]),
    ...faults.map(({ name }) => name),
    ...[...message.matchAll(/\bpropertyName=([a-z0-9_]+)/g)].map((match) => match[1]!),
  ];
  const scopes = contexts.flatMap(({ requiredGranularScopes, requiredScopes }) => [
    ...(requiredGranularScopes ?? []),
    ...(requiredScopes ?? []),
  ]);
  return {
    status,
    category: error.category ?? null,
    policy: error.policyName ?? null,
    codes: [...new Set(codes)],
    properties: [...new Set(reported)].filter((name) => PROPERTY_NAME.test(name)),
    ruledBy: [message, ...details.map((detail) => detail.message ?? '')].flatMap(namesOfRule),
    scopes: [...new Set(scopes)].filter((scope) => SCOPE.test(scope)),
    isTaken: isTaken(status, error.category, codes, message),
    holderId:
      /\bExisting ID: (\d+)/i.exec(message)?.[1] ?? /\b(\d+) already has that value/i.exec(message)?.[1] ?? null,
    isKeyUnusable: /\bnon-unique\b/i.test(message),
  };
}

/** Parses the brackets at the end of `… is required because of a conditional property rule based on [country]`. */
function namesOfRule(message: string): string[] {
  const list = /\bbased on \[([a-z0-9_, ]+)\]/i.exec(message)?.[1] ?? '';
  return list.split(',').flatMap((name) => (PROPERTY_NAME.test(name.trim()) ? [name.trim()] : []));
}

/** HubSpot reports an e-mail address in use as 409, and other unique values by a code or a message. */
function isTaken(status: number, category: string | undefined, codes: readonly string[], message: string): boolean {
  const isConflict = status === 409 || category === 'CONFLICT' || codes.includes('CONFLICTING_UNIQUE_VALUE');
  return isConflict || /already has that value/i.test(message);
}

/** Parses the JSON list in a message: `Property values were not valid: [{"name": "…", "error": "…", …}]`. */
function faultsIn(message: string): { name: string; code: string }[] {
  const start = message.indexOf('[{');
  if (start === -1) return [];
  const list = parseJson(message.slice(start, message.lastIndexOf(']') + 1));
  return Array.isArray(list) ? list.flatMap(faultOf) : [];
}

function faultOf(fault: unknown): { name: string; code: string }[] {
  if (typeof fault !== 'object' || fault === null || !('name' in fault) || !('error' in fault)) return [];
  return typeof fault.name === 'string' && typeof fault.error === 'string'
    ? [{ name: fault.name, code: fault.error }]
    : [];
}
