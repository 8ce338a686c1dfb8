import type { HttpResponse } from '../../core/http/client.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import { MOST_VALUES } from '../../core/model/json.ts';
import type { Appointment, InvalidRow } from '../../core/model/records.ts';
import { countEach, type PartialReason, type Snapshot } from '../../core/model/snapshots.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import { isShownByRows } from '../../described-api/answers.ts';
import { isJsonObject } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import { addressOf, addressOfLink, type ClinicCall, type ClinicContext, send } from '../http/call.ts';
import { clinicError } from '../http/errors.ts';
import {
  hasRoom,
  isPassing,
  type Page,
  type PagesSeen,
  type PageTarget,
  type PagingMemory,
  type ReceivedPage,
  readPages,
} from '../http/paging.ts';
import { asId, compilePaths, type Mapped, type RowMapper } from '../http/rows.ts';
import { isNested, type Shape } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { RESOURCES, type ResourceName } from '../schema/resources.ts';
import type { Gathered, RowsOfPage } from './gathering.ts';
import { type PageForm, pageOf } from './list-page.ts';
import { anyRaised } from './raised-flags.ts';
import { isForeign, ofTenant, segmentsOf } from './reading.ts';
import type { PageMemory } from './reading-memory.ts';

/** One page of a catalogue: its records, and the unusable rows. */
export interface ListPage<Model> {
  records: Model[];
  unusable: InvalidRow[];
  /** Names of unreadable fields, which are treated as absent, once per value. */
  unread?: readonly string[];
}

/** One list call. */
export interface ListCall {
  list: ResourceName;
  tenantId: string;
  /** Parameters in addition to those of paging. */
  parameters: [name: string, value: string][];
  /** For a list with a special URL: the path after the tenant, and the operation's name. */
  route?: { segments: readonly string[]; operation: string };
  signal: AbortSignal;
  onRequest?: () => void;
  /** Page sizes of a read with several calls, filled during the read. */
  pageSizes?: number[];
  /** Number of rows in other calls of the read, which count towards the same limit. */
  rowsOfOthers?: () => number;
}

/**
 * Returns whether the calls of a list may run at the same time: each must prove its end alone. Where the size of a page is evidence, a call
 * needs the sizes of the earlier ones.
 */
export function mayReadAtOnce(context: ClinicContext, list: ResourceName): boolean {
  const { style } = context.profile[list].paging ?? context.profile.paging;
  if (style === 'none') return false;
  return style === 'offset-limit' || style === 'page-size' || pagingMemoryOf(context, list).next === 'seen';
}

function pagingMemoryOf({ pagings }: ClinicContext, list: ResourceName): PagingMemory {
  const memory = pagings.get(list) ?? { next: 'unseen' };
  pagings.set(list, memory);
  return memory;
}

/**
 * Manually maintained lists that only provide names. A full page proves nothing against their end: the cycle of a clinic with ten agendas
 * must continue.
 */
const NAMES: ReadonlySet<ResourceName> = new Set([
  'locations',
  'agendas',
  'treatments',
  'priceLists',
  'sections',
  'issuers',
]);

/** Minimum bytes per value of a row: a larger maximum answer allows more values. */
const LEAST_VALUE_BYTES = 32;

/** A memory without pages. */
const NO_PAGES: PageMemory<never> = {
  etagOf: () => null,
  unmodified: () => null,
  page: (_url, _answer, make) => make(null),
  maySkip: () => {},
};
const NOT_MODIFIED = 304;
/**
 * Reads the pages of one list call.
 * @param map converts the clinic's row
 * @param memory cached pages
 */
