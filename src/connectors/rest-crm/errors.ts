import { MirrorError } from '../../model/errors.ts';
import type { WireAnswer } from '../wire.ts';
import type { CrmDescription, Meaning } from './description.ts';
import { valueAt } from './json-paths.ts';
import { RATE_LIMIT_PAUSE_MS } from './limits.ts';

/** Codes of failures that concern one record; any other concerns the whole target. One broken connection says little. */
const ITEM_CODES = new Set([
  'connection-failed',
  'record-refused',
  'record-forbidden',
  'record-too-large',
  'several-matches',
  'contact-missing',
  'changed-meanwhile',
  'server-error',
  'error-in-answer',
  'answer-missing',
  'record-without-id',
]);

/** Whether the operations after one that failed so may still be tried. */
export function concernsOneItem(error: MirrorError): boolean {
  return ITEM_CODES.has(error.code);
}

/**
 * What an answer means that is no success: by the description's table of codes, then by that of statuses, then by the status. What
 * the CRM says in words is not carried on: it may repeat a patient's data.
 */
export function toMirrorError(answer: WireAnswer, errors: CrmDescription['errors']): MirrorError {
  const { status, retryAfterMs } = answer;
  const meaning =
    errors.codes[codeOf(answer.body, errors) ?? ''] ?? errors.statuses[String(status)] ?? byStatus(status);
  if (meaning !== null) return ofMeaning(meaning, status, retryAfterMs);
  if (status < 300) return errorInAnswer(status);
  if (status === 404 || status === 410) return notThere(status);
  return unexpectedStatus(status);
}

/** Whether a successful status comes with an error in its body. */
export function hasError({ body }: WireAnswer, errors: CrmDescription['errors']): boolean {
  return errors.present.some((path) => {
    const value = valueAt(body, path);
    if (value === undefined || value === null || value === false || value === '') return false;
    return !Array.isArray(value) || value.length > 0;
  });
}

/** One row of a batch that was not taken. */
export function rowRefused(row: unknown, errors: CrmDescription['errors']): MirrorError {
  return ofMeaning(errors.codes[codeOf(row, errors) ?? ''] ?? 'refused', 200, null);
}

