import { readJson } from '../../core/http/answer.ts';
import type { HttpResponse } from '../../core/http/client.ts';
import { type LongNumbers, longNumbersIn, MOST_UNSPLIT_BYTES, MOST_UNSPLIT_VALUES } from '../../core/model/json.ts';
import type { InvalidRow } from '../../core/model/records.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import { DAY_MS, HOUR_MS, type Instant, SECOND_MS, type TimeWindow } from '../../core/model/time.ts';
import { ITSELF, isJsonObject, type JsonObject, valueAt } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import { addressOf, type ClinicContext, send } from '../http/call.ts';
import { clinicError, saysAbsent } from '../http/errors.ts';
import { asId, compilePaths, type RowMapper } from '../http/rows.ts';
import { parameterWith } from '../schema/paging.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { RESOURCE_PATHS, type ResourceName } from '../schema/resources.ts';
import { createZone, dateText, formatInstant, type TimeFormat, type Zone } from './timestamps.ts';

/** Request for one record. */
export interface RecordQuestion {
  list: ResourceName;
  tenantId: string;
  id: string;
  signal: AbortSignal;
}

/** Returns the path of a list, or of a resource in the list. */
export function segmentsOf(
  profile: ClinicProfile,
  { list, tenantId }: Pick<RecordQuestion, 'list' | 'tenantId'>,
  ...more: string[]
): string[] {
  const own = profile[list].urlPath;
  if (own === null) return ['tenants', tenantId, ...RESOURCE_PATHS[list], ...more];
  const segments = own.slice(1).split('/');
  return [...segments.map((segment) => (segment === '{tenantId}' ? tenantId : segment)), ...more];
}

/** Reads one record as the clinic sends it; null for 404 and 410. */
export async function readRow(context: ClinicContext, question: RecordQuestion): Promise<JsonObject | null> {
  const answer = await ask(context, question);
  return 'row' in answer ? answer.row : null;
}

/** Reads one record with the long numbers required to send the row back unchanged; null for 404 and 410. */
export async function readToWrite(
  context: ClinicContext,
  question: RecordQuestion,
): Promise<{ row: JsonObject; longNumbers: () => LongNumbers } | null> {
  const answer = await ask(context, question);
  return 'row' in answer ? answer : null;
}

type Answer = { row: JsonObject; longNumbers: () => LongNumbers } | Extract<Lookup<never>, { absent: true }>;

async function ask(context: ClinicContext, question: RecordQuestion): Promise<Answer> {
  const { list, id, signal } = question;
  const label = labelOf(list);
  const url = addressOf(context, segmentsOf(context.profile, question, id));
  const mergedIn = (answer: HttpResponse) => remainingIn(answer, url, list === 'patients' ? context.profile : null);
  const accepts = (answer: HttpResponse) => saysAbsent(answer, context.profile) || mergedIn(answer) !== null;
  const answer = await send(context, { label, url, signal, accepts });
  const mergedInto = mergedIn(answer);
  if (mergedInto !== null) return { absent: true, mergedInto };
  if (accepts(answer)) return { absent: true };
  const row = recordIn(answer, label, context.profile, list);
  return { row, longNumbers: () => longNumbersIn(answer.body.toString()) };
}

/**
 * Returns the id of the remaining patient if the answer is the profile's redirect for merged patients to another record of the same list
 * (RFC 9110, sections 10.2.2, 15.4.2 and 15.4.9), otherwise null. The redirect is never followed: it could lead to another server.
 */
function remainingIn({ status, headers }: HttpResponse, url: string, profile: ClinicProfile | null): string | null {
  const location = headers.get('location');
  if (location === null || profile === null || profile.patients.merged !== status) return null;
  const to = URL.parse(location, url);
  const list = url.slice(0, url.lastIndexOf('/') + 1);
  const from = new URL(list);
  if (to === null || to.origin !== from.origin || !to.pathname.startsWith(from.pathname)) return null;
  try {
    const id = decodeURIComponent(to.pathname.slice(from.pathname.length));
    return to.href === url || id.includes('/') ? null : asId(id);
  } catch {
    return null;
  }
}

/**
 * Reads one record by id; 404, 410 and a tombstone mean `absent`.
 * @param isAsked whether the record is the requested one; compares the id by default
 * @throws MirrorError `contract`, code `wrong-record`, for a different record
 */
