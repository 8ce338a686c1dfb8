import { countTold, toldAt, totalHeader } from '../../clinic/http/answer-places.ts';
import { valueAt } from '../../clinic/http/rows.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { type Envelope, envelopeOf } from '../specification/match-envelope.ts';
import { UNTOLD } from '../specification/schemas.ts';
import type { QueryParameter } from '../specification/specification.ts';
import type { Asked, Asker, Told } from './asking.ts';
import { sampled } from './sampled.ts';

/** What is tried for the number of rows, for the first row and for a page, the likeliest first. */
const SIZES = ['limit', 'pageSize', 'page_size', 'per_page', 'perPage', 'size', 'take', 'top'];
const OFFSETS = ['offset', 'skip', 'start'];
const PAGES = ['page', 'pageNumber', 'page_number'];
const CURSORS = ['cursor', 'after', 'pageToken', 'page_token'];
/** Rows that are asked for to see whether fewer come. */
const FEW = 2;
const MANY = 1_000;

/** How a list was seen to page: the parameters that work, and how many rows come at most. */
export interface PagingSeen {
  query: QueryParameter[];
  envelope: Envelope;
  /** A `Link` header leads from page to page. */
  hasLinkHeader: boolean;
  /** All that can be asked for at once. */
  largest: readonly Asked[];
  /** As many rows as came at once. */
  rows: readonly unknown[];
  /** The answers that they came in. */
  bodies: readonly unknown[];
}

/** The rows of one answer. */
export interface RowsSeen {
  rows: unknown[];
  envelope: Envelope;
  body: unknown;
  linksNext: boolean;
  headers: Headers;
}

/** The rows of an answer, with what stands around them; null when there are none to find. */
export function rowsIn({ status, body, linksNext, headers }: Told, list: string): RowsSeen | null {
  const inBody = status >= 200 && status < 300 ? envelopeOf(sampled([body]), list) : null;
  if (inBody === null) return null;
  const envelope = { ...inBody, totalPath: inBody.totalPath ?? toldTotal(headers) };
  const rows = envelope.listPath === null ? body : valueAt(body, envelope.listPath);
  return Array.isArray(rows) ? { rows, envelope, body, linksNext, headers } : null;
}

/** A header that tells a total of rows. */
function toldTotal(headers: Headers): string | null {
  return totalHeader([...headers.keys()].filter((name) => countTold(headers.get(name)) !== null));
}

/** Finds out how the list of appointments pages, by asking for two rows at a time. Null without enough rows to tell. */
export async function probePaging(
  asker: Asker,
  base: readonly Asked[],
  profile: ClinicProfile,
): Promise<PagingSeen | null> {
  const ask = async (...more: Asked[]) => rowsIn(await asker.ask('appointments', [...base, ...more]), 'appointments');
  const first = await ask();
  if (first === null || first.rows.length <= FEW * 2) return null;
  const { envelope, rows } = first;
  const none = { query: [], envelope, hasLinkHeader: first.linksNext, largest: [], rows, bodies: [first.body] };
  const now = namesOf(profile);
  let size: string | null = null;
  for (const name of candidates(now, SIZES)) {
    if (size === null && (await ask([name, `${FEW}`]))?.rows.length === FEW) size = name;
  }
  if (size === null) return none;
  const few: Asked = [size, `${FEW}`];
  const hasLinkHeader = first.linksNext || (await ask(few))?.linksNext === true;
  const position = hasLinkHeader ? null : await probePosition(ask, few, now, rows);
  const cursor =
    hasLinkHeader || position !== null || envelope.cursorPath === null
      ? null
      : await probeCursor(ask, few, envelope, asker, base);
  const many = await ask([size, `${MANY}`]);
  const cap = many === null || many.rows.length >= MANY || !hasMore(many) ? null : many.rows.length;
  const found = [named(size, { maximum: cap }), ...[position, cursor].filter((one) => one !== null)];
  return {
    query: found,
    envelope,
    hasLinkHeader,
    largest: [[size, `${Math.min(MANY, cap ?? MANY)}`]],
    rows: many?.rows ?? rows,
    bodies: [first.body, many?.body ?? null],
  };
}

type Ask = (...more: Asked[]) => Promise<ReturnType<typeof rowsIn>>;

/** Two rows further on; what comes again unchanged is asked for twice, since some servers stumble once. */
async function probePosition(
  ask: Ask,
  few: Asked,
  now: readonly string[],
  rows: readonly unknown[],
): Promise<QueryParameter | null> {
  const second = rows.slice(FEW, FEW * 2);
  for (const [names, value] of [[OFFSETS, `${FEW}`] as const, [PAGES, '2'] as const]) {
    for (const name of candidates(now, names)) {
      for (const _try of [1, 2]) {
        const answer = await ask(few, [name, value]);
        if (same(answer?.rows, second)) return named(name, { minimum: names === PAGES ? 1 : 0 });
        // Pages that count from 0: the second is the third.
        if (names === PAGES && same(answer?.rows, rows.slice(FEW * 2, FEW * 3))) return named(name, { minimum: 0 });
      }
    }
  }
  return null;
}

async function probeCursor(
  ask: Ask,
  few: Asked,
  { cursorPath }: Envelope,
  asker: Asker,
  base: readonly Asked[],
): Promise<QueryParameter | null> {
  const { body } = await asker.ask('appointments', [...base, few]);
  const cursor = cursorPath === null ? null : valueAt(body, cursorPath);
  const first = await ask(few);
  if (typeof cursor !== 'string' && typeof cursor !== 'number') return null;
  for (const name of CURSORS) {
    const answer = await ask(few, [name, String(cursor)]);
    if (answer !== null && answer.rows.length > 0 && !same(answer.rows, first?.rows ?? [])) return named(name, {});
  }
  return null;
}

/** Whether a page tells that it is not all. */
function hasMore({ rows, envelope: { hasMorePath, totalPath }, body, linksNext, headers }: RowsSeen): boolean {
  const isTold = hasMorePath !== null && valueAt(body, hasMorePath) === true;
  return (
    linksNext || isTold || (totalPath !== null && (countTold(toldAt({ body, headers }, totalPath)) ?? 0) > rows.length)
  );
}

function named(name: string, more: Partial<QueryParameter>): QueryParameter {
  const usual = { required: false, schema: UNTOLD, several: null, minimum: null, maximum: null, default: null };
  return { name, ...usual, description: '', ...more };
}

/** The parameters that the profile names come first. */
function namesOf({ paging }: ClinicProfile): string[] {
  return Object.entries(paging).flatMap(([key, value]) =>
    key.endsWith('Parameter') && value !== null ? [String(value)] : [],
  );
}

function candidates(now: readonly string[], usual: readonly string[]): string[] {
  const isUsual = (name: string) => usual.some((one) => one.toLowerCase() === name.toLowerCase());
  return [...new Set([...now.filter(isUsual), ...usual])];
}

function same(rows: readonly unknown[] | undefined, others: readonly unknown[]): boolean {
  return rows !== undefined && rows.length > 0 && JSON.stringify(rows) === JSON.stringify(others);
}
