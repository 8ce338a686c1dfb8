import { appointmentValues, SAVE_APPOINTMENT, toAppointment } from './appointment-rows.ts';
import { type Database, integer, integerOrNull, type SQLInputValue, text } from './database.ts';
import type { Slice } from './patients.ts';
import type { Appointment, AppointmentStatus } from './records.ts';

/** Rows per query when a whole table is walked, so that writes can happen during a walk. */
const WALK_ROWS = 1000;

/** Cached page ends and totals; above this number the whole cache is cleared. */
const REMEMBERED = 500;

/** Which appointments a list shows; hard-deleted ones never. Times are epoch ms. */
export interface AppointmentFilter {
  /** Only appointments that end after this instant. */
  from?: number | undefined;
  /** Only appointments that start at this instant or later. */
  startsFrom?: number | undefined;
  /** Only appointments that start before this instant. */
  to?: number | undefined;
  agendaIds?: readonly string[] | undefined;
  statuses?: readonly string[] | undefined;
  patientId?: string | undefined;
  /** Changed at this instant or later. */
  updatedSince?: number | undefined;
  withoutStatus?: AppointmentStatus | undefined;
}

export interface AppointmentStore {
  /** Inserts or replaces. */
  save(appointment: Appointment): void;
  /** The appointment, even if hard-deleted; undefined when the tenant has no appointment with this id. */
  get(tenantId: string, id: string): Appointment | undefined;
  /** Ordered by start, then id. */
  list(tenantId: string, filter: AppointmentFilter, offset: number, limit: number): Slice<Appointment>;
  /** Uncancelled appointments of an agenda that share an instant with [startAt, endAt), ordered by start. */
  occupying(agendaId: string, startAt: number, endAt: number): Appointment[];
  /** Up to `limit` visits (no blocked time) in one of `statuses` that start at `startAt` or later, in order. */
  visitsFrom(tenantId: string, statuses: readonly AppointmentStatus[], startAt: number, limit: number): Appointment[];
  /** Every appointment by id, hard-deleted ones too, read in small portions. */
  walk(tenantId: string): Generator<Appointment>;
}

/** A condition and, apart from it, the earliest start that can fit it. */
type Where = { sql: string; values: SQLInputValue[]; earliest: number };

/**
 * The appointments in SQLite. A page begins after the key of the row before it, which is remembered from reading the page
 * before as long as nothing is written, and else found by OFFSET.
 */
export function createAppointmentStore(database: Database): AppointmentStore {
  return new SqliteAppointments(database);
}

class SqliteAppointments implements AppointmentStore {
  readonly #database: Database;
  readonly #pageEnds = new Map<string, { startAt: number; id: string }>();
  readonly #totals = new Map<string, number>();
  readonly #longest = new Map<string, number>();

  constructor(database: Database) {
    this.#database = database;
  }

  save(appointment: Appointment): void {
    this.#database.statement(SAVE_APPOINTMENT).run(...appointmentValues(appointment));
    const length = appointment.endAt - appointment.startAt;
    this.#longest.set(appointment.tenantId, Math.max(this.#longestOf(appointment.tenantId), length));
    this.#pageEnds.clear();
    this.#totals.clear();
  }

