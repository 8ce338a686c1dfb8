import { isDate, parseInstant, type Zone } from '../data/zone.ts';
import { badRequest } from '../rules/errors.ts';

/** Rows of a list's page when nobody says how many, and at most: a larger `limit` is served as this one. */
const DEFAULT_LIMIT = 50;
const LARGEST_LIMIT = 200;

/** Every value of one query parameter; none when it is absent. */
export function values(query: URLSearchParams, name: string): string[] | undefined {
  const all = query.getAll(name);
  return all.length === 0 ? undefined : all;
}

/** `offset` and `limit` of a list. Throws ClinicError 400. */
export function paging(query: URLSearchParams): { offset: number; limit: number } {
  const offset = wholeNumber(query, 'offset', 0, 0);
  return { offset, limit: Math.min(wholeNumber(query, 'limit', DEFAULT_LIMIT, 1), LARGEST_LIMIT) };
}

function wholeNumber(query: URLSearchParams, name: string, byDefault: number, minimum: number): number {
  const text = query.get(name);
  if (text === null) return byDefault;
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= minimum) return number;
  throw badRequest([{ field: name, message: `must be a whole number of at least ${minimum}` }]);
}

/** Epoch ms of a parameter that holds a date (its first instant) or an instant with offset. Throws ClinicError 400. */
export function moment(query: URLSearchParams, name: string, zone: Zone): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (isDate(text)) return zone.startOfDay(text);
  const instant = parseInstant(text);
  if (instant !== undefined) return instant;
  throw badRequest([{ field: name, message: 'must be a date or an ISO 8601 date-time with offset' }]);
}

/** The query of a request's address. */
export function queryOf(url: string): URLSearchParams {
  return new URL(url, 'http://sandbox').searchParams;
}
