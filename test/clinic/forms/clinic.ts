import { createHash } from 'node:crypto';
import { addDays } from '../../../sandbox/clinic/data/zone.ts';
import type { HttpClient, HttpRequest, HttpResponse } from '../../../src/core/http/client.ts';
import { type EnvelopeForm, type Form, LISTS, type ListName, type PagingForm } from './form.ts';
import { zoneOf } from './meant.ts';
import { placeIn } from './profile.ts';
import { jsonOf, ofJson, putAt } from './row-form.ts';
import { idIn, statusPathOf, TENANT, type ToldLists, type ToldRow } from './told.ts';
import { userIn } from './user-form.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const OTHER_TENANTS = ['79', '80'];
export const BASE_URL = 'https://clinic.test';

/** A clinic in this process that speaks a form: what it holds, and how often it said that nothing was modified. */
export interface SpokenClinic {
  lists: ToldLists;
  notModified: number;
  /** Requested pages of appointments with a next page, according to the total. */
  followed: number;
  /** Rows that it told twice in one list. */
  toldTwice: number;
  /** Ids of the tombstones that its lists held. */
  stones: Set<string>;
  /** Why it could not take a write. */
  refusals: string[];
  http: HttpClient;
}

/** Starts to speak. Every third row comes twice where the form has rows come twice. */
export function speakIn(form: Form, lists: ToldLists): SpokenClinic {
  const clinic: SpokenClinic = {
    lists,
    notModified: 0,
    followed: 0,
    toldTwice: 0,
    stones: new Set(),
    refusals: [],
    http: {
      send: async (request) => answerTo(form, clinic, request),
      open: () => Promise.reject(new Error('nothing is opened here')),
      asFetch: () => () => Promise.reject(new Error('nothing is fetched here')),
    },
  };
  return clinic;
}

function answerTo(form: Form, clinic: SpokenClinic, request: HttpRequest): HttpResponse {
  const url = new URL(request.url);
  if (url.pathname.endsWith('/userinfo')) return answer(200, userIn(form.user, tenantIdsIn(form)));
  const [, , , tenant, list, id, step] = url.pathname.split('/').map(decodeURIComponent);
  const name = LISTS.find((one) => one === list);
  if (tenant !== String(idIn(form, TENANT)) || name === undefined) return answer(404, {});
  if (id === undefined) return listed(form, clinic, name, request);
  const index = clinic.lists[name].findIndex((one) => String(idIn(form, one.id)) === id);
  const told = clinic.lists[name][index];
  if (told === undefined) return answer(404, {});
  if (request.method !== 'PUT') return answer(200, wrapped(form.lists[name].record, told.row));
  const body = ofJson(String(request.body)) as Record<string, unknown>;
  const row = step === 'status' ? withStatus(form, told.row, body.status) : body;
  clinic.refusals.push(...otherKinds(told.row, row, ''));
  clinic.lists[name][index] = { ...told, row };
  return step === 'status' ? answer(204, null) : answer(200, wrapped(form.lists[name].record, row));
}

/** The tenants of the user, among them the one that is meant. */
export function tenantIdsIn(form: Form): (string | number | bigint)[] {
  const { others, isMeantLast } = form.user;
  const ids = OTHER_TENANTS.slice(0, others);
  return (isMeantLast ? [...ids, TENANT] : [TENANT, ...ids]).map((id) => idIn(form, id));
}

function withStatus(form: Form, row: Record<string, unknown>, status: unknown): Record<string, unknown> {
  const whole = structuredClone(row);
  putAt(whole, statusPathOf(form), status);
  return whole;
}

/** Values that are of another kind of JSON than before. */
function otherKinds(before: unknown, after: unknown, path: string): string[] {
  if (before === null || after === null || after === undefined || before === undefined) return [];
  if (typeof before !== typeof after) return [`${path} is a ${typeof after}`];
  if (typeof before !== 'object') return [];
  return Object.entries(before).flatMap(([name, value]) =>
    otherKinds(value, (after as Record<string, unknown>)[name], `${path}.${name}`),
  );
}

function listed(form: Form, clinic: SpokenClinic, name: ListName, request: HttpRequest): HttpResponse {
  const { searchParams: query } = new URL(request.url);
  const envelope = form.lists[name];
  const isAsked = name === 'appointments' ? filterOf(form, query) : () => true;
  if (isAsked === null) return answer(400, { error: 'window' });
  const fitting = clinic.lists[name].filter(isAsked);
  for (const { id, isTombstone } of fitting) if (isTombstone) clinic.stones.add(id);
  const rows = fitting.flatMap((told, index) => {
    return envelope.repeats !== 'unexpected' && index % 3 === 1 ? [told.row, told.row] : [told.row];
  });
  const total = envelope.repeats === 'counted-each' ? rows.length : fitting.length;
  const { headers, body, again, isFollowed } = paged(envelope, rows, { total, url: new URL(request.url) });
  clinic.toldTwice += again;
  if (name === 'appointments' && isFollowed) clinic.followed += 1;
  const covered = form.rows.etags.cover === 'body' ? body : { headers, body };
  const etag = `"${createHash('sha256').update(jsonOf(covered)).digest('base64url')}"`;
  if (form.hasEtags && request.headers?.['if-none-match'] === etag) {
    clinic.notModified += 1;
    return answer(304, null, form.rows.etags.areHeadersRepeated ? { ...headers, etag } : { etag });
  }
  return answer(200, body, form.hasEtags ? { ...headers, etag } : headers);
}

