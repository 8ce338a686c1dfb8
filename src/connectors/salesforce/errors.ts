import type { MirrorError } from '../../core/model/errors.ts';
import { authorization, COMMON, common, defineErrors, type ErrorKind, refusal, remote, settings } from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import { API_LIMIT_PAUSE_MS, NAMED_FIELDS, STORAGE_FULL_PAUSE_MS } from './limits.ts';
import { type RowResult, refusalSchema } from './schemas.ts';

/** An object or field no longer exists in the org. */
const SETUP_INCOMPLETE: Omit<ErrorKind, 'message'> = {
  ...{ actor: 'settings', retry: 'never', scope: 'target' },
  provesGone: true,
  code: 'crm-setup-incomplete',
};

/**
 * Salesforce's errors, identified by the code of a request or an object, which share their codes; otherwise by status.
 * @see https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/errorcodes.htm
 * @see https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_calls_concepts_core_data_objects.htm for StatusCode
 */
export const errors = defineErrors('salesforce', codesOf, {
  ...common(
    'answer-missing',
    'contact-missing',
    'html-answer',
    'rate-limited',
    'refused',
    'server-error',
    'timeout',
    'unexpected-answer',
  ),
  'login-refused': { ...COMMON['login-refused'], words: ['INVALID_SESSION_ID'] },
  'instance-unknown': authorization.target(),
  'redirected-elsewhere': settings.target(),
  'api-disabled': settings.target({ words: ['API_DISABLED_FOR_ORG', 'API_CURRENTLY_DISABLED'] }),
  'version-retired': settings.target({ provesGone: true, statuses: [410], words: ['UNSUPPORTED_API_VERSION'] }),
  'crm-setup-incomplete': { ...SETUP_INCOMPLETE },
  'setup-changed': { ...SETUP_INCOMPLETE, words: ['INVALID_FIELD', 'INVALID_TYPE'] },
  'object-not-found': { ...SETUP_INCOMPLETE, statuses: [404] },
  'crm-forbidden': settings.item({
    statuses: [403],
    words: ['INSUFFICIENT_ACCESS_OR_READONLY', 'INSUFFICIENT_ACCESS', 'INVALID_FIELD_FOR_INSERT_UPDATE'],
  }),
  /** @see https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/headers_api_usage.htm */
  'api-limit-reached': remote.target({ words: ['REQUEST_LIMIT_EXCEEDED'], pauseMs: API_LIMIT_PAUSE_MS }),
  /** @see https://developer.salesforce.com/docs/atlas.en-us.salesforce_app_limits_cheatsheet.meta/salesforce_app_limits_cheatsheet/salesforce_app_limits_platform_api.htm */
  'calls-at-once': {
    ...{ ...COMMON['rate-limited'], statuses: [] },
    detail: 'Salesforce returns the code of the daily limit, but `Sforce-Limit-Info` is far from that limit',
  },
  'api-limit-near': remote.target({ pauseMs: API_LIMIT_PAUSE_MS }),
  'storage-full': settings.target({
    retry: 'later',
    words: ['STORAGE_LIMIT_EXCEEDED'],
    pauseMs: STORAGE_FULL_PAUSE_MS,
  }),
  'server-unavailable': remote.item({ statuses: [503] }),
  'reading-expired': remote.item({ words: ['INVALID_QUERY_LOCATOR'], detail: 'The daemon reads again' }),
  'record-locked': remote.item({ words: ['UNABLE_TO_LOCK_ROW'] }),
  'batch-dependency': {
    ...COMMON['batch-dependency'],
    words: ['ALL_OR_NONE_OPERATION_ROLLED_BACK', 'PROCESSING_HALTED'],
  },
  'key-ambiguous': settings.item({ statuses: [300], words: ['DUPLICATE_EXTERNAL_ID'] }),
  'unique-value-taken': settings.item({ refusesValues: true, words: ['DUPLICATE_VALUE'] }),
  'duplicate-rule': settings.item({ words: ['DUPLICATES_DETECTED'] }),
  'validation-rule': settings.item({
    refusesValues: true,
    words: ['FIELD_CUSTOM_VALIDATION_EXCEPTION', 'FIELD_FILTER_VALIDATION_EXCEPTION'],
  }),
  'required-field-missing': settings.item({ words: ['REQUIRED_FIELD_MISSING'] }),
  'property-value-refused': settings.item({
    refusesValues: true,
    words: [
      'INVALID_EMAIL_ADDRESS',
      'INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST',
      'NUMBER_OUTSIDE_VALID_RANGE',
      'FIELD_INTEGRITY_EXCEPTION',
      'INVALID_TYPE_ON_FIELD_IN_RECORD',
      'MALFORMED_ID',
    ],
  }),
  'property-value-too-long': settings.item({ refusesValues: true, words: ['STRING_TOO_LONG'] }),
  'reference-refused': settings.item({
    words: ['INVALID_CROSS_REFERENCE_KEY', 'INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY'],
  }),
  'automation-failed': settings.item({
    retry: 'later',
    words: ['CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY', 'CANNOT_EXECUTE_FLOW_TRIGGER'],
  }),
  'deletion-refused': settings.item({ words: ['DELETE_FAILED'] }),
  'bin-not-emptied': settings.item({ retry: 'later' }),
  'opt-out-not-taken': remote.item(),
  'record-too-large': refusal.item({ statuses: [413, 414] }),
});

