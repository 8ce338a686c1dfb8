import { isHtml } from '../../core/http/answer.ts';
import type { HttpResponse } from '../../core/http/client.ts';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT } from '../../core/model/backoff.ts';
import { MirrorError, type MirrorErrorOptions } from '../../core/model/errors.ts';
import { parseJson } from '../../core/model/json.ts';
import { fieldNamesIn, textsAt } from '../../described-api/errors.ts';
import { isJsonObject, valueAt } from '../../described-api/paths.ts';
import { isCode, type Message, message, type Text } from '../../messages/message.ts';
import { OPERATIONS } from '../schema/operations.ts';
import type { ClinicProfile } from '../schema/profile.ts';

/** Format of an error code in a body; other text may be a sentence with a name. */
const MACHINE_WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,59}$/;

/** Content of an error body. */
interface ErrorBody {
  /** The error code, safe for a message. */
  word: string | null;
  /** All texts at the profile's paths, for decisions. */
  texts: string[];
  /** Names of invalid fields, safe for a message, never their values. */
  fields: string[];
  /** Texts for the caller: the error's text, then each field with its fault. */
  words: string[];
}

const MOST_FIELDS = 10;
/** Maximum number and length of kept texts of an answer, for display. */
const MOST_WORDS = 20;
const LONGEST_WORDS = 300;
/** Names of members in an error's detail with the field, and with the fault. */
const FIELD_NAMES = ['field', 'name', 'path', 'pointer', 'property', 'parameter'];
const FAULT_NAMES = ['message', 'detail', 'description', 'reason', 'error', 'title'];

/** A clinic profile and its file. */
interface ProfileSource {
  profile: ClinicProfile;
  profileFile: string;
}

/**
 * Returns the error of an unsuccessful answer (API errors: specification section 7.1; bodies by the profile's paths). The message contains
 * the call's label, the status and the body's error code. Other texts are only for the user who sent the request ({@link
 * MirrorError.vendorMessages}).
 * @param mayBeDone whether the call may have been completed despite the failure, and is unsafe to repeat
 */
export function errorFromAnswer(
  answer: HttpResponse,
  label: string,
  { profile, profileFile }: ProfileSource,
  mayBeDone = false,
): MirrorError {
  const reported = readErrorBody(answer, profile);
  const { status, retryAfterMs } = answer;
  const shown = reported.word === null ? status : `${status} (${reported.word})`;
  const fail = (code: ClinicErrorCode, what: Message, more: Partial<MirrorErrorOptions> = {}) => {
    const cause = message('with-status', { cause: what, status: shown });
    return clinicError(code, message('labelled', { label, cause }), { ...more, status, said: reported.words });
  };
  const unavailable = (ambiguous: boolean) =>
    fail('unavailable', message('clinic.unavailable'), {
      ambiguous,
      ...(retryAfterMs !== null && { retryAfterMs }),
    });
  // Like every refusal with 4xx, a temporary one had no effect.
  if (profile.errors.temporaryStatuses.includes(status)) return unavailable(false);
  const usual = USUAL_ERRORS[status];
  if (usual !== undefined) return fail(usual, message(`clinic.${usual}`));
  if (status === 403) {
    const { code, remedy } = forbidden(answer, label, reported, profile);
    return fail(code, message('clinic.forbidden'), { remedy });
  }
  if (status === 404 || status === 410) {
    return fail('not-found', message('clinic.not-found'), {
      remedy: message('clinic.check-address', { file: profileFile }),
    });
  }
  if (status === 422) return fail('rule-refused', named(message('clinic.rule-refused'), reported.fields));
  if (status === 429) {
    return fail('rate-limited', message('clinic.rate-limited'), {
      // A budget received the refusal, and determines the delay.
      retryAfterMs: Math.min(retryAfterMs ?? UNNAMED_WAIT.firstMs, LONGEST_RATE_LIMIT_WAIT_MS),
      ...(retryAfterMs === null && { growsToMs: UNNAMED_WAIT.longestMs }),
    });
  }
  if (status === 408 || status >= 500) return unavailable(mayBeDone);
  if (status >= 300 && status < 400) return fail('redirected', message('clinic.redirected'));
  const remedy =
    reported.fields.length > 0
      ? message('clinic.check-fields', { fields: reported.fields.join(', '), file: profileFile })
      : message('clinic.check-parameters', { file: profileFile });
  return fail('call-refused', named(message('clinic.call-refused'), reported.fields), { remedy });
}

