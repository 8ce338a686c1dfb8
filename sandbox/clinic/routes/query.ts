import type { FastifyRequest } from 'fastify';
import { isDate, parseInstant, type Zone } from '../data/zone.ts';
import type { LinkNames } from '../dialects/dialect.ts';
import { badRequest } from '../rules/errors.ts';
import { type ApiContext, resourceOf } from './context.ts';

/** Default and largest page size in rows; a larger request is reduced to the largest. */
export interface PageSizes {
  usual: number;
  largest: number;
}

/** The parameters of the documented pages. */
export const OFFSETS: LinkNames = { position: 'offset', size: 'limit' };

const NUMBERED_PAGE: PageSizes = { usual: 50, largest: 100 };

/** Every value of one query parameter; none when it is absent. */
export function values(query: URLSearchParams, name: string): string[] | undefined {
  const all = query.getAll(name);
  return all.length === 0 ? undefined : all;
}

/** `offset` and `limit` of a list. Throws ClinicError 400. */
export function paging(query: URLSearchParams, sizes: PageSizes): { offset: number; limit: number } {
  return listPaging(query, OFFSETS, sizes);
}

/** The same under names of a dialect's own. Throws ClinicError 400. */
export function listPaging(
  query: URLSearchParams,
  { position, size }: LinkNames,
  { usual, largest }: PageSizes,
): { offset: number; limit: number } {
  const offset = wholeNumber(query, position, 0, 0);
  return { offset, limit: Math.min(wholeNumber(query, size, usual, 1), largest) };
}

/** The same from `page` (the first is 1) and `pageSize`. Throws ClinicError 400. */
export function numberedPaging(query: URLSearchParams): { offset: number; limit: number } {
  const limit = Math.min(wholeNumber(query, 'pageSize', NUMBERED_PAGE.usual, 1), NUMBERED_PAGE.largest);
  return { offset: (wholeNumber(query, 'page', 1, 1) - 1) * limit, limit };
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

/** The query of a request in documented names. Throws ClinicError 400. */
export function queryOf({ dialect }: ApiContext, request: FastifyRequest): URLSearchParams {
  return dialect.query(rawQueryOf(request.url), resourceOf(request));
}

/** Returns the unchanged query of a URL. */
export function rawQueryOf(url: string): URLSearchParams {
  return new URL(url, 'http://sandbox').searchParams;
}