  #longestOf(tenantId: string): number {
    const known = this.#longest.get(tenantId);
    if (known !== undefined) return known;
    const row = this.#database
      .statement('SELECT max(end_at - start_at) AS longest FROM appointments WHERE tenant_id = ?')
      .get(tenantId);
    const found = row === undefined ? 0 : (integerOrNull(row, 'longest') ?? 0);
    this.#longest.set(tenantId, found);
    return found;
  }

  get(tenantId: string, id: string): Appointment | undefined {
    const row = this.#database.statement('SELECT * FROM appointments WHERE id = ? AND tenant_id = ?').get(id, tenantId);
    return row === undefined ? undefined : toAppointment(row);
  }

  list(tenantId: string, filter: AppointmentFilter, offset: number, limit: number): Slice<Appointment> {
    const where = whereOf(tenantId, filter, this.#longestOf(tenantId));
    const key = JSON.stringify(where);
    const before =
      offset === 0 ? undefined : (this.#pageEnds.get(`${offset} ${key}`) ?? this.#keyAt(where, offset - 1));
    if (offset > 0 && before === undefined) return { rows: [], total: this.#totalOf(where, key) };
    const found = this.#database
      .statement(
        `SELECT * FROM appointments WHERE ${where.sql} AND (start_at, id) > (?, ?) ORDER BY start_at, id LIMIT ?`,
      )
      .all(...where.values, before?.startAt ?? where.earliest, before?.id ?? '', limit);
    const rows = found.map(toAppointment);
    const last = rows.at(-1);
    if (last !== undefined)
      remember(this.#pageEnds, `${offset + rows.length} ${key}`, { startAt: last.startAt, id: last.id });
    return { rows, total: this.#totalOf(where, key) };
  }

  /** The key of the row at a position, or undefined past the last row. In most cases the query reads only the index. */
  #keyAt(where: Where, position: number): { startAt: number; id: string } | undefined {
    const row = this.#database
      .statement(
        `SELECT start_at, id FROM appointments WHERE ${where.sql} AND start_at >= ?
         ORDER BY start_at, id LIMIT 1 OFFSET ?`,
      )
      .get(...where.values, where.earliest, position);
    return row === undefined ? undefined : { startAt: integer(row, 'start_at'), id: text(row, 'id') };
  }

  #totalOf(where: Where, key: string): number {
    const known = this.#totals.get(key);
    if (known !== undefined) return known;
    const row = this.#database
      .statement(`SELECT count(*) AS total FROM appointments WHERE ${where.sql}`)
      .get(...where.values);
    const total = row === undefined ? 0 : integer(row, 'total');
    remember(this.#totals, key, total);
    return total;
  }

  occupying(agendaId: string, startAt: number, endAt: number): Appointment[] {
    return this.#database
      .statement(
        `SELECT * FROM appointments WHERE agenda_id = ? AND start_at < ? AND end_at > ?
         AND status <> 'Cancelled' AND deleted_at IS NULL ORDER BY start_at`,
      )
      .all(agendaId, endAt, startAt)
      .map(toAppointment);
  }

  visitsFrom(tenantId: string, statuses: readonly AppointmentStatus[], startAt: number, limit: number): Appointment[] {
    return this.#database
      .statement(
        `SELECT * FROM appointments WHERE tenant_id = ? AND start_at >= ? AND patient_id IS NOT NULL
         AND status IN (SELECT value FROM json_each(?)) AND deleted_at IS NULL ORDER BY start_at, id LIMIT ?`,
      )
      .all(tenantId, startAt, JSON.stringify(statuses), limit)
      .map(toAppointment);
  }

  *walk(tenantId: string): Generator<Appointment> {
    const portion = this.#database.statement(
      'SELECT * FROM appointments WHERE id > ? AND +tenant_id = ? ORDER BY id LIMIT ?',
    );
    let after = '';
    for (;;) {
      const rows = portion.all(after, tenantId, WALK_ROWS).map(toAppointment);
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < WALK_ROWS) return;
      after = last.id;
    }
  }
}

/** `longestMs` bounds how long before `from` an appointment that still overlaps it can have begun. */
function whereOf(tenantId: string, filter: AppointmentFilter, longestMs: number): Where {
  const clauses = ['tenant_id = ?', 'deleted_at IS NULL'];
  const values: SQLInputValue[] = [tenantId];

  function add(clause: string, ...more: SQLInputValue[]): void {
    clauses.push(clause);
    values.push(...more);
  }

  if (filter.from !== undefined) add('end_at > ?', filter.from);
  if (filter.startsFrom !== undefined) add('start_at >= ?', filter.startsFrom);
  if (filter.to !== undefined) add('start_at < ?', filter.to);
  if (filter.agendaIds !== undefined)
    add('agenda_id IN (SELECT value FROM json_each(?))', JSON.stringify(filter.agendaIds));
  if (filter.statuses !== undefined) add('status IN (SELECT value FROM json_each(?))', JSON.stringify(filter.statuses));
  if (filter.patientId !== undefined) add('patient_id = ?', filter.patientId);
  if (filter.updatedSince !== undefined) add('updated_at >= ?', filter.updatedSince);
  if (filter.withoutStatus !== undefined) add('status <> ?', filter.withoutStatus);
  const earliest = filter.from === undefined ? Number.MIN_SAFE_INTEGER : filter.from - longestMs;
  return { sql: clauses.join(' AND '), values, earliest };
}

function remember<T>(memory: Map<string, T>, key: string, value: T): void {
  if (memory.size >= REMEMBERED) memory.clear();
  memory.set(key, value);
}