/** Returns the filter of a request; null if the request spans more days than the clinic allows, or none. */
function filterOf(form: Form, query: URLSearchParams): ((told: ToldRow) => boolean) | null {
  const { filters, agendas, maxDays } = form.window;
  const asked = query.getAll('cal').flatMap((value) => (agendas === 'comma' ? value.split(',') : [value]));
  const isOf = ({ agendaId }: ToldRow) => asked.length === 0 || asked.includes(String(idIn(form, agendaId ?? '')));
  if (filters === 'none') return isOf;
  const [fromAt, toAt] = [
    momentIn(form, query.get('begin') ?? '', false),
    momentIn(form, query.get('until') ?? '', true),
  ];
  const isTooLong = maxDays !== null && toAt - fromAt > maxDays * DAY_MS + HOUR_MS;
  if (!(fromAt < toAt) || isTooLong) return null;
  return (told) => {
    const isIn = filters === 'start' ? told.startAt >= fromAt : told.endAt > fromAt;
    return isIn && told.startAt < toAt && isOf(told);
  };
}

/** A time in a query parameter. */
function momentIn({ window, zone: name }: Form, text: string, isEnd: boolean): number {
  const zone = zoneOf(name);
  switch (window.format) {
    case 'date':
      return zone.startOfDay(isEnd && window.toIncluded ? addDays(text, 1) : text);
    case 'epoch-seconds':
      return Number(text) * 1_000;
    case 'epoch-ms':
      return Number(text);
    case 'utc':
    case 'offset':
      return Date.parse(text);
    default: {
      const [hour, minute, second] = text.slice(11).split(':').map(Number);
      return zone.at(text.slice(0, 10), hour ?? 0, minute) + (second ?? 0) * 1_000;
    }
  }
}

interface Asked {
  total: number;
  url: URL;
}

/** A page of rows, with all paging information of the form. */
function paged(envelope: EnvelopeForm, rows: object[], { total, url }: Asked) {
  const { paging } = envelope;
  const size = sizeOf(paging, url.searchParams, rows.length);
  const from = beginOf(paging, url.searchParams, size);
  const next = from + size < rows.length ? from + size : null;
  const told = new Map<string, unknown>();
  const tell = (name: 'more' | 'total' | 'cursor' | 'link', value: unknown) => told.set(placeIn(envelope, name), value);
  if (paging.end === 'has-more') tell('more', next !== null);
  if (paging.end === 'total') tell('total', paging.where === 'range' ? `items */${total}` : total);
  const headers: Record<string, string> = {};
  if (paging.style === 'cursor') tell('cursor', next === null ? none(paging) : `c${next}`);
  if (paging.style === 'link') tell('link', linkTo(envelope, url, next));
  if (paging.style === 'link-header' && next !== null) headers.link = `<${address(url, next)}>; rel="next"`;
  const page = rows.slice(from, from + size);
  const again = page.filter((row, index) => row === rows[from + index - 1]).length;
  let body: unknown = wrapped(envelope.list, page);
  for (const [place, value] of told) {
    if (!place.startsWith('header:'))
      body = { ...(body as object), page: { ...(body as { page?: object }).page, [place.slice(5)]: value } };
    else if (value !== undefined && value !== null) headers[place.slice(7)] = String(value);
  }
  // A total without repeated rows is reached before a page that holds only repeated rows.
  const [before, after] = [new Set(rows.slice(0, from + size)), rows.slice(from + size)];
  const isFollowed = envelope.repeats === 'counted-once' ? after.some((row) => !before.has(row)) : next !== null;
  return { headers, again, body, isFollowed };
}

function sizeOf(paging: PagingForm, query: URLSearchParams, all: number): number {
  if (paging.style === 'none') return all;
  const isSized = paging.isSized || paging.style === 'offset' || paging.style === 'page';
  return isSized ? Math.min(paging.size, Number(query.get('n') ?? paging.size)) : paging.size;
}

function beginOf({ style, startIndex }: PagingForm, query: URLSearchParams, size: number): number {
  if (style === 'offset') return Number(query.get('skip')) - startIndex;
  if (style === 'page') return (Number(query.get('p')) - startIndex) * size;
  return Number(query.get('after')?.slice(1) ?? 0);
}

function none({ none: form }: PagingForm): null | '' | undefined {
  if (form === 'missing') return undefined;
  return form === 'null' ? null : '';
}

function linkTo({ list, paging }: EnvelopeForm, url: URL, next: number | null): unknown {
  const isText = list === '.' || paging.where !== 'body';
  const link = isText && paging.link !== 'relative' ? 'text' : paging.link;
  const self = { rel: 'self', relation: 'self', href: url.href, url: url.href };
  if (next === null) return link === 'rel' || link === 'relation' ? [self] : none(paging);
  const to = address(url, next);
  switch (link) {
    case 'relative':
      return `?${new URL(to).searchParams}`;
    case 'href':
      return { href: to };
    case 'url':
      return { url: to };
    case 'rel':
      return [self, { rel: 'Next', href: to }];
    case 'relation':
      return [
        { relation: 'self', url: url.href },
        { relation: 'next', url: to },
      ];
    default:
      return to;
  }
}

function address(url: URL, next: number): string {
  const to = new URL(url);
  to.searchParams.set('after', `c${next}`);
  return to.href;
}

/** What an answer holds at a path, alone. */
function wrapped(path: string, value: unknown): unknown {
  if (path === '.') return value;
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
}

function answer(status: number, json: unknown, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: new Headers({ 'content-type': 'application/json', ...headers }),
    body: Buffer.from(json === null ? '' : jsonOf(json)),
    retryAfterMs: null,
  };
}
