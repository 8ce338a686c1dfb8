import type { MirrorErrorOptions } from '../../model/errors.ts';
import { API_LIMIT_PAUSE_MS, STORAGE_FULL_PAUSE_MS } from './limits.ts';

/** What a refusal means to us, and how long to wait where the vendor doesn't say. */
export type Meaning = Pick<MirrorErrorOptions, 'actor' | 'code' | 'retry' | 'remedy'> & {
  message: string;
  pauseMs?: number;
};

const API_LIMIT: Meaning = {
  message: "the org's API calls of 24 hours are used up",
  actor: 'remote',
  code: 'api-limit-reached',
  retry: 'later',
  pauseMs: API_LIMIT_PAUSE_MS,
};

const LOGIN_REFUSED: Meaning = {
  message: 'Salesforce does not accept the login',
  actor: 'authorization',
  code: 'login-refused',
  retry: 'never',
  remedy: 'connect the Salesforce account again',
};

const API_DISABLED: Meaning = {
  message: 'the org or the user may not use the API',
  actor: 'settings',
  code: 'api-disabled',
  retry: 'never',
  remedy: 'use an edition with API access, and give the user the permission API Enabled',
};

const FORBIDDEN: Meaning = {
  message: 'Salesforce does not allow this to the login',
  actor: 'settings',
  code: 'crm-forbidden',
  retry: 'never',
  remedy:
    "give the login's user the right to create, edit and delete the object's records, and to edit the fields named",
};

const SETUP: Meaning = {
  message: 'the org has no such object or field any more, or hides it from the login',
  actor: 'settings',
  code: 'crm-setup-incomplete',
  retry: 'never',
  remedy: 'run clinic-mirror sync: it names what is missing',
};

/** The version is not served any more, or not yet. */
export const VERSION_RETIRED: Meaning = {
  message: 'Salesforce does not serve this version of its API',
  actor: 'settings',
  code: 'version-retired',
  retry: 'never',
  remedy: 'set apiVersion to one that the org lists at /services/data',
};

const LOCKED: Meaning = {
  message: 'another write holds the record or its parent',
  actor: 'remote',
  code: 'row-locked',
  retry: 'later',
};

/** Several records carry one key. */
export const KEY_AMBIGUOUS: Meaning = {
  message: 'several records carry the same key',
  actor: 'settings',
  code: 'key-ambiguous',
  retry: 'never',
  remedy: 'tick Unique on the key field, and clear the key on all but one of the records',
};

const RULE: Meaning = {
  message: 'a validation rule of the org refuses the record',
  actor: 'settings',
  code: 'validation-rule',
  retry: 'never',
  remedy: "change the mapping or the data so that the rule is kept, or let the rule leave out the login's user",
};

const VALUE: Meaning = {
  message: 'Salesforce refuses a value',
  actor: 'settings',
  code: 'property-value-refused',
  retry: 'never',
  remedy: 'correct the value in the clinic, or how it is mapped',
};

const REFERENCE: Meaning = {
  message: 'a reference leads to no record that the login may use',
  actor: 'settings',
  code: 'reference-refused',
  retry: 'never',
  remedy: 'correct the ids in the mapping',
};

const AUTOMATION: Meaning = {
  message: 'a trigger or flow of the org failed on the record',
  actor: 'settings',
  code: 'automation-failed',
  retry: 'later',
  remedy: "look at the org's automation for this object",
};

const HALTED: Meaning = {
  message: 'the call was not tried because another of its batch failed',
  actor: 'remote',
  code: 'batch-dependency',
  retry: 'later',
};

const DELETION: Meaning = {
  message: 'Salesforce does not delete the record',
  actor: 'settings',
  code: 'deletion-refused',
  retry: 'never',
  remedy: 'take away what hangs on it, such as cases, or the rule that forbids it',
};

