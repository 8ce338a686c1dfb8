import type { Property } from './properties.ts';

/** Why a value was refused, in the vendor's words. */
export interface ValueFault {
  code: string;
  message: string;
}

/** A value as it is stored, or why it can't be. */
export type ReadValue = { stored: string } | { fault: ValueFault };

/** Most characters of one value (developers.hubspot.com, properties). */
const MAX_LENGTH = 65_536;
const EMAIL = /^[^\s@<>()",;:]+@[^\s@.<>(),;:]+(\.[^\s@.<>(),;:]+)+$/;
const DAY_MS = 86_400_000;

/** Reads a value that a client sent; an empty one clears the property, whatever its type. */
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

/** A day as `YYYY-MM-DD` or as epoch ms at midnight UTC. */
function readDate(value: string): ReadValue {
  const atMs = /^-?\d+$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(atMs) && Math.abs(atMs) < 8.64e15) {
    const at = new Date(atMs);
    return atMs % DAY_MS === 0
      ? { stored: at.toISOString().slice(0, 10) }
      : refuse('INVALID_DATE', `${value} is at ${at.toISOString().slice(11, -1)} UTC, not midnight!`);
  }
  const day = new Date(`${value}T00:00:00Z`);
  return /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(value)
    ? { stored: value }
    : refuse('INVALID_DATE', `${value} was not a valid date.`);
}

/** An instant as epoch ms or ISO 8601 with an offset; stored in UTC. */
function readInstant(value: string): ReadValue {
  const isText = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$/.test(value);
  const at = new Date(/^-?\d+$/.test(value) ? Number(value) : isText ? value : Number.NaN);
  return Number.isNaN(at.getTime())
    ? refuse('INVALID_LONG', `${value} was not a valid long.`)
    : { stored: at.toISOString() };
}

/** One option, or several by semicolons with the field type `checkbox`. */
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