function codeOf(body: unknown, { code }: CrmDescription['errors']): string | null {
  const value = code.map((path) => valueAt(body, path)).find((one) => one !== undefined && one !== null);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

function byStatus(status: number): Meaning | null {
  if (status === 401) return 'login';
  if (status === 403) return 'forbidden';
  if (status === 429) return 'throttled';
  if (status === 412) return 'changed';
  if ([400, 409, 413, 415, 422].includes(status)) return 'refused';
  return status === 408 || status === 423 || status >= 500 ? 'retry' : null;
}

function ofMeaning(meaning: Meaning, status: number, retryAfterMs: number | null): MirrorError {
  const wait = retryAfterMs === null ? {} : { retryAfterMs };
  switch (meaning) {
    case 'login':
      return loginRefused(status);
    case 'forbidden':
      return new MirrorError('the CRM does not let this login do that', {
        actor: 'settings',
        code: 'crm-forbidden',
        retry: 'never',
        status,
        remedy: 'give the login the right to read, write and delete these records',
      });
    case 'throttled':
      return new MirrorError('the CRM asks to slow down', {
        actor: 'remote',
        code: 'rate-limited',
        retry: 'later',
        status,
        retryAfterMs: retryAfterMs ?? RATE_LIMIT_PAUSE_MS,
      });
    case 'refused':
      return refused(status);
    case 'changed':
      return new MirrorError('the record changed between reading and writing', {
        actor: 'conflict',
        code: 'changed-meanwhile',
        retry: 'now',
        status,
      });
    case 'several':
      return severalMatches();
    case 'retry':
      return unavailable(status, wait);
  }
}

/** The CRM failed on one request, or is away for all; a write may have been carried out. */
function unavailable(status: number, wait: { retryAfterMs?: number }): MirrorError {
  const isAway = status === 408 || status > 500;
  return new MirrorError(isAway ? 'the CRM is not available' : 'the CRM failed on the request', {
    actor: 'remote',
    code: isAway ? 'server-unavailable' : 'server-error',
    retry: 'later',
    ambiguous: true,
    status,
    ...wait,
  });
}

function refused(status: number): MirrorError {
  const isTooLarge = status === 413;
  return new MirrorError(isTooLarge ? 'the CRM finds the record too large' : 'the CRM refuses the record', {
    actor: 'contract',
    code: isTooLarge ? 'record-too-large' : 'record-refused',
    retry: 'never',
    status,
  });
}

/** The login was refused, also after it was renewed. */
export function loginRefused(status: number): MirrorError {
  return new MirrorError('the CRM refuses the login', {
    actor: 'authorization',
    code: 'login-refused',
    retry: 'never',
    status,
    remedy: 'renew the key, password or login of the connection',
  });
}

function errorInAnswer(status: number): MirrorError {
  return new MirrorError('the CRM answered success with an error inside', {
    actor: 'contract',
    code: 'error-in-answer',
    retry: 'later',
    ambiguous: true,
    status,
  });
}

function notThere(status: number): MirrorError {
  return new MirrorError('there is nothing at the address that the description gives', {
    actor: 'settings',
    code: 'crm-path-missing',
    retry: 'later',
    status,
    remedy: 'correct baseUrl, or the path in the description',
  });
}

function unexpectedStatus(status: number): MirrorError {
  return new MirrorError('the CRM gave an unexpected status', {
    actor: 'contract',
    code: 'unexpected-status',
    retry: 'later',
    status,
  });
}

/** The answer is not of the form that the description gives. */
export function unexpectedAnswer(what: 'rows' | 'fields' | 'id'): MirrorError {
  return new MirrorError(`the answer has no ${what} where the description says`, {
    actor: 'contract',
    code: 'unexpected-answer',
    retry: 'later',
    remedy: 'correct the paths in the description',
  });
}

/** A success that says nothing of the record, and that a look does not confirm. */
export function nothingProved(status: number): MirrorError {
  return new MirrorError('the CRM said that it wrote and does not show it', {
    actor: 'remote',
    code: 'unexpected-answer',
    retry: 'later',
    ambiguous: true,
    status,
  });
}

/** More than one object carries a record's key: which one is ours can't be known. */
export function severalMatches(): MirrorError {
  return new MirrorError('several objects of the CRM carry the same key', {
    actor: 'settings',
    code: 'several-matches',
    retry: 'later',
    remedy: 'find the objects with the same key in the CRM, and delete or merge the copies that people made',
  });
}

/** The contact that an activity or a deal belongs to is not in the CRM, perhaps not yet. */
export function contactMissing(): MirrorError {
  return new MirrorError('the contact is not in the CRM', { actor: 'remote', code: 'contact-missing', retry: 'later' });
}

/** The filter by key gives what it should not. */
export function filterIgnored(): MirrorError {
  return new MirrorError('the CRM does not search by the key', {
    actor: 'settings',
    code: 'key-filter-ignored',
    retry: 'never',
    remedy: 'make the property of keyField, correct its name, or correct find in the description',
  });
}

/** @param names properties that the CRM does not have */
export function propertiesMissing(names: readonly string[]): MirrorError {
  return new MirrorError(`the CRM has no property ${names.join(', ')}`, {
    actor: 'settings',
    code: 'crm-property-missing',
    retry: 'never',
    remedy: 'make the properties in the CRM, or correct the names in mapping or description',
  });
}

/** The description says nothing of the stream that the target follows. */
export function streamNotDescribed(): MirrorError {
  return new MirrorError('the description has nothing for the stream of this target', {
    actor: 'settings',
    code: 'stream-not-described',
    retry: 'never',
    remedy: 'describe the stream under description.streams, or choose another',
  });
}

/** A reading led away from the CRM, or round and round. */
export function pagingBroken(): MirrorError {
  return new MirrorError('the pages of a list come to no end, or lead elsewhere', {
    actor: 'contract',
    code: 'crm-paging-broken',
    retry: 'later',
    remedy: 'correct paging in the description',
  });
}

/** The CRM refuses a search, a list or a reading as such. */
export function questionRefused(status: number | undefined): MirrorError {
  return new MirrorError('the CRM refuses a search or a list', {
    actor: 'settings',
    code: 'crm-question-refused',
    retry: 'later',
    ...(status === undefined ? {} : { status }),
    remedy:
      'see that the properties of keyField and stampField are there, or correct find, get and list in the description',
  });
}

/** The CRM lets the login write, and not this record. */
export function recordForbidden(): MirrorError {
  return new MirrorError('the CRM does not let this login change the record', {
    actor: 'settings',
    code: 'record-forbidden',
    retry: 'never',
    status: 403,
    remedy: 'give the login the right to change and delete records that others own',
  });
}

/** An id that can't be a part of an address. */
export function unusableId(): MirrorError {
  return new MirrorError('the CRM gave an id that can be no part of an address', {
    actor: 'contract',
    code: 'record-without-id',
    retry: 'later',
  });
}

/** A batch's answer says nothing of its rows. */
export function answerMissing(): MirrorError {
  return new MirrorError('the answer to a batch lacks rows', {
    actor: 'remote',
    code: 'answer-missing',
    retry: 'later',
    ambiguous: true,
  });
}

/** The call was stopped before this operation. */
export function aborted(): MirrorError {
  return new MirrorError('the request was stopped', { actor: 'remote', code: 'aborted', retry: 'later' });
}

/** The same error for the operations after the one that met it: they were not sent, so nothing about them is in doubt. */
export function notSent(error: MirrorError): MirrorError {
  const { actor, code, retry, retryAfterMs, status, remedy } = error;
  return new MirrorError(error.message, {
    actor,
    code,
    retry,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(status === undefined ? {} : { status }),
    ...(remedy === undefined ? {} : { remedy }),
  });
}