export async function readOne<Model extends object>(
  context: ClinicContext,
  question: RecordQuestion,
  map: RowMapper<Model>,
  isAsked: (record: Model) => boolean = (record) => Reflect.get(record, 'id') === question.id,
): Promise<Lookup<Model>> {
  const answer = await ask(context, question);
  if ('absent' in answer) return answer;
  const mapped = ofTenant(context.profile, question, map)(answer.row);
  if ('unusable' in mapped) {
    // Two tombstones prove absence, like two answers 404.
    const { isTombstone, mergedInto } = mapped.unusable;
    if (isTombstone === true) {
      const { deleted } = mapped;
      const isOwn = deleted !== undefined && isAsked(deleted);
      return { absent: true, ...(mergedInto !== undefined && { mergedInto }), ...(isOwn && { deleted }) };
    }
    return { unusable: { ...mapped.unusable, recordId: question.id } };
  }
  if (isAsked(mapped.record)) return { found: mapped.record };
  const id: unknown = Reflect.get(mapped.record, 'id');
  const isSame = typeof id === 'string' && id.toLowerCase() === question.id.toLowerCase();
  // Links and lists know the record by the requested spelling.
  if (isSame && context.profile.idCase === 'ignored') return { found: { ...mapped.record, id: question.id } };
  throw clinicError('wrong-record', message('clinic.wrong-record', { label: labelOf(question.list) }));
}

/**
 * Returns the JSON object of an answer for one record.
 * @param of the record's resource
 * @throws MirrorError `contract`, code `not-a-record`, and errors of `readJson`
 */
export function recordIn(
  answer: HttpResponse,
  label: string,
  profile: ClinicProfile,
  of: ResourceName | 'tenantInfo',
): JsonObject {
  const whole = readJson(answer, label, MOST_UNSPLIT_VALUES, MOST_UNSPLIT_BYTES);
  const path = profile[of].recordPath ?? profile.recordPath;
  const record = path === null || path === ITSELF ? whole : valueAt(whole, path);
  if (isJsonObject(record)) return record;
  throw clinicError('not-a-record', message('clinic.not-a-record', { label }));
}

function labelOf(list: ResourceName): string {
  return `clinic.${list}.read`;
}

/** Origin of a row. */
interface RowSource {
  list: ResourceName;
  tenantId: string;
}

/**
 * Returns whether a row was skipped because it names another tenant. A list with such a row does not prove that missing records are absent.
 */
export function isForeign({ code }: InvalidRow): boolean {
  return code === 'wrong-tenant';
}

/** Skips rows that name another tenant, with the code `wrong-tenant`, regardless of their content. */
export function ofTenant<Model>(profile: ClinicProfile, source: RowSource, map: RowMapper<Model>): RowMapper<Model> {
  const namesAnother = compileOwnership(profile, source);
  const fields: object = profile[source.list].fields;
  const readId = compilePaths((fields as { id?: readonly string[] }).id ?? []);
  return (row) => {
    if (!namesAnother(row)) return map(row);
    const recordId = isJsonObject(row) ? asId(readId(row)) : null;
    return { unusable: { recordId, code: 'wrong-tenant', field: 'tenantId' } };
  };
}

/** @throws MirrorError `contract`, code `record-of-another`, for a row that names another tenant: such a row is no basis for a write */
export function requireOwn(profile: ClinicProfile, source: RowSource, label: string, row: unknown): void {
  if (!compileOwnership(profile, source)(row)) return;
  const remedy = message('clinic.record-of-another.correct', { list: source.list });
  throw clinicError('record-of-another', message('clinic.record-of-another', { label }), { remedy });
}

function compileOwnership(profile: ClinicProfile, { list, tenantId }: RowSource): (row: unknown) => boolean {
  const read = compilePaths(profile[list].tenantId);
  return (row) => {
    const stated = isJsonObject(row) ? read(row) : null;
    return stated !== null && asId(stated) !== tenantId;
  };
}

type WindowSettings = Pick<ClinicProfile['appointments'], 'filters' | 'agendaFilter' | 'window'>;
type Parameter = [name: string, value: string];

/** Returns whether a time format contains no zone. */
export function isLocalFormat(format: TimeFormat): boolean {
  return format === 'date' || format === 'local' || format === 'local-space';
}

/**
 * Widens a window so that it covers the same instants in each of the zones that the server may assume for local times. Callers drop rows
 * outside the original window.
 * @param names zones that local times may use, in addition to the zone of the window's ends
 */
