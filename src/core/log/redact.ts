import { shown } from '../../messages/shown.ts';

const REDACTED = '[redacted]';
const DEEPEST = 8;
const LONGEST_LIST = 50;
const LONGEST_TEXT = 1_000;

/** Keys, without case and separators, whose values are never logged: credentials and personal data. */
const SECRET_KEY =
  /token|secret|passw|authori[sz]ation|cookie|credential|apikey|privatekey|assertion|verifier|username|keyfile/;
const PERSONAL_KEYS = new Set(
  [
    ['name', 'firstname', 'lastname', 'fullname', 'givenname', 'familyname', 'middlename', 'displayname', 'surname'],
    ['patient', 'patientname', 'doctor', 'doctorname', 'customer', 'attendees', 'organizer', 'subject'],
    ['title', 'summary', 'description', 'notes', 'note', 'comment', 'content', 'body', 'html', 'text'],
    ['email', 'mail', 'emailaddress', 'phone', 'phonenumber', 'mobile', 'mobilephone', 'telephone', 'fax'],
    ['address', 'street', 'location', 'birthdate', 'dateofbirth', 'birthplace', 'gender', 'taxcode', 'vatnumber'],
  ].flat(),
);

/** Endings of keys with times and numbers, such as `tokenExpiresAt`. */
const MEASURE = /(at|ms|seconds|count)$/;

/** Patterns of secrets and e-mail addresses inside other values. */
const TEXT_PATTERNS: readonly [pattern: RegExp, replacement: string][] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]+/gi, `$1 ${REDACTED}`],
  [/\beyJ[\w-]+\.[\w-]+(\.[\w-]*)?/g, REDACTED],
  [/\bcmt_[a-z0-9-]+_[\w-]{43}/g, REDACTED],
  [/:\/\/[^\s/@]*@/g, `://${REDACTED}@`],
  [/[?#][^\s"']*=[^\s"']*/g, `?${REDACTED}`],
  [/[^\s@<>"':/]+@[^\s@<>"'/]+\.[a-z]{2,}/gi, REDACTED],
];

/**
 * Redacts data for a log. Replaces values under keys for secrets or personal data at any depth. Removes tokens, query strings and e-mail
 * addresses from texts. Describes errors without their content, and bounds the size.
 */
export function redact(data: object): Record<string, unknown> {
  const copy = redactValue(data, 0);
  return typeof copy === 'object' && copy !== null && !Array.isArray(copy) ? { ...copy } : { data: copy };
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value, redactText);
  if (depth >= DEEPEST) return '[deep]';
  if (Array.isArray(value)) return redactList(value, depth);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map || value instanceof Set) return `[${value.size} entries]`;
  if ('toJSON' in value && typeof value.toJSON === 'function') return redactValue(value.toJSON(), depth + 1);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, redactEntry(key, inner, depth)]));
}

function redactList(values: readonly unknown[], depth: number): unknown[] {
  const shown = values.slice(0, LONGEST_LIST).map((value) => redactValue(value, depth + 1));
  const remaining = values.length - shown.length;
  return remaining === 0 ? shown : [...shown, `[${remaining} more]`];
}

function redactEntry(key: string, value: unknown, depth: number): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  const folded = key.toLowerCase().replaceAll(/[^a-z]/g, '');
  if (typeof value === 'number' && MEASURE.test(folded)) return value;
  if (SECRET_KEY.test(folded) || PERSONAL_KEYS.has(folded)) return REDACTED;
  return redactValue(value, depth + 1);
}

/** Removes secrets and e-mail addresses from a text, and cuts the text at 1,000 characters. */
function redactText(text: string): string {
  const cut = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
  return TEXT_PATTERNS.reduce((rest, [pattern, replacement]) => rest.replaceAll(pattern, replacement), shown(cut));
}

const DEEPEST_CAUSE = 4;
const CODE = /^[A-Za-z0-9_.-]{1,60}$/;

/**
 * Describes an error for a log. The message is included only for errors with an actor (MirrorError and similar classes with
 * constant messages). Any other error, including causes, is reduced to class, code and positions in the project's source, because the
 * message may contain bodies, names or URLs.
 */
function describeError(error: Error, redactText: (text: string) => string, depth = 0): Record<string, unknown> {
  const cause = depth < DEEPEST_CAUSE && error.cause instanceof Error ? error.cause : null;
  return {
    type: CODE.test(error.name) ? error.name : 'Error',
    ...(saysWhoMustAct(error) ? ownFields(error, redactText) : codeOf(error)),
    stack: framesOf(error),
    ...(cause === null ? {} : { cause: describeError(cause, redactText, depth + 1) }),
  };
}

/** Properties of an error with `actor` in addition to the message; the model's MirrorError has all properties. */
interface ActorError extends Error {
  actor: string;
  code: string;
  retry: string;
  status?: unknown;
  retryAfterMs?: unknown;
  ambiguous?: unknown;
}

function saysWhoMustAct(error: Error): error is ActorError {
  return ['actor', 'code', 'retry'].every((key) => typeof Reflect.get(error, key) === 'string');
}

function ownFields(error: ActorError, redactText: (text: string) => string): Record<string, unknown> {
  return {
    message: redactText(error.message),
    actor: error.actor,
    code: error.code,
    retry: error.retry,
    ...(typeof error.status === 'number' ? { status: error.status } : {}),
    ...(typeof error.retryAfterMs === 'number' ? { retryAfterMs: error.retryAfterMs } : {}),
    ...(error.ambiguous === true ? { ambiguous: true } : {}),
  };
}

function codeOf(error: Error): Record<string, unknown> {
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' && CODE.test(code) ? { code } : {};
}

/** Returns the stack frames without the header, which repeats the message. */
function framesOf(error: Error): string[] {
  const stack = (error.stack ?? '').replace(error.message, '');
  return stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^at .+:\d+:\d+\)?$/.test(line));
}
