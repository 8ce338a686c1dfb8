import type { HttpResponse } from '../../http/client.ts';
import { isHtml } from '../../http/json.ts';
import { MirrorError, type MirrorErrorOptions } from '../../model/errors.ts';
import { parseJson } from '../../model/json.ts';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT } from '../../model/rate-limits.ts';
import { OPERATIONS } from '../schema/operations.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { isJsonObject, valueAt } from './rows.ts';

/** What a machine word of an error body looks like; anything else might be a sentence with a name in it. */
const MACHINE_WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,59}$/;

/** What an error body says. */
interface Told {
  /** Its machine word, fit for a message. */
  word: string | null;
  /** Every text at the profile's paths, for decisions. */
  texts: string[];
  /** Names of the fields that it finds wrong, fit for a message: never their values. */
  fields: string[];
  /** What it says to whoever asked: its text, then each field with what is wrong with it. */
  words: string[];
}

/** Words of one answer that are kept, and how long each may be: a person reads them. */
const MOST_WORDS = 20;
const LONGEST_WORDS = 300;
/** How the members of an error's detail are called that name its field, and that say what is wrong with it. */
const FIELD_NAMES = ['field', 'name', 'path', 'pointer', 'property', 'parameter'];
const FAULT_NAMES = ['message', 'detail', 'description', 'reason', 'error', 'title'];

/** A clinic profile, and where it is written. */
interface ProfilePlace {
  profile: ClinicProfile;
  profileFile: string;
}

/**
 * The error for an answer that is not a success (API errors: specification section 7.1; bodies by the profile's paths).
 * @param mayBeDone a call that is not safe to repeat and may have been carried out although the answer tells of failure
 * Its message holds the call's label, the status and the body's machine word; what else the body says is for the person who asked
 * alone ({@link MirrorError.told}).
 */
export function errorFromAnswer(
  answer: HttpResponse,
  label: string,
  { profile, profileFile }: ProfilePlace,
  mayBeDone = false,
): MirrorError {
  const told = readErrorBody(answer, profile);
  const word = told.word === null ? '' : ` (${told.word})`;
  const fail = (what: string, options: Omit<MirrorErrorOptions, 'status'>) =>
    new MirrorError(`${label}: ${what}, status ${answer.status}${word}`, {
      ...options,
      status: answer.status,
      said: told.words,
    });

  switch (answer.status) {
    case 304:
      return fail('the clinic says that nothing was modified, which nobody asked', {
        actor: 'contract',
        code: 'unasked-not-modified',
        retry: 'later',
        remedy: 'look whether a cache or proxy stands before the clinic, and have it left out',
      });
    case 401:
      return fail('the clinic refuses the access token, also a fresh one', {
        actor: 'authorization',
        code: 'token-refused',
        retry: 'never',
        remedy: 'connect the clinic again',
      });
    case 403:
      return fail('the clinic forbids the call', {
        actor: 'authorization',
        retry: 'never',
        ...forbidden(answer, label, told, profile),
      });
    case 404:
    case 410:
      return fail('the clinic knows no such address', {
        actor: 'settings',
        code: 'not-found',
        retry: 'never',
        remedy: `check baseUrl of the clinic client in clinic-mirror.yaml, pathPrefix in ${profileFile}, and the tenant’s clinic.tenantId`,
      });
    case 409:
      return fail('the clinic’s state does not allow the call, or has changed meanwhile', {
        actor: 'conflict',
        code: 'conflict',
        retry: 'now',
      });
    case 422:
      return fail(`a rule of the clinic refuses the call${named(told.fields)}`, {
        actor: 'contract',
        code: 'rule-refused',
        retry: 'never',
      });
    case 429:
      return fail('the clinic asks to slow down', {
        actor: 'remote',
        code: 'rate-limited',
        retry: 'later',
        // Where there is a budget, it was told, and knows how long to wait.
        retryAfterMs: Math.min(answer.retryAfterMs ?? UNNAMED_WAIT.firstMs, LONGEST_RATE_LIMIT_WAIT_MS),
        ...(answer.retryAfterMs === null ? { growsToMs: UNNAMED_WAIT.longestMs } : {}),
      });
    default:
      return otherStatus(answer, fail, mayBeDone, { fields: told.fields, profileFile });
  }
}

/** Whether an answer to a call for one record says that there is none. An HTML page says so only if the profile trusts it. */
export function saysAbsent(answer: HttpResponse, profile: ClinicProfile): boolean {
  if (answer.status !== 404 && answer.status !== 410) return false;
  return profile.errors.htmlMeansAbsent || !isHtml(answer);
}

/** Whether an answer to a new invoice says that it is not the next of its section (specification section 8). */
export function saysOutOfSequence(answer: HttpResponse, profile: ClinicProfile): boolean {
  const { statuses, says: patterns } = profile.errors.outOfSequence;
  if (!statuses.includes(answer.status)) return false;
  return patterns.length === 0 || says(readErrorBody(answer, profile), patterns);
}