export function readList<Row>(
  context: ClinicContext,
  call: ListCall,
  map: (row: unknown) => Row,
  memory: PageMemory<Row> = NO_PAGES,
): AsyncGenerator<Page<Row>, void> {
  const { profile } = context;
  const label = labelOf(call);
  const parameters = [...Object.entries(profile[call.list].query), ...call.parameters];
  const segments = pathOf(profile, call);
  const { repeats } = profile[call.list];
  const paging = profile[call.list].paging ?? profile.paging;
  const form = formOf(profile, call, map);
  let url = addressOf(context, segments, parameters);
  const seen: PagesSeen = { pages: 0, fullest: 0 };
  const { pageSizes = [], rowsOfOthers = () => 0 } = call;
  /** Records that the previous page has a successor. */
  let follow = () => {};

  async function load(target: PageTarget): Promise<ReceivedPage<Row>> {
    follow();
    follow = () => {};
    const page = await loadPage(target);
    requireFewRecords(context, label, rowsIn(pageSizes) + rowsOfOthers() + page.rows.length);
    seen.pages += 1;
    seen.fullest = Math.max(seen.fullest, page.rows.length);
    return page;
  }
  async function loadPage(target: PageTarget): Promise<ReceivedPage<Row>> {
    url = urlOf(target);
    const ifNoneMatch = memory.etagOf(url);
    const answer = await ask({
      ...(ifNoneMatch !== null && { ifNoneMatch }),
      accepts: ({ status }) => status === NOT_MODIFIED,
    });
    if (answer.status !== NOT_MODIFIED) return received(answer);
    // An unrequested 304, or a 304 for a deleted page, must not confirm earlier content: request the page again.
    return (ifNoneMatch === null ? null : memory.unmodified(url, answer.headers)) ?? (await received(await ask({})));
  }
  function ask(rest: Pick<ClinicCall, 'ifNoneMatch' | 'accepts'>): Promise<HttpResponse> {
    const { signal, onRequest } = call;
    return send(context, { label, url, signal, ...(onRequest && { onRequest }), ...rest });
  }
  async function received(answer: HttpResponse): Promise<ReceivedPage<Row>> {
    const { headers } = answer;
    const pieces = memory.page(url, answer, (cached) => pageOf(answer, form, cached));
    const page = await inPieces(pieces, call.signal).finally(() => answer.parts?.release());
    const [address, room] = [url, hasRoom(paging, { ...seen, pages: seen.pages + 1 }, page.rows.length)];
    const allow = (isFollowed: boolean) => {
      if (isShownByRows(paging, headers, { isFollowed, hasRoom: room })) memory.maySkip(address, headers);
    };
    allow(false);
    follow = () => allow(true);
    return { ...page, headers, url };
  }
  function urlOf(target: PageTarget): string {
    if ('link' in target) return addressOfLink(context, target.link, url, label);
    return addressOf(context, segments, [...parameters, ...target.parameters]);
  }
  return readPages({
    paging,
    repeats,
    maxPages: profile.limits.maxPages,
    memory: pagingMemoryOf(context, call.list),
    ...{ pageSizes, counted: memory.counted, load },
  });
}

function pathOf(profile: ClinicProfile, call: ListCall): string[] {
  return call.route === undefined ? segmentsOf(profile, call) : ['tenants', call.tenantId, ...call.route.segments];
}

function formOf<Row>(profile: ClinicProfile, call: ListCall, map: (row: unknown) => Row): PageForm<Row> {
  const { list } = call;
  return {
    ...{ label: labelOf(call), list, map, idOf: rowIdentity(profile, list) },
    path: profile[list].listPath ?? profile.listPath,
    mostValues: Math.max(MOST_VALUES, profile.limits.maxAnswerBytes / LEAST_VALUE_BYTES),
    isEmpty: anyRaised(profile.emptyListFlags),
  };
}

/** Returns the number of rows in pages of these sizes. */
export function rowsIn(pageSizes: readonly number[]): number {
  return pageSizes.reduce((sum, size) => sum + size, 0);
}

/** @throws MirrorError `settings`, code `too-many-records`, before the rows of the last page are added to those of the earlier pages */
function requireFewRecords({ profile, profileFile }: ClinicContext, label: string, rows: number): void {
  const most = profile.limits.maxRecords;
  if (rows <= most) return;
  const remedy = message('clinic.too-many-records.raise', { file: profileFile });
  throw clinicError('too-many-records', message('clinic.too-many-records', { label, most }), { remedy });
}

