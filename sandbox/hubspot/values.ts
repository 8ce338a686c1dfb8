import type { Property } from './property.ts';

/** Reason for a refused value, in the vendor's words. */
export interface ValueFault {
  code: string;
  message: string;
}

/** The stored form of a value, or the reason why the value is refused. */
export type ReadValue = { stored: string } | { fault: ValueFault };

/** Maximum length of one value in characters (developers.hubspot.com, properties). */
const MAX_LENGTH = 65_536;
const EMAIL = /^[^\s@<>()",;:]+@[^\s@.<>(),;:]+(\.[^\s@.<>(),;:]+)+$/;
const EPOCH_MS = /^-?\d{1,16}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** Reads a value that a client sent. An empty value clears a property of any type. */
export function readValue(property: Property, value: string): ReadValue {
  if (value === '') {
    return { stored: '' };
  }
  if (value.length > MAX_LENGTH) {
    return refuse('INVALID_LENGTH', `The value is longer than ${MAX_LENGTH} characters.`);
  }
  if (property.readOnly) {
    return refuse('READ_ONLY_VALUE', `"${property.name}" is a calculated property; its value cannot be set.`);
  }
  if (property.name === 'email') {
    return readEmail(value);
  }
  switch (property.type) {
    case 'number':
      return /^-?\d+(\.\d+)?$/.test(value)
        ? { stored: value }
        : refuse('INVALID_DOUBLE', `${value} was not a valid number.`);
    case 'date':
      return readDate(value);
    case 'datetime':
      return readInstant(value);
    case 'bool':
      return ['true', 'false'].includes(value) ? { stored: value } : notAnOption(property, value);
    case 'enumeration':
      return readOptions(property, value);
    default:
      return { stored: value };
  }
}

function readEmail(value: string): ReadValue {
  const email = value.trim();
  return EMAIL.test(email)
    ? { stored: email.toLowerCase() }
    : refuse('INVALID_EMAIL', `Email address ${value} is invalid`);
}

/** Reads a day as `YYYY-MM-DD` or as epoch ms at midnight UTC. */
function readDate(value: string): ReadValue {
  const text = EPOCH_MS.test(value) ? isoOf(Number(value)) : undefined;
  if (text !== undefined) {
    return text.endsWith('T00:00:00.000Z')
      ? { stored: text.slice(0, 10) }
      : refuse('INVALID_DATE', `${value} is at ${text.slice(11, -1)} UTC, not midnight!`);
  }
  return isDay(value) ? { stored: value } : refuse('INVALID_DATE', `${value} was not a valid date.`);
}

/** Reads an instant as epoch ms or ISO 8601 with an offset; stored in UTC. */
function readInstant(value: string): ReadValue {
  const isText = INSTANT.test(value) && isDay(value.slice(0, 10));
  const stored = isoOf(EPOCH_MS.test(value) ? Number(value) : isText ? Date.parse(value) : Number.NaN);
  return stored === undefined ? refuse('INVALID_LONG', `${value} was not a valid long.`) : { stored };
}

/** Decides whether a string is a valid day in the form `YYYY-MM-DD`. */
function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && isoOf(Date.parse(`${text}T00:00:00Z`))?.slice(0, 10) === text;
}

/** Returns ISO 8601 in UTC with a four-digit year; undefined if the time has no such form. */
function isoOf(atMs: number): string | undefined {
  const at = new Date(atMs);
  const text = Number.isNaN(at.getTime()) ? '' : at.toISOString();
  return /^\d{4}-/.test(text) ? text : undefined;
}

/** Reads one option, or several separated by semicolons for the field type `checkbox`. */
function readOptions(property: Property, value: string): ReadValue {
  if (property.externalOptions) {
    return /^\d+$/.test(value) ? { stored: value } : notAnOption(property, value);
  }
  const given = property.fieldType === 'checkbox' ? value.split(';').filter((each) => each !== '') : [value];
  const wrong = given.find((each) => !property.options.some((option) => option.value === each));
  return wrong === undefined ? { stored: given.join(';') } : notAnOption(property, wrong);
}

function notAnOption({ options }: Property, value: string): ReadValue {
  const allowed = options.map(
    (option) =>
      `label: "${option.label}"\nvalue: "${option.value}"\ndisplay_order: ${option.displayOrder}\nhidden: ${option.hidden}\nread_only: false\n`,
  );
  return refuse('INVALID_OPTION', `${value} was not one of the allowed options: [${allowed.join(', ')}]`);
}

function refuse(code: string, message: string): ReadValue {
  return { fault: { code, message } };
}