function codesOf({ body }: Pick<WireResponse, 'body'>): string[] {
  return (refusalSchema.safeParse(body).data ?? []).map(({ errorCode }) => errorCode);
}

/**
 * Returns the error of a refused composite or query. Their URLs exist in each supported version, so 404 means an unsupported version.
 * @param isUsedUp whether the org's API calls of the day are nearly used up
 */
export function wholeRefusalOf(answer: WireResponse, isUsedUp: boolean): MirrorError {
  const { status, retryAfterMs } = answer;
  if (status === 404) return errors.make('version-retired', { status });
  const isOfMoment = status === 403 && errors.kindOf(answer) === 'api-limit-reached' && !isUsedUp;
  return isOfMoment ? errors.make('calls-at-once', { status, retryAfterMs }) : errors.of(answer);
}

/** Checks whether an immediate second attempt is useful: the object was locked, created or deleted in the meantime. */
export function isRace({ errors: faults }: RowResult): boolean {
  return has(faults, ['UNABLE_TO_LOCK_ROW', 'DUPLICATE_VALUE', 'ENTITY_IS_DELETED']);
}

/** Checks whether the object is absent, or in the recycle bin. */
export function isGone({ errors: faults }: RowResult): boolean {
  return has(faults, ['ENTITY_IS_DELETED', 'INVALID_CROSS_REFERENCE_KEY', 'NOT_FOUND']);
}

/** Checks whether the recycle bin keeps the key in use. An error with a field concerns a reference of the object. */
export function isKeyInBin({ errors: faults }: RowResult): boolean {
  return faults?.some(({ statusCode, fields }) => statusCode === 'ENTITY_IS_DELETED' && !fields?.length) ?? false;
}

/** Checks whether the referenced contact is absent. If the reference field is absent, Salesforce refuses the whole request instead. */
export function isContactMissing({ errors: faults }: RowResult): boolean {
  return has(faults, ['INVALID_FIELD']);
}

function has(faults: RowResult['errors'], codes: readonly string[]): boolean {
  return faults?.some(({ statusCode }) => codes.includes(statusCode)) ?? false;
}

/**
 * Returns the error of one failed object, with the names of the invalid fields.
 * @param allowedNames field names that the error may repeat; other names are omitted
 */
export function rowErrorOf({ errors: faults }: RowResult, allowedNames: ReadonlySet<string>): MirrorError {
  const kind = errors.kindByWords((faults ?? []).map(({ statusCode }) => statusCode)) ?? 'refused';
  const fields = (faults ?? []).flatMap((fault) => fault.fields ?? []).filter((field) => allowedNames.has(field));
  return errors.make(kind, { names: [...new Set(fields)].slice(0, NAMED_FIELDS), refuses: fields });
}
