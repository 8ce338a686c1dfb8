import type { MirrorError } from '../../model/errors.ts';
import { authorization, COMMON, common, defineErrors, type ErrorKind, refusal, remote, settings } from '../errors.ts';
import type { WireResponse } from '../wire.ts';
import { API_LIMIT_PAUSE_MS, NAMED_FIELDS, STORAGE_FULL_PAUSE_MS } from './limits.ts';
import { type RowResult, refusalSchema } from './schemas.ts';

/** The org has no such object or field any more. */
const SETUP_INCOMPLETE: Omit<ErrorKind, 'message'> = {
  ...{ actor: 'settings', retry: 'never', scope: 'target' },
  tellsGone: true,
  code: 'crm-setup-incomplete',
};

/**
 * Salesforce's errors: known by the code of a whole request or of a row, which share them; else by status.
 * @see https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/errorcodes.htm
 * @see https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_calls_concepts_core_data_objects.htm for StatusCode
 */
export const errors = defineErrors('Salesforce', codesOf, {
  ...common('answer-missing', 'html-answer', 'rate-limited', 'timeout', 'server-error', 'unexpected-answer'),
  'login-refused': {
    ...COMMON['login-refused'],
    words: ['INVALID_SESSION_ID'],
    remedy: 'connect the Salesforce account again',
  },
  'instance-unknown': authorization.target('the login does not tell where the org is', {
    remedy: 'log in again, or set instanceUrl',
  }),
  'redirected-elsewhere': settings.target('the org sends to another address, which the login does not name', {
    remedy: 'log in again, or correct instanceUrl',
  }),
  'api-disabled': settings.target('the org or the user may not use the API', {
    words: ['API_DISABLED_FOR_ORG', 'API_CURRENTLY_DISABLED'],
    remedy: 'use an edition with API access, and give the user the permission API Enabled',
  }),
  'version-retired': settings.target('Salesforce does not serve this version of its API', {
    tellsGone: true,
    statuses: [410],
    words: ['UNSUPPORTED_API_VERSION'],
    remedy: 'set apiVersion to one that the org lists at /services/data',
  }),
  'crm-setup-incomplete': {
    ...SETUP_INCOMPLETE,
    message: 'the org lacks what the target needs',
    remedy: 'set up the fields, or correct the mapping',
  },
  'setup-changed': {
    ...SETUP_INCOMPLETE,
    words: ['INVALID_FIELD', 'INVALID_TYPE'],
    message: 'the org has no such object or field any more, or hides it from the login',
    remedy: 'run clinic-mirror sync: it names what is missing',
  },
  'object-not-found': {
    ...SETUP_INCOMPLETE,
    statuses: [404],
    message: 'the org has no such object, or its key field is no external id, or the login may not see them',
    remedy: 'run clinic-mirror sync: it names what is missing',
  },
  'crm-forbidden': settings.item('Salesforce does not allow this to the login', {
    statuses: [403],
    words: ['INSUFFICIENT_ACCESS_OR_READONLY', 'INSUFFICIENT_ACCESS', 'INVALID_FIELD_FOR_INSERT_UPDATE'],
    remedy:
      "give the login's user the right to create, edit and delete the object's records, and to edit the fields named",
  }),
  /** @see https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/headers_api_usage.htm */
  'api-limit-reached': remote.target("the org's API calls of 24 hours are used up", {
    words: ['REQUEST_LIMIT_EXCEEDED'],
    pauseMs: API_LIMIT_PAUSE_MS,
  }),
  /** @see https://developer.salesforce.com/docs/atlas.en-us.salesforce_app_limits_cheatsheet.meta/salesforce_app_limits_cheatsheet/salesforce_app_limits_platform_api.htm */
  'calls-at-once': {
    ...{ ...COMMON['rate-limited'], statuses: [] },
    message: 'as many calls run at once in the org as it allows',
    note: 'Told by the code of the daily limit while `Sforce-Limit-Info` is far from it',
  },
  'api-limit-near': remote.target("more of the org's API calls of 24 hours are used than stopAtShare allows", {
    pauseMs: API_LIMIT_PAUSE_MS,
    remedy: 'find out who uses them, or raise stopAtShare',
  }),
  'storage-full': settings.target("the org's storage is full", {
    retry: 'later',
    words: ['STORAGE_LIMIT_EXCEEDED'],
    pauseMs: STORAGE_FULL_PAUSE_MS,
    remedy: 'make room in the org',
  }),
  'server-unavailable': remote.item('Salesforce is away', { statuses: [503] }),
  'reading-expired': remote.item('Salesforce gave up a reading before its end', {
    words: ['INVALID_QUERY_LOCATOR'],
    note: 'It is read again',
  }),
  'row-locked': remote.item('another write holds the record or its parent', { words: ['UNABLE_TO_LOCK_ROW'] }),
  'batch-dependency': {
    ...COMMON['batch-dependency'],
    words: ['ALL_OR_NONE_OPERATION_ROLLED_BACK', 'PROCESSING_HALTED'],
  },
  'contact-missing': {
    ...COMMON['contact-missing'],
    remedy: "the patients' target writes it; see that its contacts are in step",
  },
  'key-ambiguous': settings.item('several records carry the same key', {
    statuses: [300],
    words: ['DUPLICATE_EXTERNAL_ID'],
    remedy: 'tick Unique on the key field, and clear the key on all but one of the records',
  }),
  'unique-value-taken': settings.item('another record has the same value in a field that must be unique', {
    refusesValues: true,
    words: ['DUPLICATE_VALUE'],
    remedy: 'correct the other record, or leave the field out of the mapping',
  }),
  'duplicate-rule': settings.item('a duplicate rule of the org refuses the record', {
    words: ['DUPLICATES_DETECTED'],
    remedy:
      "let the rule leave out the login's user, since patients of one family share addresses and numbers; or, where it only alerts, set allowDuplicates",
  }),
  'validation-rule': settings.item('a validation rule of the org refuses the record', {
    refusesValues: true,
    words: ['FIELD_CUSTOM_VALIDATION_EXCEPTION', 'FIELD_FILTER_VALIDATION_EXCEPTION'],
    remedy: "change the mapping or the data so that the rule is kept, or let the rule leave out the login's user",
  }),
  'required-field-missing': settings.item('the org requires a field that the record leaves empty', {
    words: ['REQUIRED_FIELD_MISSING'],
    remedy: 'map the field, or fill it in the clinic',
  }),
  'property-value-refused': settings.item('Salesforce refuses a value', {
    refusesValues: true,
    words: [
      'INVALID_EMAIL_ADDRESS',
      'INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST',
      'NUMBER_OUTSIDE_VALID_RANGE',
      'FIELD_INTEGRITY_EXCEPTION',
      'INVALID_TYPE_ON_FIELD_IN_RECORD',
      'MALFORMED_ID',
    ],
    remedy: 'correct the value in the clinic, or how it is mapped',
  }),
  'property-value-too-long': settings.item('a value is longer than its field', {
    refusesValues: true,
    words: ['STRING_TOO_LONG'],
    remedy: 'correct the value in the clinic, or how it is mapped',
  }),
  'reference-refused': settings.item('a reference leads to no record that the login may use', {
    words: ['INVALID_CROSS_REFERENCE_KEY', 'INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY'],
    remedy: 'correct the ids in the mapping',
  }),
  'automation-failed': settings.item('a trigger or flow of the org failed on the record', {
    retry: 'later',
    words: ['CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY', 'CANNOT_EXECUTE_FLOW_TRIGGER'],
    remedy: "look at the org's automation for this object",
  }),
  'deletion-refused': settings.item('Salesforce does not delete the record', {
    words: ['DELETE_FAILED'],
    remedy: 'take away what hangs on it, such as cases, or the rule that forbids it',
  }),
  'bin-not-emptied': settings.item('Salesforce did not take a deleted record out of its recycle bin', {
    retry: 'later',
    remedy:
      "let the login's user use the SOAP API and see the org's recycle bin, or empty it there; or set emptyBin to false: the bin keeps it for 15 days",
  }),
  'opt-out-not-taken': remote.item("Salesforce did not take the opt-out of a contact's Individual", {
    remedy: 'look whether the login may create and edit Individuals, and whether a rule of the org refuses them',
  }),
  'item-too-large': refusal.item('Salesforce finds the request too large', { statuses: [413, 414] }),
  refused: { ...COMMON.refused, message: 'Salesforce refused the record' },
});

