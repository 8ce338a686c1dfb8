import { MirrorError } from '../../model/errors.ts';
import type { Appointment, SetAside } from '../../model/records.ts';
import type { PartialReason } from '../../model/snapshots.ts';
import { CLOCK_TOLERANCE_MS, DAY_MS, HOUR_MS, type Instant, SECOND_MS } from '../../model/time.ts';
import type { ClinicContext } from '../http/context.ts';
import type { Mapped } from '../http/rows.ts';
import type { IsWanted, ReadRows } from './gathering.ts';
import type { ListCall } from './lists.ts';
import type { KnownRows } from './reading-memory.ts';
import type { Zone } from './timestamps.ts';
import { formatInstant } from './timestamps.ts';
import { widened } from './windows.ts';

/** Why what changed can't be told by asking for it: a list that is not whole, or a row that raises doubt. */
export type ChangesDoubt =
  | PartialReason
  /** A row that can't be used: it may be any record. */
  | 'row-set-aside'
  /** A row that does not tell when it changed, or that changed in a time to come: what changed since then would be missed. */
  | 'change-time-missing'
  | 'change-time-ahead'
  /** Rows that changed long before: the clinic takes no notice of the parameter. */
  | 'filter-ignored'
  /** The clinic does not take the parameter, or not alone. */
  | 'filter-refused';

/** How what changed is asked for. */
interface ChangesQuestion {
  context: ClinicContext;
  zone: Zone;
  /** Names of zones that a local time may be meant in, beside it. */
  names: Iterable<string>;
  isWanted: IsWanted;
  read(parameters: ListCall['parameters'], stopsAt: (row: Mapped<Appointment>) => boolean): Promise<ReadRows>;
}

/** A time without an offset may mean the hour before, in the night that has it twice. */
const AMBIGUOUS_MS = HOUR_MS;
/** An answer to a filter may hold a row that changed a little earlier. */
const FILTER_SLACK_MS = DAY_MS;

/**
 * Asks the clinic for what changed since, over all its agendas and all times, so that what moved out of the window is told too, and puts it
 * over what is known. What was known stays known wherever it is now. What was deleted is not told of.
 * @returns all that is known now; or why it is not
 * @throws MirrorError when a page could not be read
 */
export async function readChanges(
  known: KnownRows<Appointment> & { changedTo: Instant },
  { context, zone, names, isWanted, read }: ChangesQuestion,
): Promise<KnownRows<Appointment> | { doubt: ChangesDoubt }> {
  const { parameter, overlapSeconds, format } = context.profile.appointments.rereading.changedSince;
  if (parameter === null) return { doubt: 'filter-refused' };
  const sinceAt = known.changedTo - overlapSeconds * SECOND_MS;
  const since = sinceOf(widened({ fromAt: sinceAt, toAt: sinceAt }, format, zone, names).fromAt, context, zone);
  const startedAt = context.clock();
  const doubtOf = (row: Mapped<Appointment>) => doubtOfRow(row, since.at, context.clock());
  const answer = await read([[parameter, since.text]], (row) => doubtOf(row) !== null).catch(refused);
  if (answer === null) return { doubt: 'filter-refused' };
  const endedAt = context.clock();
  const doubt = answer.rows.map(doubtOf).find((one) => one !== null) ?? answer.reason;
  if (doubt !== null) return { doubt };
  const changed = answer.rows.flatMap((row) => ('record' in row ? [row.record] : []));
  const changedTo = changedToOf(changed, { startedAt, endedAt }) ?? known.changedTo;
  const buried = answer.rows.flatMap((row) => ('setAside' in row ? [row.setAside] : []));
  return { ...putOver(known, changed, buried, isWanted), changedTo: Math.max(known.changedTo, changedTo) };
}

/** Whether a clinic that answers so does not filter as the profile says. */
export function isOfNoUse(doubt: ChangesDoubt): boolean {
  return doubt === 'filter-ignored' || doubt === 'filter-refused';
}

function doubtOfRow(row: Mapped<Appointment>, sinceAt: Instant, now: Instant): ChangesDoubt | null {
  if ('setAside' in row) return row.setAside.isTombstone === true ? null : 'row-set-aside';
  const { updatedAt } = row.record;
  if (updatedAt === null) return 'change-time-missing';
  if (updatedAt > now + CLOCK_TOLERANCE_MS) return 'change-time-ahead';
  return updatedAt < sinceAt - FILTER_SLACK_MS ? 'filter-ignored' : null;
}

/**
 * Up to when all that changed was seen by a reading that showed these records: their newest change, by the clinic's own times, less as long
 * as it took to read, since what was read first may have changed before what was read last.
 * @returns null when a record does not tell when it changed, or changed in a time to come; and when there is none
 */
export function changedToOf(
  records: Iterable<Appointment>,
  { startedAt, endedAt }: { startedAt: Instant; endedAt: Instant },
): Instant | null {
  let newestAt = -Infinity;
  for (const { updatedAt } of records) {
    if (updatedAt === null || updatedAt > endedAt + CLOCK_TOLERANCE_MS) return null;
    newestAt = Math.max(newestAt, updatedAt);
  }
  return newestAt === -Infinity ? null : newestAt - Math.max(0, endedAt - startedAt);
}

/** The time that the parameter is given, never later than `at`, whether the clinic counts it in or not. */
function sinceOf(at: Instant, { profile }: ClinicContext, zone: Zone): { at: Instant; text: string } {
  const { format } = profile.appointments.rereading.changedSince;
  const isLocal = format === 'local' || format === 'local-space';
  const earlierMs = format === 'date' ? DAY_MS : isLocal ? AMBIGUOUS_MS : 0;
  const sinceAt = Math.floor((at - earlierMs) / SECOND_MS) * SECOND_MS;
  return { at: sinceAt, text: formatInstant(sinceAt, format, zone) };
}

function refused(error: unknown): null {
  if (error instanceof MirrorError && (error.status === 400 || error.status === 422)) return null;
  throw error;
}

/** Puts what changed over what is known, and takes out what the clinic says is off. The same maps where nothing changed. */
function putOver(
  known: KnownRows<Appointment>,
  changed: readonly Appointment[],
  tombstones: readonly SetAside[],
  isWanted: IsWanted,
): Omit<KnownRows<Appointment>, 'changedTo'> {
  const isNews = (record: Appointment) => {
    const before = known.records.get(record.id);
    const isOlder = before !== undefined && (before.updatedAt ?? 0) > (record.updatedAt ?? 0);
    const isOurs = before !== undefined || known.setAside.has(record.id) || isWanted(record);
    return isOurs && !isOlder && before !== record;
  };
  const news = new Map(changed.filter(isNews).map((record) => [record.id, record]));
  const isShown = (id: string) => known.records.has(id) || known.setAside.has(id) || news.has(id);
  const off = tombstones.filter(({ recordId }) => isShown(recordId ?? ''));
  if (news.size + off.length === 0) return known;
  const records = new Map(known.records);
  const setAside = new Map(known.setAside);
  for (const [id, record] of news) {
    records.set(id, record);
    setAside.delete(id);
  }
  for (const one of off) {
    records.delete(one.recordId ?? '');
    setAside.set(one.recordId ?? '', one);
  }
  return { ...known, records, setAside };
}
