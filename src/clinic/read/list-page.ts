import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { isHtml, joinedBody, readJson } from '../../core/http/answer.ts';
import type { HttpResponse } from '../../core/http/client.ts';
import type { MirrorError } from '../../core/model/errors.ts';
import {
  afterSpace,
  MOST_UNSPLIT_BYTES,
  MOST_UNSPLIT_VALUES,
  parseJson,
  parseWithCost,
} from '../../core/model/json.ts';
import { objectsIn } from '../../core/model/json-list.ts';
import type { Pieces } from '../../core/model/pieces.ts';
import {
  followPath,
  ITSELF,
  isJsonObject,
  type JsonObject,
  listRoute,
  type PathStep,
  recordsAt,
} from '../../described-api/paths.ts';
import { message, type Text } from '../../messages/message.ts';
import { clinicError } from '../http/errors.ts';
import type { ReceivedPage } from '../http/paging.ts';
import type { ResourceName } from '../schema/resources.ts';

/** A cached page: its parsed content, with a body without rows. */
export interface CachedPage<Row> extends Omit<ReceivedPage<Row>, 'headers'> {
  /** The page's rows in stretches, if its bytes can be split. */
  stretches: readonly Stretch[];
}

/** Consecutive rows of a page. */
export interface Stretch {
  /** A digest of the rows' bytes. */
  name: string;
  /** Index of the first row, and of the row after the last. */
  from: number;
  to: number;
}

/** Result of mapping rows. */
type MadeRows<Row> = Pick<ReceivedPage<Row>, 'rows' | 'ids'>;

/** Returns the cached result of a stretch by its digest. */
export type CachedStretches<Row> = (name: string) => MadeRows<Row> | undefined;

/** Indexes the cached stretches of some pages. */
export function cachedStretches<Row>(pages: Iterable<CachedPage<Row>>): CachedStretches<Row> {
  const byName = new Map<string, Stretch & { page: CachedPage<Row> }>();
  for (const page of pages) for (const stretch of page.stretches) byName.set(stretch.name, { ...stretch, page });
  return (name) => {
    const found = byName.get(name);
    if (found === undefined) return undefined;
    const { page, from, to } = found;
    return { rows: page.rows.slice(from, to), ids: page.ids.slice(from, to) };
  };
}

/** How a list's answers become pages. */
export interface PageForm<Row> {
  label: string;
  list: ResourceName;
  /** Path of the list in the profile; null if not configured. */
  path: string | null;
  /** Maximum number of values in an answer. */
  mostValues: number;
  map(row: unknown): Row;
  idOf(row: unknown): string | null;
  /** Returns whether an answer without a list means an empty list. */
  isEmpty(answer: JsonObject): boolean;
}

/** Names of the list's member if the profile has no path; exactly one of them must contain an array. */
const USUAL_LIST_NAMES = ['data', 'items', 'results', 'value', '_items'];

/** A longer answer is always split into rows, so that no other tenant waits for its parser. */
const LONG_BYTES = 131_072;

/**
 * Converts an answer to a page.
 * @param cached null without cached pages
 * @throws MirrorError `contract`: the errors of {@link readJson}, and `not-a-list`
 */
export function* pageOf<Row>(
  received: Pick<HttpResponse, 'body' | 'headers' | 'parts'>,
  pageForm: PageForm<Row>,
  cached: CachedStretches<Row> | null,
): Pieces<CachedPage<Row>> {
  const form: CompiledForm<Row> = { ...pageForm, records: recordsAt(pageForm.path ?? ITSELF) };
  const answer = { headers: received.headers, body: yield* joinedBody(received) };
  const isLong = answer.body.length > LONG_BYTES;
  if (isLong || cached !== null) {
    const cut = yield* cutPage(answer, form, cached ?? (() => undefined));
    if (cut !== null) return cut;
  }
  const mostValues = isLong ? Math.min(form.mostValues, MOST_UNSPLIT_VALUES) : form.mostValues;
  const { body, rows } = unwrap(readJson(answer, form.label, mostValues, MOST_UNSPLIT_BYTES), form);
  return { body, ...madeOf(rows, form), stretches: [] };
}

