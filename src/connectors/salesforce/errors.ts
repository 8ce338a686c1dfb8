import { MirrorError, type MirrorErrorOptions } from '../../model/errors.ts';
import type { WireAnswer } from '../wire.ts';
import { API_LIMIT_PAUSE_MS, NAMED_FIELDS, STORAGE_FULL_PAUSE_MS } from './limits.ts';
import { type RowResult, refusalSchema } from './schemas.ts';

type Meaning = Pick<MirrorErrorOptions, 'actor' | 'code' | 'retry' | 'remedy'> & { message: string; pauseMs?: number };

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

const VERSION_RETIRED: Meaning = {
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

const KEY_AMBIGUOUS: Meaning = {
  message: 'several records bear the same key',
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

/** Meanings of StatusCodes (SOAP API Developer Guide, Error Messages), which rows and whole requests share. */
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

const REFUSED: Meaning = {
  message: 'Salesforce refused the record',
  actor: 'contract',
  code: 'refused',
  retry: 'never',
};

/** Codes of errors that concern the whole target, not one operation. */
const TARGET_WIDE: ReadonlySet<string> = new Set([
  'api-limit-reached',
  'api-limit-near',
  'login-refused',
  'api-disabled',
  'crm-setup-incomplete',
  'version-retired',
  'storage-full',
]);

/** Whether the error would meet every other operation of the target too. */
export function isTargetWide(error: MirrorError): boolean {
  return TARGET_WIDE.has(error.code);
}

/** A part of a composite, or a whole request, that is not a success: by its code, else by status. */
export function refusalOf({ status, body, retryAfterMs }: WireAnswer): MirrorError {
  const codes = refusalSchema.safeParse(body);
  const code = codes.success ? codes.data.find(({ errorCode }) => Object.hasOwn(BY_CODE, errorCode)) : undefined;
  return made(code === undefined ? byStatus(status) : BY_CODE[code.errorCode]!, { status, retryAfterMs });
}

/** A composite or query itself was refused. Its address exists in every version that is served, so 404 tells of the version. */
export function wholeRefusalOf(answer: WireAnswer): MirrorError {
  if (answer.status === 404) return made(VERSION_RETIRED, { status: 404 });
  return refusalOf(answer);
}

/** What makes a row worth a second try at once: a lock that others hold, a key that was created meanwhile, a record that went. */
export function isRace({ errors }: RowResult): boolean {
  return has(errors, ['UNABLE_TO_LOCK_ROW', 'DUPLICATE_VALUE', 'ENTITY_IS_DELETED']);
}

/** Whether the record that a row meant is not there, or in the recycle bin. */
export function isGone({ errors }: RowResult): boolean {
  return has(errors, ['ENTITY_IS_DELETED', 'INVALID_CROSS_REFERENCE_KEY', 'NOT_FOUND']);
}

/** Whether the recycle bin holds on to the key. An error that names a field is about a reference of the record. */
export function isKeyInBin({ errors }: RowResult): boolean {
  return errors?.some(({ statusCode, fields }) => statusCode === 'ENTITY_IS_DELETED' && !fields?.length) ?? false;
}

/** Whether the contact that a row refers to by key is not there; a field that is not there refuses the whole request. */
export function isContactMissing({ errors }: RowResult): boolean {
  return has(errors, ['INVALID_FIELD']);
}

function has(errors: RowResult['errors'], codes: readonly string[]): boolean {
  return errors?.some(({ statusCode }) => codes.includes(statusCode)) ?? false;
}

/**
 * A row that failed, with the names of the fields at fault.
 * @param known names of fields that may be told; whatever else the answer names is left out
 */
export function rowErrorOf({ errors }: RowResult, known: ReadonlySet<string>): MirrorError {
  const meanings = (errors ?? []).map(({ statusCode }) =>
    Object.hasOwn(BY_CODE, statusCode) ? BY_CODE[statusCode]! : null,
  );
  const meaning = meanings.find((one) => one !== null) ?? REFUSED;
  const fields = (errors ?? []).flatMap((error) => error.fields ?? []).filter((field) => known.has(field));
  return made(meaning, { fields: [...new Set(fields)].slice(0, NAMED_FIELDS) });
}

/** The contact is not in the org yet, or was deleted or merged away; the patients' target brings it. */
export function contactMissing(): MirrorError {
  return new MirrorError("the record's contact is not there yet", {
    actor: 'remote',
    code: 'contact-missing',
    retry: 'later',
    remedy: "the patients' target writes it; see that its contacts are in step",
  });
}

/** Several records of ours bear one key; which of them counts is for a person to say. */
export function keyAmbiguous(): MirrorError {
  return made(KEY_AMBIGUOUS, {});
}

/** Other integrations need what is left of the org's API calls. */
export function apiLimitNear(share: number): MirrorError {
  return new MirrorError(`more than ${Math.floor(share * 100)} % of the org's API calls of 24 hours are used`, {
    actor: 'remote',
    code: 'api-limit-near',
    retry: 'later',
    retryAfterMs: API_LIMIT_PAUSE_MS,
    remedy: 'find out who uses them, or raise stopAtShare',
  });
}

/**
 * The org lacks what the target needs.
 * @param faults one each, with names of objects and fields only
 */
export function setupIncomplete(faults: readonly string[]): MirrorError {
  return new MirrorError(`the org lacks what the target needs: ${faults.join('; ')}`, {
    actor: 'settings',
    code: 'crm-setup-incomplete',
    retry: 'never',
    remedy: 'set up the fields, or correct the mapping',
  });
}

/** The login brought no address, and none is configured. */
export function instanceUnknown(): MirrorError {
  return new MirrorError('the login does not tell where the org is', {
    actor: 'authorization',
    code: 'instance-unknown',
    retry: 'never',
    remedy: 'log in again, or set instanceUrl',
  });
}

/** The org sends elsewhere, and the login knows no other address. */
export function redirectedElsewhere(status: number): MirrorError {
  return new MirrorError('the org sends to another address, which the login does not name', {
    actor: 'settings',
    code: 'redirected-elsewhere',
    retry: 'never',
    status,
    remedy: 'log in again, or correct instanceUrl',
  });
}

/** A part of a composite's answer is missing; what it asked for may have been done. */
export function answerMissing(): MirrorError {
  return new MirrorError('the answer to a composite lacks a part', {
    actor: 'remote',
    code: 'answer-missing',
    retry: 'later',
    ambiguous: true,
  });
}

/** A successful answer has a shape that we do not know. */
export function unexpectedAnswer(ambiguous: boolean): MirrorError {
  return new MirrorError('Salesforce answered something else than its API would', {
    actor: 'contract',
    code: 'unexpected-answer',
    retry: 'later',
    ambiguous,
  });
}

/** A portal or proxy spoke instead of Salesforce. */
export function htmlAnswer(): MirrorError {
  return new MirrorError('an HTML page came instead of Salesforce', {
    actor: 'remote',
    code: 'html-answer',
    retry: 'later',
    ambiguous: true,
  });
}

interface Details {
  status?: number;
  retryAfterMs?: number | null;
  fields?: readonly string[];
}

function made(meaning: Meaning, { status, retryAfterMs, fields = [] }: Details): MirrorError {
  const { message, pauseMs, ...rest } = meaning;
  const waitMs = retryAfterMs ?? pauseMs;
  return new MirrorError(fields.length === 0 ? message : `${message}: ${fields.join(', ')}`, {
    ...rest,
    ambiguous: (status ?? 0) >= 500,
    ...(status === undefined ? {} : { status }),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
  });
}

function byStatus(status: number): Meaning {
  const known = BY_STATUS[status];
  if (known !== undefined) return known;
  if (status >= 500)
    return { message: 'Salesforce is in trouble', actor: 'remote', code: 'server-error', retry: 'later' };
  if (status >= 400) return REFUSED;
  return { message: 'unknown status', actor: 'contract', code: 'unexpected-status', retry: 'later' };
}