/** Returns a row's identity: its id, or otherwise its required fields. */
function rowIdentity(profile: ClinicProfile, list: ResourceName): (row: unknown) => string | null {
  const fields = profile[list].fields as Record<string, readonly string[]>;
  const readers = identifying(list).map((name) => compilePaths(fields[name] ?? []));
  return (row) => {
    const parts = isJsonObject(row) ? readers.map((read) => asId(read(row))) : [null];
    if (parts.includes(null)) return null;
    // Return the record's own text: a copy would need memory for every row.
    return parts.length === 1 ? (parts[0] ?? null) : JSON.stringify(parts);
  };
}

/** Returns the names of fields that identify a list's records. */
function identifying(list: ResourceName): string[] {
  const shape: Shape = RESOURCES[list];
  if ('id' in shape) return ['id'];
  return Object.entries(shape).flatMap(([name, one]) => (!isNested(one) && one.needed ? [name] : []));
}

/**
 * Yields a catalogue's pages as records, each id once. An iteration that ends without an error is complete: a list that changes during the
 * read is read again as often as the profile allows, and then yields only new records.
 * @throws MirrorError `contract`, code `incomplete-list`, if the end of the list is unproven
 */
export async function* readCatalogue<Model extends object>(
  context: ClinicContext,
  call: ListCall,
  map: RowMapper<Model>,
): AsyncGenerator<ListPage<Model>, void> {
  const label = labelOf(call);
  const mapOwn = ofTenant(context.profile, call, map);
  const yielded = new Set<string>();
  const names = identifying(call.list);
  const identify = (record: object) => JSON.stringify(names.map((name) => (record as Record<string, unknown>)[name]));
  let reason: PartialReason | null = null;
  let repeated = 0;
  for (let reading = 0; reading <= context.profile.limits.rereads; reading += 1) {
    [reason, repeated] = [null, 0];
    for await (const page of readList(context, call, mapOwn)) {
      repeated += page.repeated;
      yield notYielded(page.rows, yielded, identify);
      if (page.end !== null && !page.end.proved) reason = page.end.reason;
    }
    if (reason === null && repeated > 0)
      context.log.info({ label, repeated }, 'list repeated records, as in the profile');
    if (reason === null || (reason === 'full-page' && NAMES.has(call.list))) return;
    context.log.info({ label, reason, reading }, 'list was incomplete');
    if (!isPassing(reason)) break;
  }
  const remedy = message('clinic.incomplete-list.check', { file: context.profileFile });
  throw clinicError('incomplete-list', message('clinic.incomplete-list', { label, reason: String(reason) }), {
    remedy,
  });
}

function notYielded<Model extends object>(
  rows: readonly Mapped<Model>[],
  yielded: Set<string>,
  identify: (record: Model) => string,
): ListPage<Model> {
  const unread: string[] = [];
  const page: ListPage<Model> = { records: [], unusable: [], unread };
  for (const row of rows) {
    const id = 'record' in row ? identify(row.record) : keyOfInvalidRow(row.unusable);
    if (id !== null && yielded.has(id)) continue;
    if (id !== null) yielded.add(id);
    if ('record' in row) {
      page.records.push(row.record);
      unread.push(...(row.unread ?? []));
    } else page.unusable.push(row.unusable);
  }
  return page;
}

function labelOf({ list, route }: ListCall): string {
  return `clinic.${route?.operation ?? `${list}.list`}`;
}

function keyOfInvalidRow({ recordId }: InvalidRow): string | null {
  return recordId === null ? null : JSON.stringify([recordId]);
}

/**
 * Reads a list as a snapshot, with its unusable rows.
 * @returns a partial snapshot if the end of the list is unproven
 */
export async function readWhole<Model extends { id: string }>(
  list: (signal: AbortSignal) => AsyncIterable<ListPage<Model>>,
  signal: AbortSignal,
): Promise<Snapshot<Model>> {
  const records = new Map<string, Model>();
  const invalidRows: InvalidRow[] = [];
  const unread: string[] = [];
  const content = () => ({
    records,
    unusable: invalidRows,
    unread: countEach(unread),
    unidentified: invalidRows.filter(({ recordId }) => recordId === null).length,
  });
  try {
    for await (const page of list(signal)) {
      for (const record of page.records) records.set(record.id, record);
      for (const row of page.unusable) invalidRows.push(row);
      for (const name of page.unread ?? []) unread.push(name);
    }
  } catch (error) {
    if (!(error instanceof MirrorError) || error.code !== 'incomplete-list') throw error;
    return { ...content(), completeness: 'partial', reason: 'end-unproved' };
  }
  if (invalidRows.some(isForeign)) return { ...content(), completeness: 'partial', reason: 'wrong-tenant' };
  return { ...content(), completeness: 'complete' };
}