export function widened(
  { fromAt, toAt }: TimeWindow,
  format: TimeFormat,
  zone: Zone,
  names: Iterable<string>,
): TimeWindow {
  if (!isLocalFormat(format)) return { fromAt, toAt };
  const zones = [...names].map(createZone);
  const ahead = (at: Instant) => zones.map((other) => other.offsetAt(at) - zone.offsetAt(at));
  return { fromAt: fromAt + Math.min(0, ...ahead(fromAt)), toAt: toAt + Math.max(0, ...ahead(toAt)) };
}

/**
 * Returns the query parameters of the list calls that cover a window and the agendas: chunks of at most the profile's days, and groups of
 * agendas. One empty set if the server filters by neither; no set if no agenda is requested.
 */
export function listCalls(
  settings: WindowSettings,
  zone: Zone,
  window: TimeWindow,
  agendaIds: readonly string[] | null,
): Parameter[][] {
  if (agendaIds?.length === 0) return [];
  const groups = agendaParameters(settings, agendaIds);
  return windowParameters(settings, zone, window).flatMap((chunk) => groups.map((group) => [...chunk, ...group]));
}

function windowParameters(settings: WindowSettings, zone: Zone, window: TimeWindow): Parameter[][] {
  const { from, to } = settings.filters;
  if (from === null || to === null) return [[]];
  const wide = { fromAt: window.fromAt - settings.window.leadHours * HOUR_MS, toAt: window.toAt };
  const chunks =
    settings.window.format === 'date' ? dateChunks(settings, zone, wide) : instantChunks(settings, zone, wide);
  return chunks.map(([start, end]) => [parameterWith(from, start), parameterWith(to, end)]);
}

/** Uses whole local dates, so that a limit in days is kept at any time of day. */
function dateChunks(settings: WindowSettings, zone: Zone, window: TimeWindow): [string, string][] {
  const { maxDays, toIncluded } = settings.window;
  const firstMs = floorToDay(window.fromAt + zone.offsetAt(window.fromAt));
  const lastMs = floorToDay(window.toAt - 1 + zone.offsetAt(window.toAt - 1));
  const days = (lastMs - firstMs) / DAY_MS + 1;
  const step = (maxDays ?? days) * DAY_MS;
  const chunks: [string, string][] = [];
  for (let startMs = firstMs; startMs <= lastMs; startMs += step) {
    const endMs = Math.min(startMs + step, lastMs + DAY_MS);
    chunks.push([dateText(startMs), dateText(toIncluded ? endMs - DAY_MS : endMs)]);
  }
  return chunks;
}

function instantChunks(settings: WindowSettings, zone: Zone, window: TimeWindow): [string, string][] {
  const { maxDays } = settings.window;
  const chunks: [string, string][] = [];
  let startAt = floorToSecond(window.fromAt);
  const lastAt = ceilToSecond(window.toAt);
  while (startAt < lastAt) {
    const endAt = maxDays === null ? lastAt : Math.min(chunkEnd(startAt, maxDays, zone), lastAt);
    chunks.push([
      formatInstant(startAt, settings.window.format, zone),
      formatInstant(endAt, settings.window.format, zone),
    ]);
    startAt = endAt;
  }
  return chunks;
}

/** A server that counts local days finds one hour too many when clocks are set forward: the chunk omits that hour. */
function chunkEnd(startAt: Instant, maxDays: number, zone: Zone): Instant {
  const endAt = startAt + maxDays * DAY_MS;
  return endAt - Math.max(0, zone.offsetAt(endAt) - zone.offsetAt(startAt));
}

function agendaParameters(settings: WindowSettings, agendaIds: readonly string[] | null): Parameter[][] {
  const name = settings.filters.agenda;
  if (name === null || agendaIds === null) return [[]];
  const { style, maxPerCall } = settings.agendaFilter;
  const groups: Parameter[][] = [];
  for (let start = 0; start < agendaIds.length; start += maxPerCall) {
    const group = agendaIds.slice(start, start + maxPerCall);
    groups.push(style === 'comma' ? [parameterWith(name, ...group)] : group.map((id) => parameterWith(name, id)));
  }
  return groups;
}

function floorToDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS) * DAY_MS;
}

function floorToSecond(at: Instant): Instant {
  return Math.floor(at / SECOND_MS) * SECOND_MS;
}

function ceilToSecond(at: Instant): Instant {
  return Math.ceil(at / SECOND_MS) * SECOND_MS;
}
