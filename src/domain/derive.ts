import { eachInPieces, type Pieces } from '../core/model/pieces.ts';
import type { Appointment } from '../core/model/records.ts';
import type { Instant, TimeWindow } from '../core/model/time.ts';
import { appointmentIdOf, visitsOf } from '../core/model/visits.ts';
import {
  type Amounts,
  type Attendance,
  centsOf,
  type Day,
  type DerivedFields,
  dayAt,
  dayOf,
  derivedFields,
  evidenceOf,
  type HistoryInvoice,
  type HistoryRules,
} from './derived-fields.ts';

/** Appointments and invoices of every patient, updated record by record. Contains instants, amounts and ids, but no names or texts. */
export interface PatientHistory {
  /** Adds an appointment, or replaces the appointment with the same id. */
  put(appointment: Appointment): void;
  /** Removes an appointment. */
  remove(appointmentId: string): void;
  /**
   * Applies a complete read of a window for all agendas: stored appointments that overlap the window and are not in the read are dropped.
   * Until the last piece is done, `of` may use old and new data.
   * @param present ids of unusable records, whose stored appointments remain
   */
  replaceWindow(window: TimeWindow, appointments: Iterable<Appointment>, present?: ReadonlySet<string>): Pieces<void>;
  /** Adds an invoice, or replaces the invoice with the same id. */
  putInvoice(invoice: HistoryInvoice): void;
  /** Removes an invoice. */
  removeInvoice(invoiceId: string): void;
  /**
   * Applies a complete read of the invoices issued on or after a date (`YYYY-MM-DD`; null: all invoices). Stored invoices of this period
   * that are not in the read are dropped.
   * @param present ids of unusable records, whose stored invoices remain
   */
  replaceInvoices(
    fromDate: string | null,
    invoices: Iterable<HistoryInvoice>,
    present?: ReadonlySet<string>,
  ): Pieces<void>;
  /** Returns a patient's derived fields. An unknown patient has no visits. */
  of(patientId: string, now: Instant): DerivedFields;
  /** Returns the first instant of the history: a read must begin here, or earlier. */
  historyFrom(now: Instant): Instant;
  /**
   * Returns whether complete reads cover the history without a gap: appointments, and invoices if they are counted. If not, the fields from
   * `of` are incomplete and must not be written.
   * @param until required coverage after `now`
   */
  covers(now: Instant, until?: Instant): boolean;
  /** Drops records older than the history. */
  prune(now: Instant): void;
  /** Returns the number of stored records, for metrics. */
  size(): { patients: number; appointments: number; invoices: number };
}

/** Minimal facts of one appointment, because a clinic has about 200,000. */
interface OwnedAttendance extends Attendance {
  readonly owner: Owner;
}

interface OwnedAmounts extends Amounts {
  readonly owner: Owner;
}

interface Owner {
  readonly patientId: string;
  readonly attendances: OwnedAttendance[];
  readonly amounts: OwnedAmounts[];
}

const NOBODY: Owner = { patientId: '', attendances: [], amounts: [] };
const NONE: ReadonlySet<string> = new Set();

/**
 * Creates an empty history of one clinic's patients.
 * @throws RangeError for a zone missing from the IANA data
 */
export function createPatientHistory(rules: HistoryRules): PatientHistory {
  return new InMemoryHistory(rules);
}

class InMemoryHistory implements PatientHistory {
  readonly #rules: HistoryRules;
  readonly #owners = new Map<string, Owner>();
  readonly #attendances = new Map<string, OwnedAttendance>();
  readonly #invoices = new Map<string, OwnedAmounts>();
  #day: Day;
  #covered: TimeWindow | null = null;
  /** First day from which all invoices are stored. */
  #coveredFromDay: number;

  constructor(rules: HistoryRules) {
    this.#rules = rules;
    this.#day = dayAt(0, rules);
    this.#coveredFromDay = rules.countsInvoices ? Infinity : -Infinity;
  }

  put(appointment: Appointment): void {
    if (appointment.patientIds !== undefined) this.remove(appointment.id);
    for (const visit of visitsOf(appointment)) this.#putVisit(visit);
  }

