import { ApiError, malformedBody, RowFailure } from './errors.ts';
import type { Field, FieldType, FieldValue } from './fields.ts';
import { toLongId } from './ids.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Stricter than the vendor: an instant requires an offset. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/;
const EMAIL = /^[^\s@<>(),;:"]+@[^\s@<>(),;:"]+\.[^\s@<>(),;:".]{2,}$/;
/** Whitespace that the org removes at both ends of a string; a no-break space remains. */
const SPACE_AROUND = /^[ \t\r\n]+|[ \t\r\n]+$/g;

/**
 * Converts a JSON value to the stored form: strings are trimmed, an empty string becomes null, and e-mail addresses become lower case if
 * `lowercaseEmails` is set. Throws ApiError 400 JSON_PARSER_ERROR, which refuses the whole request, for a value of the wrong JSON type.
 */
export function readValue(field: Field, value: unknown, lowercaseEmails: boolean): FieldValue {
  if (value === null) {
    return field.type === 'boolean' ? false : null;
  }
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? value : refuse(field.type, value);
    case 'int':
    case 'double':
    case 'currency':
      return typeof value === 'number' && Number.isFinite(value) ? value : refuse(field.type, value);
    case 'date':
      return typeof value === 'string' && DATE.test(value) && isDay(value) ? value : refuse(field.type, value);
    case 'datetime':
      return typeof value === 'string' ? (readInstant(value) ?? refuse(field.type, value)) : refuse(field.type, value);
    default:
      return readText(field, value, lowercaseEmails);
  }
}

/** Returns an instant in the vendor's form, `2027-03-01T09:00:00.000+0000`; undefined if `text` is no instant. */
export function readInstant(text: string): string | undefined {
  const atMs = INSTANT.test(text) ? Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2')) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : toInstant(Math.floor(atMs / 1000) * 1000);
}

/** Returns epoch ms in the vendor's form of an instant. */
export function toInstant(atMs: number): string {
  return new Date(atMs).toISOString().replace('Z', '+0000');
}

/** Returns the epoch ms of an instant in the vendor's form. */
export function fromInstant(text: string): number {
  return Date.parse(text.replace('+0000', 'Z'));
}

/** Checks a value against the type, length and picklist of one field. Throws RowFailure. */
export function checkValue(field: Field, value: FieldValue): void {
  if (typeof value !== 'string') {
    return;
  }
  if (field.type === 'reference') {
    if (toLongId(value) === undefined) {
      throw new RowFailure('MALFORMED_ID', `${field.label}: id value of incorrect type: ${value}`, [field.name]);
    }
    return;
  }
  if (field.length > 0 && [...value].length > field.length) {
    const message = `${field.label}: data value too large: ${value} (max length=${field.length})`;
    throw new RowFailure('STRING_TOO_LONG', message, [field.name]);
  }
  if (field.type === 'email' && !EMAIL.test(value)) {
    throw new RowFailure('INVALID_EMAIL_ADDRESS', `${field.label}: invalid email address: ${value}`, [field.name]);
  }
  if (field.restricted && !field.values.includes(value)) {
    const message = `${field.label}: bad value for restricted picklist field: ${value}`;
    throw new RowFailure('INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST', message, [field.name]);
  }
}

function readText(field: Field, value: unknown, lowercaseEmails: boolean): FieldValue {
  if (typeof value === 'object') {
    return refuse(field.type, value);
  }
  const trimmed = String(value).replace(SPACE_AROUND, '');
  if (trimmed === '') {
    return null;
  }
  if (field.type === 'reference') {
    return toLongId(trimmed) ?? trimmed;
  }
  return field.type === 'email' && lowercaseEmails ? trimmed.toLowerCase() : trimmed;
}

/** Decides whether a day exists, unlike 31 February. */
function isDay(date: string): boolean {
  const atMs = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(date);
}

function refuse(type: FieldType, value: unknown): never {
  if (typeof value === 'object') {
    throw new ApiError(400, 'INVALID_FIELD', `Cannot deserialize instance of ${type} from an object or list.`);
  }
  throw malformedBody(`Cannot deserialize instance of ${type} from value ${String(value)}`);
}