/** Errors of statuses with one meaning for all calls. */
const USUAL_ERRORS: Readonly<Record<number, 'unasked-not-modified' | 'token-refused' | 'conflict'>> = {
  304: 'unasked-not-modified',
  401: 'token-refused',
  409: 'conflict',
};

/** Responsible party and retry rule by error code. */
const CLINIC_ERRORS = {
  'bad-record': { actor: 'contract', retry: 'later' },
  'bad-tenants': { actor: 'contract', retry: 'later' },
  'bad-value': { actor: 'contract', retry: 'never' },
  'call-refused': { actor: 'contract', retry: 'never' },
  conflict: { actor: 'conflict', retry: 'now' },
  'fate-unknown': { actor: 'remote', retry: 'never', ambiguous: true },
  'field-unmapped': { actor: 'settings', retry: 'never' },
  'file-changed': { actor: 'settings', retry: 'never' },
  'file-cut-short': { actor: 'remote', retry: 'later' },
  'file-needed': { actor: 'settings', retry: 'never' },
  'file-too-large': { actor: 'settings', retry: 'never' },
  'file-unusable': { actor: 'settings', retry: 'never' },
  forbidden: { actor: 'authorization', retry: 'never' },
  'foreign-link': { actor: 'contract', retry: 'never' },
  'incomplete-list': { actor: 'contract', retry: 'later' },
  'insufficient-permissions': { actor: 'authorization', retry: 'never' },
  'missing-claim': { actor: 'authorization', retry: 'never' },
  'no-such-field': { actor: 'settings', retry: 'never' },
  'not-a-list': { actor: 'contract', retry: 'later' },
  'not-a-record': { actor: 'contract', retry: 'later' },
  'not-found': { actor: 'settings', retry: 'never' },
  'out-of-sequence': { actor: 'conflict', retry: 'never' },
  'rate-limited': { actor: 'remote', retry: 'later' },
  'record-gone': { actor: 'conflict', retry: 'never' },
  'record-of-another': { actor: 'contract', retry: 'later' },
  redirected: { actor: 'settings', retry: 'later' },
  'rule-refused': { actor: 'contract', retry: 'never' },
  'status-unmapped': { actor: 'settings', retry: 'never' },
  'tenants-not-found': { actor: 'contract', retry: 'later' },
  'token-refused': { actor: 'authorization', retry: 'never' },
  'too-many-records': { actor: 'settings', retry: 'later' },
  'transition-refused': { actor: 'conflict', retry: 'never' },
  'unasked-not-modified': { actor: 'contract', retry: 'later' },
  unavailable: { actor: 'remote', retry: 'later' },
  'user-unknown': { actor: 'authorization', retry: 'never' },
  'word-unmapped': { actor: 'settings', retry: 'never' },
  'write-unshown': { actor: 'contract', retry: 'never', ambiguous: true },
  'wrong-record': { actor: 'contract', retry: 'later' },
} as const satisfies Record<string, Partial<MirrorErrorOptions>>;
type ClinicErrorCode = keyof typeof CLINIC_ERRORS;

/**
 * Creates an error with one of these codes.
 * @param more details from the caller
 */
export function clinicError(
  code: string & ClinicErrorCode,
  text: Text,
  more: Partial<MirrorErrorOptions> = {},
): MirrorError {
  return new MirrorError(text, { code, ...CLINIC_ERRORS[code], remedy: remedyOf(code), ...more });
}

function remedyOf(code: string): Message | undefined {
  const remedy = `clinic.${code}.remedy`;
  return isCode(remedy) ? { code: remedy } : undefined;
}