  #putVisit({ id, patientId, status, rawStatus, time }: Appointment): void {
    const evidence = evidenceOf(status, rawStatus);
    const { startAt } = time;
    const lastAt = Math.max(startAt, time.endAt - 1);
    const existing = this.#attendances.get(id);
    // Most records of a read are unchanged: keep their objects.
    const isUnchanged = existing?.owner.patientId === patientId && existing.evidence === evidence;
    if (isUnchanged && existing.startAt === startAt && existing.lastAt === lastAt) return;
    this.remove(id);
    if (patientId === null || evidence === null) return;
    const owner = this.#ownerOf(patientId);
    const attendance = { owner, startAt, lastAt, evidence };
    this.#attendances.set(id, attendance);
    owner.attendances.push(attendance);
  }

  remove(appointmentId: string): void {
    const attendance = this.#attendances.get(appointmentId);
    if (attendance === undefined) return;
    this.#attendances.delete(appointmentId);
    takeOut(attendance.owner.attendances, attendance);
    this.#leave(attendance.owner);
  }

  *replaceWindow(
    window: TimeWindow,
    appointments: Iterable<Appointment>,
    present: ReadonlySet<string> = NONE,
  ): Pieces<void> {
    const read = new Set<string>();
    yield* eachInPieces(appointments, (appointment) => {
      for (const { id } of visitsOf(appointment)) read.add(id);
      this.put(appointment);
    });
    yield* eachInPieces(this.#attendances, ([id, attendance]) => {
      if (!read.has(id) && !present.has(appointmentIdOf(id)) && overlaps(attendance, window)) this.remove(id);
    });
    this.#covered = joined(this.#covered, window);
  }

  putInvoice(invoice: HistoryInvoice): void {
    this.removeInvoice(invoice.id);
    const { patientId, status, issueDate, currency } = invoice;
    if (patientId === null || status === 'Draft' || status === 'Cancelled') return;
    const owner = this.#ownerOf(patientId);
    const amounts = { owner, issueDay: issueDate === null ? null : dayOf(issueDate), currency, ...centsOf(invoice) };
    this.#invoices.set(invoice.id, amounts);
    owner.amounts.push(amounts);
  }

  removeInvoice(invoiceId: string): void {
    const amounts = this.#invoices.get(invoiceId);
    if (amounts === undefined) return;
    this.#invoices.delete(invoiceId);
    takeOut(amounts.owner.amounts, amounts);
    this.#leave(amounts.owner);
  }

  *replaceInvoices(
    fromDate: string | null,
    invoices: Iterable<HistoryInvoice>,
    present: ReadonlySet<string> = NONE,
  ): Pieces<void> {
    const ids = new Set<string>();
    const fromDay = fromDate === null ? null : dayOf(fromDate);
    yield* eachInPieces(invoices, (invoice) => {
      ids.add(invoice.id);
      this.putInvoice(invoice);
    });
    yield* eachInPieces(this.#invoices, ([id, { issueDay }]) => {
      const isMeant = fromDay === null || (issueDay !== null && issueDay >= fromDay);
      if (isMeant && !ids.has(id) && !present.has(id)) this.removeInvoice(id);
    });
    this.#coveredFromDay = Math.min(this.#coveredFromDay, fromDay ?? -Infinity);
  }

  of(patientId: string, now: Instant): DerivedFields {
    const owner = this.#owners.get(patientId) ?? NOBODY;
    const amounts = this.#rules.countsInvoices ? owner.amounts : null;
    return derivedFields(owner.attendances, amounts, this.#today(now), now);
  }

  historyFrom(now: Instant): Instant {
    return this.#today(now).historyFromAt;
  }

  covers(now: Instant, until: Instant = now): boolean {
    const { historyFromAt, historyFromDay } = this.#today(now);
    const covered = this.#covered;
    if (covered === null || this.#coveredFromDay > historyFromDay) return false;
    return covered.fromAt <= historyFromAt && covered.toAt >= Math.max(now, until);
  }

  prune(now: Instant): void {
    const { historyFromAt, historyFromDay, todayAt } = this.#today(now);
    for (const [id, { startAt, lastAt }] of this.#attendances) {
      if (startAt < historyFromAt && lastAt < todayAt) this.remove(id);
    }
    for (const [id, { issueDay }] of this.#invoices) {
      if (issueDay !== null && issueDay < historyFromDay) this.removeInvoice(id);
    }
  }

  size(): { patients: number; appointments: number; invoices: number } {
    return { patients: this.#owners.size, appointments: this.#attendances.size, invoices: this.#invoices.size };
  }

  #today(now: Instant): Day {
    if (now < this.#day.todayAt || now >= this.#day.tomorrowAt) this.#day = dayAt(now, this.#rules);
    return this.#day;
  }

  #ownerOf(patientId: string): Owner {
    const existing = this.#owners.get(patientId);
    if (existing !== undefined) return existing;
    const owner: Owner = { patientId, attendances: [], amounts: [] };
    this.#owners.set(patientId, owner);
    return owner;
  }

  #leave({ patientId, attendances, amounts }: Owner): void {
    if (attendances.length + amounts.length === 0) this.#owners.delete(patientId);
  }
}

/**
 * Returns whether an appointment overlaps a window, as defined for snapshots: it starts before the window's end, and ends after the
 * window's start or starts in the window.
 */
function overlaps({ startAt, lastAt }: Attendance, { fromAt, toAt }: TimeWindow): boolean {
  return startAt < toAt && lastAt >= fromAt;
}

/** Returns one span for two windows that touch. Otherwise returns the new window, because the gap between the windows is unknown. */
function joined(existing: TimeWindow | null, window: TimeWindow): TimeWindow {
  if (existing === null || window.fromAt > existing.toAt || window.toAt < existing.fromAt) return window;
  return { fromAt: Math.min(existing.fromAt, window.fromAt), toAt: Math.max(existing.toAt, window.toAt) };
}

function takeOut<One>(list: One[], one: One): void {
  const index = list.indexOf(one);
  if (index >= 0) list.splice(index, 1);
}