function codesOf({ body }: Pick<WireResponse, 'body'>): string[] {
  return (refusalSchema.safeParse(body).data ?? []).map(({ errorCode }) => errorCode);
}

/**
 * A composite or query itself was refused. Its address exists in every version that is served, so 404 tells of the version.
 * @param isUsedUp whether the org's API calls of the day are nearly all used
 */
export function wholeRefusalOf(answer: WireResponse, isUsedUp: boolean): MirrorError {
  const { status, retryAfterMs } = answer;
  if (status === 404) return errors.make('version-retired', { status });
  const isOfMoment = status === 403 && errors.kindOf(answer) === 'api-limit-reached' && !isUsedUp;
  return isOfMoment ? errors.make('calls-at-once', { status, retryAfterMs }) : errors.of(answer);
}

/** What makes a row worth a second try at once: a lock that others hold, a key that was created meanwhile, a record that went. */
export function isRace({ errors: faults }: RowResult): boolean {
  return has(faults, ['UNABLE_TO_LOCK_ROW', 'DUPLICATE_VALUE', 'ENTITY_IS_DELETED']);
}

/** Whether the record that a row meant is not there, or in the recycle bin. */
export function isGone({ errors: faults }: RowResult): boolean {
  return has(faults, ['ENTITY_IS_DELETED', 'INVALID_CROSS_REFERENCE_KEY', 'NOT_FOUND']);
}

/** Whether the recycle bin holds on to the key. An error that names a field is about a reference of the record. */
export function isKeyInBin({ errors: faults }: RowResult): boolean {
  return faults?.some(({ statusCode, fields }) => statusCode === 'ENTITY_IS_DELETED' && !fields?.length) ?? false;
}

/** Whether the contact that a row refers to by key is not there; a field that is not there refuses the whole request. */
export function isContactMissing({ errors: faults }: RowResult): boolean {
  return has(faults, ['INVALID_FIELD']);
}

function has(faults: RowResult['errors'], codes: readonly string[]): boolean {
  return faults?.some(({ statusCode }) => codes.includes(statusCode)) ?? false;
}

/**
 * A row that failed, with the names of the fields at fault.
 * @param known names of fields that may be told; whatever else the answer names is left out
 */
export function rowErrorOf({ errors: faults }: RowResult, known: ReadonlySet<string>): MirrorError {
  const kind = errors.known((faults ?? []).map(({ statusCode }) => statusCode)) ?? 'refused';
  const fields = (faults ?? []).flatMap((fault) => fault.fields ?? []).filter((field) => known.has(field));
  return errors.make(kind, { names: [...new Set(fields)].slice(0, NAMED_FIELDS), refuses: fields });
}