interface CompiledForm<Row> extends PageForm<Row> {
  /** Returns the records in a list's elements. */
  records(elements: readonly unknown[]): readonly unknown[];
}

function madeOf<Row>(elements: readonly unknown[], { map, idOf, records }: CompiledForm<Row>): MadeRows<Row> {
  const rows = records(elements);
  return { rows: rows.map(map), ids: rows.map(idOf) };
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
/** Placeholder for removed rows. */
const CUT = 'clinic-mirror: cut';

/**
 * Converts an answer whose bytes can be split into rows: cached rows are neither parsed nor mapped. An inserted row shifts all later pages,
 * but nearly all of their rows are cached.
 * @returns null if the bytes cannot be split
 */
function* cutPage<Row>(
  answer: Pick<HttpResponse, 'body' | 'headers'>,
  form: CompiledForm<Row>,
  cached: CachedStretches<Row>,
): Pieces<CachedPage<Row> | null> {
  if (isHtml(answer) || !isUtf8(answer.body)) return null;
  const body = answer.body.subarray(answer.body.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0);
  const list = yield* objectsIn(body, pathOf(form, body), form.mostValues);
  if (list === null) return null;
  const [before, behind] = [body.subarray(0, list.from), body.subarray(list.to)];
  const around = parseJson(
    Buffer.concat([before, Buffer.from(JSON.stringify([CUT])), behind]),
    form.mostValues - list.values,
  );
  if (around === undefined) return null;
  const { body: envelope, rows: cut } = unwrap(around, form);
  // With a repeated member name, the parser must decide.
  if (cut.length !== 1 || cut[0] !== CUT) return null;
  const stretches = yield* stretchesIn(body, list.bounds);
  const made = stretches.map(({ name }) => cached(name));
  const unread = stretches.filter((_, index) => made[index] === undefined);
  const fresh = yield* freshRows(body, list.bounds, unread, form.mostValues);
  if (fresh === null) return null;
  const rows: Row[] = [];
  const ids: (string | null)[] = [];
  /** Positions of rows: elements that are no records have none. */
  const inRows: Stretch[] = [];
  let used = 0;
  for (const [index, { name, from, to }] of stretches.entries()) {
    const these = made[index] ?? madeOf(fresh.slice(used, used + to - from), form);
    if (made[index] === undefined) used += to - from;
    inRows.push({ name, from: rows.length, to: rows.length + these.rows.length });
    // The clinic decides the length of a stretch: too many arguments would overflow the stack.
    for (const row of these.rows) rows.push(row);
    for (const id of these.ids) ids.push(id);
    yield;
  }
  return { body: envelope, rows, ids, stretches: inRows };
}

const [LIST_OPENS, BETWEEN, LIST_CLOSES] = ['[', ',', ']'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

/** Parses the rows of some stretches; null for invalid or too costly JSON. A piece has {@link LONG_BYTES} or one stretch. */
function* freshRows(
  body: Buffer,
  bounds: readonly number[],
  stretches: readonly Stretch[],
  mostValues: number,
): Pieces<unknown[] | null> {
  const rows: unknown[] = [];
  let remaining = mostValues;
  let parts: Buffer[] = [LIST_OPENS];
  let bytes = 0;
  for (const [index, { from, to }] of stretches.entries()) {
    const part = body.subarray(bounds[2 * from], bounds[2 * to - 1]);
    parts.push(part);
    bytes += part.length;
    const isLast = index === stretches.length - 1;
    if (!isLast && bytes < LONG_BYTES) {
      parts.push(BETWEEN);
      continue;
    }
    const parsed = parseWithCost(Buffer.concat([...parts, LIST_CLOSES]), remaining);
    if (parsed === undefined) return null;
    for (const row of parsed.value as unknown[]) rows.push(row);
    remaining -= parsed.cost;
    [parts, bytes] = [[LIST_OPENS], 0];
    yield;
  }
  return rows;
}

/** Average number of rows in a stretch. */
const STRETCH = 8;
/** Rows after which a stretch ends in any case. */
const MOST_ROWS = 256;
/** Bytes of a row that decide whether it ends a stretch. */
const PROBES = 32;

/**
 * Splits a page's rows into stretches with ends that depend only on the rows, so that stretches are equal on shifted pages. A digest for
 * every row would need as much memory as the row.
 */
function* stretchesIn(body: Buffer, bounds: readonly number[]): Pieces<Stretch[]> {
  const stretches: Stretch[] = [];
  const count = bounds.length / 2;
  let from = 0;
  for (let row = 0; row < count; row += 1) {
    const [begin = 0, end = 0] = [bounds[2 * row], bounds[2 * row + 1]];
    const isFull = row - from >= MOST_ROWS || end - (bounds[2 * from] ?? 0) >= LONG_BYTES;
    if (row + 1 < count && !isFull && !endsStretch(body, begin, end)) continue;
    const name = hash('sha256', body.subarray(bounds[2 * from], end), 'binary');
    stretches.push({ name, from, to: row + 1 });
    from = row + 1;
    yield;
  }
  return stretches;
}

function endsStretch(body: Buffer, begin: number, end: number): boolean {
  const step = Math.ceil((end - begin) / PROBES);
  let mixed = 0;
  for (let at = begin; at < end; at += step) mixed = Math.imul(mixed, 31) + (body[at] ?? 0);
  return (mixed >>> 0) % STRETCH === 0;
}

/** Returns the possible names at each step of the path to the list. */
function pathOf({ path, list }: PageForm<unknown>, body: Buffer): string[][] {
  if (path === ITSELF || (path === null && body[afterSpace(body, 0)] === LIST)) return [];
  return path === null ? [[...USUAL_LIST_NAMES, list]] : listRoute(path).names.map((name) => [name]);
}

const LIST = '['.charCodeAt(0);

/**
 * Separates an answer from its list.
 * @returns the answer with an empty list, and the list's rows
 */
function unwrap(answer: unknown, form: PageForm<unknown>): { body: unknown; rows: unknown[] } {
  const { path, label } = form;
  if (Array.isArray(answer) && (path === null || path === ITSELF)) return { body: [], rows: answer };
  const names = path === null ? listNamesIn(answer, form) : listRoute(path).names;
  const holder = followPath(answer, stepsOf(names.slice(0, -1)));
  const name = names.at(-1) ?? '';
  const rows = isJsonObject(holder) ? (followPath(holder, stepsOf([name])) ?? null) : null;
  if (rows === null && isJsonObject(answer) && form.isEmpty(answer)) return { body: answer, rows: [] };
  if (!isJsonObject(holder) || !Array.isArray(rows)) {
    throw noList(label, message('clinic.not-a-list.path'));
  }
  holder[name] = [];
  return { body: answer, rows };
}

function stepsOf(names: readonly string[]): PathStep[] {
  return names.map((name) => ({ name }));
}

/** Returns the usual name of the list in an answer; none for an empty list without a member. */
function listNamesIn(answer: unknown, { list, label, isEmpty }: PageForm<unknown>): string[] {
  if (!isJsonObject(answer)) throw noList(label, message('clinic.not-a-list'));
  const found = [...new Set([...USUAL_LIST_NAMES, list])].filter((name) => Array.isArray(answer[name]));
  if (found.length === 1 || (found.length === 0 && isEmpty(answer))) return found;
  throw noList(label, message('clinic.not-a-list.several', { count: found.length }));
}

function noList(label: string, cause: Text): MirrorError {
  return clinicError('not-a-list', message('labelled', { label, cause }));
}