/** Returns all usable records of a list. */
export async function recordsOf<Model>(pages: AsyncIterable<ListPage<Model>>): Promise<Model[]> {
  const records: Model[] = [];
  for await (const page of pages) for (const record of page.records) records.push(record);
  return records;
}

/** Statuses of a clinic that forbids the list or does not have it. */
const WITHHELD: ReadonlySet<number | undefined> = new Set([403, 404, 405, 410, 501]);

/** Treats a forbidden list as empty. */
export function noneWithheld(error: unknown): never[] {
  const cause = asMirrorError(error);
  if (WITHHELD.has(cause.status)) return [];
  throw cause;
}

/** How rows of a read become records. */
export interface Rows {
  map: RowMapper<Appointment>;
  /** Cached pages; absent without a cache. */
  pages?: PageMemory<Mapped<Appointment>>;
  /** Whether the row's page is the last one to read, because later pages are irrelevant. */
  stopsAt?: (row: Mapped<Appointment>) => boolean;
}

/** Rows of one list call by page, and why it is incomplete, or null. */
export interface ReadRows {
  pages: RowsOfPage[];
  reason: PartialReason | null;
  /** Time at which the last read of the list began, by `performance.now()`. */
  beganAt: number;
  /** Whether an earlier read found that the list changes. */
  isReread: boolean;
}

/**
 * Reads one list call. A list that changes during the read is read again, without conditional requests. A read with a proven end replaces
 * earlier reads: rows only in an earlier read are deleted or were never valid. Without a proven end, the result contains the rows of all
 * reads; rows without an id come from the last read only.
 */
export async function readRows(
  context: ClinicContext,
  call: ListCall,
  gathered: Gathered,
  how: Rows,
): Promise<ReadRows> {
  const earlier: RowsOfPage[] = [];
  const pagesBefore = call.pageSizes?.length ?? 0;
  let asked = how;
  for (let remainingRereads = context.profile.limits.rereads; ; remainingRereads -= 1) {
    const beganAt = performance.now();
    const { pages, reason } = await readOnce(context, call, gathered, asked);
    if (reason === null || !isPassing(reason) || remainingRereads === 0) {
      const before = reason === null ? [] : earlier.map((rows) => rows.filter(hasIdentity));
      return { pages: [...before, ...pages], reason, beganAt, isReread: asked !== how };
    }
    context.log.info(
      { label: 'clinic.appointments.list', reason },
      'list changed during the read: reading the list again',
    );
    earlier.push(...pages);
    // The new read replaces these pages.
    call.pageSizes?.splice(pagesBefore);
    asked = unconditional(how);
  }
}

/** Without conditional requests: an answer must show the list as it is now. */
export function unconditional(how: Rows): Rows {
  return how.pages === undefined ? { ...how } : { ...how, pages: { ...how.pages, etagOf: () => null } };
}

function hasIdentity(row: Mapped<Appointment>): boolean {
  return 'record' in row || row.unusable.recordId !== null;
}

async function readOnce(
  context: ClinicContext,
  call: ListCall,
  gathered: Gathered,
  { map, pages: cached, stopsAt }: Rows,
): Promise<Pick<ReadRows, 'pages' | 'reason'>> {
  const pages: RowsOfPage[] = [];
  let reason: PartialReason | null = null;
  let repeated = 0;
  for await (const page of readList(context, call, map, cached)) {
    gathered.pages += 1;
    repeated += page.repeated;
    pages.push(page.rows);
    if (page.end !== null && !page.end.proved) reason = page.end.reason;
    if (stopsAt !== undefined && page.rows.some(stopsAt)) break;
  }
  if (reason === null) gathered.repeated += repeated;
  return { pages, reason };
}
