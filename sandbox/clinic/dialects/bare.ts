import type { Zone } from '../data/zone.ts';
import type { ClinicError } from '../rules/errors.ts';
import type { Dialect, ErrorAnswer } from './dialect.ts';
import { documented } from './documented.ts';
import { isTimeName, mapMembers, withOffset, withoutOffset } from './fields.ts';

/** More rows than any list has. */
const EVERYTHING = 1_000_000_000;

/** Arrays without paging, filters or change times; ids are numbers, times local without offset, errors `{Message}`. */
export function bare(zone: Zone): Dialect {
  return {
    ...documented(),
    name: 'bare',
    upload: { multipart: false, base64: true, filePart: 'file', metadata: 'fields' },
    query: (query, resource) => (resource === 'availabilities' ? withOffsets(query, zone) : new URLSearchParams()),
    paging: () => ({ offset: 0, limit: EVERYTHING }),
    list: ({ data }) => data,
    record: (value) => mapMembers(value, toWire),
    body: (value) => mapMembers(value, (name, inner) => [name, asDocumented(name, inner, zone)]),
    error: errorAnswer,
  };
}

function toWire(name: string, value: unknown): [string, unknown] | undefined {
  if (name === 'createdAt' || name === 'updatedAt') return undefined;
  if (isIdName(name) && typeof value === 'string' && /^\d+$/.test(value)) return [name, Number(value)];
  return [name, isTimeName(name) ? withoutOffset(value) : value];
}

function asDocumented(name: string, value: unknown, zone: Zone): unknown {
  if (isIdName(name) && typeof value === 'number') return String(value);
  return isTimeName(name) ? withOffset(value, zone) : value;
}

function isIdName(name: string): boolean {
  return name === 'id' || (name.endsWith('Id') && name !== 'externalId');
}

function withOffsets(query: URLSearchParams, zone: Zone): URLSearchParams {
  const read = new URLSearchParams();
  for (const [name, value] of query) read.append(name, String(withOffset(value, zone)));
  return read;
}

function errorAnswer(error: ClinicError): ErrorAnswer {
  const fields = (error.details ?? []).map(({ field, message }) => `${field} ${message}`);
  const body = error.status === 404 ? undefined : { Message: [textOf(error), ...fields].join('; ') };
  return { body, contentType: 'application/json', headers: error.headers };
}

function textOf({ code, message }: ClinicError): string {
  if (code === 'missing_claim') return `The scope is required: ${message}`;
  if (code === 'insufficient_permissions') return `You are not permitted to do this: ${message}`;
  return message;
}
