import type { Appointment, InvalidRow } from '../../model/records.ts';
import type { PartialReason } from '../../model/snapshots.ts';
import type { ClinicContext } from '../http/context.ts';
import { isPassing } from '../http/paging.ts';
import type { Mapped, RowMapper } from '../http/rows.ts';
import { type ListCall, readList } from './lists.ts';
import { isForeign } from './reading.ts';
import type { PageMemory } from './reading-memory.ts';

/** How rows become records of one reading. */
export interface Rows {
  map: RowMapper<Appointment>;
  /** Of pages that were read before; absent where none is kept. */
  pages?: PageMemory<Mapped<Appointment>>;
  /** A page with such a row is the last that is read: the others would tell nothing more. */
  stopsAt?: (row: Mapped<Appointment>) => boolean;
}

/** Whether a record lies in the window and the agendas that are asked for. */
export type IsWanted = (record: Appointment) => boolean;

/** What was gathered of a window so far. */
export interface Gathered {
  records: Map<string, Appointment>;
  setAside: Map<string, InvalidRow>;
  withoutId: InvalidRow[];
  /** Fields of records that could not be read, by the records' ids. */
  unread: Map<string, readonly string[]>;
  pages: number;
  requests: number;
  /** Rows that came twice in one list call whose end was proved. */
  repeated: number;
  reason: PartialReason | null;
}

/** Nothing yet. */
export function nothingGathered(): Gathered {
  const none = { pages: 0, requests: 0, repeated: 0, reason: null };
  return { records: new Map(), setAside: new Map(), withoutId: [], unread: new Map(), ...none };
}

/** The rows of one list call, and why it is not whole; null when it is. */
export interface ReadRows {
  rows: Mapped<Appointment>[];
  reason: PartialReason | null;
}

/**
 * Reads one list call, again if it moved, and then without asking what is not modified. The rows of a reading whose end was proved count
 * alone: what only an earlier one showed is gone since, or was never there. Of readings that prove nothing all rows count, and those
 * without an id of the last.
 */
export async function readRows(
  context: ClinicContext,
  call: ListCall,
  gathered: Gathered,
  how: Rows,
): Promise<ReadRows> {
  const earlier: Mapped<Appointment>[] = [];
  let asked = how;
  for (let remainingRereads = context.profile.limits.rereads; ; remainingRereads -= 1) {
    const { rows, reason } = await readOnce(context, call, gathered, asked);
    if (reason === null || !isPassing(reason) || remainingRereads === 0) {
      const before = reason === null ? [] : earlier.filter((one) => 'record' in one || one.setAside.recordId !== null);
      return { rows: [...before, ...rows], reason };
    }
    context.log.info({ label: 'clinic.appointments.list', reason }, 'the list moved, reading it again');
    earlier.push(...rows);
    if (how.pages !== undefined) asked = { ...how, pages: { ...how.pages, etagOf: () => null } };
  }
}

async function readOnce(
  context: ClinicContext,
  call: ListCall,
  gathered: Gathered,
  { map, pages, stopsAt = () => false }: Rows,
): Promise<ReadRows> {
  const rows: Mapped<Appointment>[] = [];
  let reason: PartialReason | null = null;
  let repeated = 0;
  for await (const page of readList(context, call, map, pages)) {
    gathered.pages += 1;
    repeated += page.repeated;
    for (const row of page.rows) rows.push(row);
    if (page.end !== null && !page.end.proved) reason = page.end.reason;
    if (page.rows.some(stopsAt)) break;
  }
  if (reason === null) gathered.repeated += repeated;
  return { rows, reason };
}

/** Of two versions of a record the one changed later stays; where none tells, the one read later. */
export function retain(gathered: Gathered, mapped: Mapped<Appointment>, isWanted: IsWanted): void {
  if ('setAside' in mapped) {
    const { recordId } = mapped.setAside;
    if (isForeign(mapped.setAside)) gathered.reason ??= 'wrong-tenant';
    if (recordId === null) gathered.withoutId.push(mapped.setAside);
    else gathered.setAside.set(recordId, mapped.setAside);
    return;
  }
  const { record } = mapped;
  const existing = gathered.records.get(record.id);
  if (existing !== undefined && (existing.updatedAt ?? 0) > (record.updatedAt ?? existing.updatedAt ?? 0)) return;
  gathered.setAside.delete(record.id);
  gathered.unread.delete(record.id);
  if (isWanted(record)) {
    gathered.records.set(record.id, record);
    if (mapped.unread !== undefined) gathered.unread.set(record.id, mapped.unread);
  } else gathered.records.delete(record.id);
}