const BY_CODE: Readonly<Record<string, Meaning>> = {
  REQUEST_LIMIT_EXCEEDED: API_LIMIT,
  INVALID_SESSION_ID: LOGIN_REFUSED,
  API_DISABLED_FOR_ORG: API_DISABLED,
  API_CURRENTLY_DISABLED: API_DISABLED,
  UNSUPPORTED_API_VERSION: VERSION_RETIRED,
  UNABLE_TO_LOCK_ROW: LOCKED,
  DUPLICATE_EXTERNAL_ID: KEY_AMBIGUOUS,
  DUPLICATE_VALUE: {
    message: 'another record has the same value in a field that must be unique',
    actor: 'settings',
    code: 'unique-value-taken',
    retry: 'never',
    remedy: 'correct the other record, or leave the field out of the mapping',
  },
  DUPLICATES_DETECTED: {
    message: 'a duplicate rule of the org refuses the record',
    actor: 'settings',
    code: 'duplicate-rule',
    retry: 'never',
    remedy: "let the rule leave out the login's user: patients of one family share addresses and numbers",
  },
  REQUIRED_FIELD_MISSING: {
    message: 'the org requires a field that the record leaves empty',
    actor: 'settings',
    code: 'required-field-missing',
    retry: 'never',
    remedy: 'map the field, or fill it in the clinic',
  },
  FIELD_CUSTOM_VALIDATION_EXCEPTION: RULE,
  FIELD_FILTER_VALIDATION_EXCEPTION: RULE,
  STRING_TOO_LONG: { ...VALUE, message: 'a value is longer than its field', code: 'property-value-too-long' },
  INVALID_EMAIL_ADDRESS: VALUE,
  INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST: VALUE,
  NUMBER_OUTSIDE_VALID_RANGE: VALUE,
  FIELD_INTEGRITY_EXCEPTION: VALUE,
  INVALID_TYPE_ON_FIELD_IN_RECORD: VALUE,
  MALFORMED_ID: VALUE,
  INVALID_CROSS_REFERENCE_KEY: REFERENCE,
  INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY: REFERENCE,
  INSUFFICIENT_ACCESS_OR_READONLY: FORBIDDEN,
  INSUFFICIENT_ACCESS: FORBIDDEN,
  INVALID_FIELD_FOR_INSERT_UPDATE: FORBIDDEN,
  CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY: AUTOMATION,
  CANNOT_EXECUTE_FLOW_TRIGGER: AUTOMATION,
  STORAGE_LIMIT_EXCEEDED: {
    message: "the org's storage is full",
    actor: 'settings',
    code: 'storage-full',
    retry: 'later',
    pauseMs: STORAGE_FULL_PAUSE_MS,
    remedy: 'make room in the org',
  },
  DELETE_FAILED: DELETION,
  ALL_OR_NONE_OPERATION_ROLLED_BACK: HALTED,
  PROCESSING_HALTED: HALTED,
  INVALID_FIELD: SETUP,
  INVALID_TYPE: SETUP,
  INVALID_QUERY_LOCATOR: {
    message: 'Salesforce gave up a reading before its end',
    actor: 'remote',
    code: 'reading-expired',
    retry: 'later',
  },
};

const NOT_FOUND: Meaning = {
  ...SETUP,
  message: 'the org has no such object, or its key field is no external id, or the login may not see them',
};
const TOO_LARGE: Meaning = {
  message: 'Salesforce finds the request too large',
  actor: 'contract',
  code: 'item-too-large',
  retry: 'never',
};

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  300: KEY_AMBIGUOUS,
  401: LOGIN_REFUSED,
  403: FORBIDDEN,
  404: NOT_FOUND,
  408: { message: 'the server gave up waiting', actor: 'remote', code: 'timeout', retry: 'later' },
  410: VERSION_RETIRED,
  413: TOO_LARGE,
  414: TOO_LARGE,
  429: API_LIMIT,
  503: { message: 'Salesforce is away', actor: 'remote', code: 'server-unavailable', retry: 'later' },
};

/** A refusal without a meaning that we know. */
export const REFUSED: Meaning = {
  message: 'Salesforce refused the record',
  actor: 'contract',
  code: 'refused',
  retry: 'never',
};

/**
 * The meaning of a StatusCode (SOAP API Developer Guide, Error Messages), which rows and whole requests share; null for one that we
 * don't know.
 */
export function meaningOfCode(code: string): Meaning | null {
  return Object.hasOwn(BY_CODE, code) ? BY_CODE[code]! : null;
}

/** The meaning of a status that came without a code that we know. */
export function meaningOfStatus(status: number): Meaning {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500)
    return { message: 'Salesforce is in trouble', actor: 'remote', code: 'server-error', retry: 'later' };
  if (status >= 400) return REFUSED;
  return { message: 'unknown status', actor: 'contract', code: 'unexpected-status', retry: 'later' };
}
