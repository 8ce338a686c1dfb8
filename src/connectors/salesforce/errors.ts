import { MirrorError } from '../../model/errors.ts';
import type { WireAnswer } from '../wire.ts';
import { API_LIMIT_PAUSE_MS, NAMED_FIELDS } from './limits.ts';
import { KEY_AMBIGUOUS, type Meaning, meaningOfCode, meaningOfStatus, REFUSED, VERSION_RETIRED } from './meanings.ts';
import { type RowResult, refusalSchema } from './schemas.ts';

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
  const lines = refusalSchema.safeParse(body).data ?? [];
  const meaning = lines.map(({ errorCode }) => meaningOfCode(errorCode)).find((one) => one !== null);
  return made(meaning ?? meaningOfStatus(status), { status, retryAfterMs });
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
  const meanings = (errors ?? []).map(({ statusCode }) => meaningOfCode(statusCode));
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

/** Several records of ours carry one key; which of them counts is for a person to say. */
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