function otherStatus(
  answer: HttpResponse,
  fail: (what: string, options: Omit<MirrorErrorOptions, 'status'>) => MirrorError,
  ambiguous: boolean,
  { fields, profileFile }: { fields: readonly string[]; profileFile: string },
): MirrorError {
  if (answer.status === 408 || answer.status >= 500) {
    return fail('the clinic is not able to answer', {
      actor: 'remote',
      code: 'unavailable',
      retry: 'later',
      ambiguous,
      ...(answer.retryAfterMs === null ? {} : { retryAfterMs: answer.retryAfterMs }),
    });
  }
  if (answer.status >= 300 && answer.status < 400) {
    return fail('the clinic sends elsewhere', {
      actor: 'settings',
      code: 'redirected',
      retry: 'later',
      remedy: 'check the base URL: no redirect is followed',
    });
  }
  return fail(`the clinic does not accept the call${named(fields)}`, {
    actor: 'contract',
    code: 'call-refused',
    retry: 'never',
    remedy:
      fields.length > 0
        ? `check what is sent as ${fields.join(', ')}: its name, form and value, and where ${profileFile} has it`
        : `check paging.size, maxDays, date format and parameter names in ${profileFile}`,
  });
}

function named(fields: readonly string[]): string {
  return fields.length === 0 ? '' : `; it names the ${fields.length === 1 ? 'field' : 'fields'} ${fields.join(', ')}`;
}

function forbidden(
  answer: HttpResponse,
  label: string,
  told: Told,
  profile: ClinicProfile,
): Pick<MirrorErrorOptions, 'code' | 'remedy'> {
  const operation = OPERATIONS.find(({ name }) => `clinic.${name}` === label);
  if (says(told, profile.errors.missingClaim)) {
    const known = operation?.scope == null ? null : profile.scopePrefix + operation.scope;
    const scope = neededScope(answer) ?? known;
    const what = scope === null ? 'every scope that is asked for' : `the scope ${scope}`;
    return { code: 'missing-claim', remedy: `connect the clinic again and grant ${what}` };
  }
  if (says(told, profile.errors.insufficientPermissions)) {
    const permission = operation === undefined ? 'the permission' : `the permission for ${operation.name}`;
    return { code: 'insufficient-permissions', remedy: `have the clinic give the connected user ${permission}` };
  }
  return { code: 'forbidden', remedy: 'check the scopes of the connection and the permissions of its user' };
}

/** The scope that a call needs, where the answer tells it (RFC 6750 section 3) and it looks like one. */
function neededScope({ headers }: HttpResponse): string | null {
  return /\bscope="([\w.:/-]{1,100})"/.exec(headers.get('www-authenticate') ?? '')?.[1] ?? null;
}

function says(told: Told, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const expression = new RegExp(pattern, 'i');
    return told.texts.some((text) => expression.test(text));
  });
}

function readErrorBody(answer: HttpResponse, { errors }: ClinicProfile): Told {
  const body = parseJson(answer.body);
  const textsAt = (paths: readonly string[]) =>
    paths.map((path) => valueAt(body, path)).filter((value) => typeof value === 'string');
  const codes = textsAt(errors.codePaths);
  const texts = textsAt(errors.textPaths);
  const fields = errors.detailPaths.flatMap((path) => fieldsIn(valueAt(body, path)));
  // Of the whole body, `path` is the address that was called, with ids and maybe a tax code in it.
  const own = isJsonObject(body) ? fieldsIn([{ ...body, path: null }]) : [];
  const details = errors.detailPaths.flatMap((path) => detailsIn(valueAt(body, path)));
  return {
    word: codes.find((code) => MACHINE_WORD.test(code)) ?? null,
    texts: [...codes, ...texts],
    fields: [...new Set([...fields, ...own])].slice(0, MOST_FIELDS),
    words: wordsOf([...texts, ...details]),
  };
}

function wordsOf(texts: readonly string[]): string[] {
  const told = texts.map((text) => text.trim().slice(0, LONGEST_WORDS)).filter((text) => text !== '');
  return told.slice(0, MOST_WORDS);
}

/** Details of an error body in any of the usual forms: rows with a field and a text, texts, or texts under their fields' names. */
function detailsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(detailOf);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([field, said]) =>
    (Array.isArray(said) ? said : [said]).flatMap(detailOf).map((each) => `${field}: ${each}`),
  );
}

/** Names of fields in an error's detail: `start`, `/slot/start`, `$.start`, `["body", "start"]`. */
function fieldsIn(value: unknown): string[] {
  if (isJsonObject(value)) return Object.keys(value).flatMap(fieldName);
  if (!Array.isArray(value)) return [];
  return value.filter(isJsonObject).flatMap((row) => {
    const told = NAMES_OF_FIELDS.map((name) => row[name]).find((each) => each !== undefined && each !== null);
    return fieldName(told ?? row.loc);
  });
}

/** What the name of a field looks like; a name of two words, or a number, may be a value. */
const FIELD =
  /^[A-Za-z_][A-Za-z0-9_]{0,39}(?:(?:\.\d{1,3})?(?:\.|\[\]\.?|\[\d{1,3}\]\.?)[A-Za-z_][A-Za-z0-9_]{0,39}){0,5}$/;
const MOST_FIELDS = 10;
/** Members whose values are names of fields alone: `name` may be anybody's. */
const NAMES_OF_FIELDS = FIELD_NAMES.filter((name) => name !== 'name');

function fieldName(told: unknown): string[] {
  const parts = Array.isArray(told) ? told.filter((part) => !['body', 'query', 'path'].includes(String(part))) : [told];
  const text = parts.every((part) => typeof part === 'string' || typeof part === 'number') ? parts.join('.') : '';
  const name = text.replace(/^\$\./, '').replace(/^#?\//, '').replaceAll('/', '.');
  return FIELD.test(name) ? [name] : [];
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
