import type { Appointment, SetAside } from '../model/records.ts';
import type { AppointmentSnapshot, PartialReason } from '../model/snapshots.ts';
import { overlaps, type TimeWindow } from '../model/time.ts';
import type { ClinicContext } from './context.ts';
import { type ListCall, readList } from './lists.ts';
import { isForeign, ofTenant } from './own-rows.ts';
import { isPassing } from './paging.ts';
import type { ReadingMemory, RememberedReading } from './reading-memory.ts';
import type { Mapped } from './rows.ts';
import { listCalls } from './windows.ts';
import type { Zone } from './zone.ts';

/** What is wanted of a snapshot. */
export interface SnapshotQuestion {
  tenantId: string;
  agendaIds: readonly string[] | null;
  window: TimeWindow;
  /** What is known of the reading before; absent where none follows. */
  memory?: ReadingMemory<Appointment>;
  signal: AbortSignal;
}

/** How rows become records of this snapshot. */
interface Rows {
  map: (row: unknown) => Mapped<Appointment>;
  isWanted: (record: Appointment) => boolean;
  remembered: RememberedReading<Appointment> | null;
}

/** What was gathered of a window so far. */
interface Gathered {
  records: Map<string, Appointment>;
  setAside: Map<string, SetAside>;
  withoutId: SetAside[];
  pages: number;
  requests: number;
  reason: PartialReason | null;
}

/**
 * Reads every appointment that overlaps a window, in as many list calls as the profile's limits ask for. What the clinic sends
 * beside the window or the agendas is left out here, whatever the server's own filter means.
 * A list that moved while it was read is begun again as often as the profile allows; after that the snapshot is partial.
 * @throws MirrorError when a page could not be read; nothing is then known
 */
export async function readSnapshot(
  context: ClinicContext,
  question: SnapshotQuestion,
  zone: Zone,
  map: (row: unknown) => Mapped<Appointment>,
): Promise<AppointmentSnapshot> {
  const { tenantId, window, signal } = question;
  const gathered: Gathered = {
    records: new Map(),
    setAside: new Map(),
    withoutId: [],
    pages: 0,
    requests: 0,
    reason: null,
  };
  const onRequest = () => {
    gathered.requests += 1;
  };
  const remembered = question.memory?.begin(tenantId) ?? null;
  const mapOwn = ofTenant(context.profile, { list: 'appointments', tenantId }, map);
  const mapAsBefore = remembered === null ? mapOwn : (row: unknown) => remembered.asBefore(mapOwn(row));
  const rows = { map: mapAsBefore, isWanted: wantedBy(question), remembered };
  const pageSizes: number[] = [];
  for (const parameters of listCalls(context.profile.appointments, zone, window, question.agendaIds)) {
    const call: ListCall = { list: 'appointments', tenantId, parameters, signal, onRequest, pageSizes };
    const reason = await readCall(context, call, gathered, rows);
    gathered.reason ??= reason;
  }
  const snapshot = snapshotOf(gathered, question);
  remembered?.end(snapshot.records);
  return snapshot;
}

/**
 * Reads one list call, again if it moved. The rows of a reading whose end was proved count alone: what only an earlier one showed is gone
 * since, or was never there. Of readings that prove nothing all rows count, and those without an id of the last.
 * @returns the reason why it is not whole, or null
 */
async function readCall(
  context: ClinicContext,
  call: ListCall,
  gathered: Gathered,
  how: Rows,
): Promise<PartialReason | null> {
  const earlier: Mapped<Appointment>[] = [];
  for (let rereadsLeft = context.profile.limits.rereads; ; rereadsLeft -= 1) {
    const { rows, reason } = await readOnce(context, call, gathered, how);
    if (reason === null || !isPassing(reason) || rereadsLeft === 0) {
      const before = reason === null ? [] : earlier.filter((one) => 'record' in one || one.setAside.recordId !== null);
      for (const row of [...before, ...rows]) keep(gathered, row, how.isWanted);
      return reason;
    }
    context.log.info({ label: 'clinic.appointments.list', reason }, 'the list moved, reading it again');
    earlier.push(...rows);
  }
}

async function readOnce(
  context: ClinicContext,
  call: ListCall,
  gathered: Gathered,
  { map, remembered }: Rows,
): Promise<{ rows: Mapped<Appointment>[]; reason: PartialReason | null }> {
  const rows: Mapped<Appointment>[] = [];
  let reason: PartialReason | null = null;
  for await (const page of readList(context, call, map, remembered?.page)) {
    gathered.pages += 1;
    for (const row of page.rows) rows.push(row);
    if (page.end !== null && !page.end.proved) reason = page.end.reason;
  }
  return { rows, reason };
}

/** Of two versions of a record the one changed later stays; where none tells, the one read later. */
function keep(gathered: Gathered, mapped: Mapped<Appointment>, isWanted: (record: Appointment) => boolean): void {
  if ('setAside' in mapped) {
    const { recordId } = mapped.setAside;
    if (isForeign(mapped.setAside)) gathered.reason ??= 'wrong-tenant';
    if (recordId === null) gathered.withoutId.push(mapped.setAside);
    else gathered.setAside.set(recordId, mapped.setAside);
    return;
  }
  const { record } = mapped;
  const known = gathered.records.get(record.id);
  if (known !== undefined && (known.updatedAt ?? 0) > (record.updatedAt ?? known.updatedAt ?? 0)) return;
  gathered.setAside.delete(record.id);
  if (isWanted(record)) gathered.records.set(record.id, record);
  else gathered.records.delete(record.id);
}

function wantedBy({ window, agendaIds }: SnapshotQuestion): (record: Appointment) => boolean {
  const agendas = agendaIds === null ? null : new Set(agendaIds);
  return ({ agendaId, time }) => overlaps(time, window) && (agendas === null || agendas.has(agendaId));
}

function snapshotOf(gathered: Gathered, { window, agendaIds }: SnapshotQuestion): AppointmentSnapshot {
  const { records, setAside, withoutId, pages, requests, reason } = gathered;
  for (const id of setAside.keys()) records.delete(id);
  const content = {
    window,
    agendaIds: agendaIds === null ? null : [...agendaIds],
    records,
    setAside: [...setAside.values(), ...withoutId],
    unidentified: withoutId.length,
    pages,
    requests,
  };
  return reason === null ? { completeness: 'complete', ...content } : { completeness: 'partial', reason, ...content };
}