/** Returns whether an answer reports that a record does not exist. An HTML page proves this only if the profile trusts such pages. */
export function saysAbsent(answer: HttpResponse, profile: ClinicProfile): boolean {
  if (answer.status !== 404 && answer.status !== 410) return false;
  if (profile.errors.temporaryStatuses.includes(answer.status)) return false;
  return profile.errors.htmlMeansAbsent || !isHtml(answer);
}

/** Returns whether an answer reports that a new invoice is out of sequence in its section (specification section 8). */
export function saysOutOfSequence(answer: HttpResponse, profile: ClinicProfile): boolean {
  const { statuses, says: patterns } = profile.errors.outOfSequence;
  if (!statuses.includes(answer.status)) return false;
  return patterns.length === 0 || says(readErrorBody(answer, profile), patterns);
}

function named(cause: Message, fields: readonly string[]): Message {
  const names = fields.join(', ');
  if (fields.length === 0) return cause;
  return message(fields.length === 1 ? 'clinic.names-field' : 'clinic.names-fields', { cause, names });
}

function forbidden(
  answer: HttpResponse,
  label: string,
  reported: ErrorBody,
  profile: ClinicProfile,
): { code: ClinicErrorCode; remedy: Message } {
  const operation = OPERATIONS.find(({ name }) => `clinic.${name}` === label);
  if (says(reported, profile.errors.missingClaim)) {
    const usualScope = operation?.scope == null ? null : profile.scopePrefix + operation.scope;
    const scope = neededScope(answer) ?? usualScope;
    const remedy = scope === null ? message('clinic.grant-all') : message('clinic.grant-scope', { scope });
    return { code: 'missing-claim', remedy };
  }
  if (says(reported, profile.errors.insufficientPermissions)) {
    const remedy =
      operation === undefined
        ? message('clinic.give-permission')
        : message('clinic.give-permission-for', { operation: operation.name });
    return { code: 'insufficient-permissions', remedy };
  }
  return { code: 'forbidden', remedy: message('clinic.check-rights') };
}

/** Returns the scope that a call requires, if the answer contains a valid one (RFC 6750 section 3). */
function neededScope({ headers }: HttpResponse): string | null {
  return /\bscope="([\w.:/-]{1,100})"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? null;
}

function says(reported: ErrorBody, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const expression = new RegExp(pattern, 'i');
    return reported.texts.some((text) => expression.test(text));
  });
}

function readErrorBody(answer: HttpResponse, { errors }: ClinicProfile): ErrorBody {
  const body = parseJson(answer.body);
  const codes = textsAt(body, errors.codePaths);
  const texts = textsAt(body, errors.textPaths);
  const fields = errors.detailPaths.flatMap((path) => fieldNamesIn(valueAt(body, path)));
  // At the top level `path` is the called URL, with ids and possibly a tax code.
  const own = isJsonObject(body) ? fieldNamesIn([{ ...body, path: null }]) : [];
  const details = errors.detailPaths.flatMap((path) => detailsIn(valueAt(body, path)));
  return {
    word: codes.find((code) => MACHINE_WORD.test(code)) ?? null,
    texts: [...codes, ...texts],
    fields: [...new Set([...fields, ...own])].slice(0, MOST_FIELDS),
    words: wordsOf([...texts, ...details]),
  };
}

function wordsOf(texts: readonly string[]): string[] {
  const reported = texts.map((text) => text.trim().slice(0, LONGEST_WORDS)).filter((text) => text !== '');
  return reported.slice(0, MOST_WORDS);
}

/** Returns details of an error body in any usual form: objects with a field and a text, texts, or texts by field name. */
function detailsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(detailOf);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([field, said]) =>
    (Array.isArray(said) ? said : [said]).flatMap(detailOf).map((each) => `${field}: ${each}`),
  );
}

function detailOf(row: unknown): string[] {
  if (typeof row === 'string') return [row];
  if (!isJsonObject(row)) return [];
  const textAt = (names: string[]) =>
    names.map((name) => row[name]).find((each) => typeof each === 'string' && each !== '');
  const [field, fault] = [textAt(FIELD_NAMES), textAt(FAULT_NAMES)];
  if (fault === undefined) return [];
  return [field === undefined ? String(fault) : `${field}: ${fault}`];
}
