import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { Appointment } from '../model/records.ts';
import type { Instant, TimeWindow } from '../model/time.ts';
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

/** What is known of every patient, kept current record by record. It holds instants, amounts and ids, no names and no texts. */
export interface PatientHistory {
  /** Takes an appointment; it replaces what was known under its id. */
  put(appointment: Appointment): void;
  /** Drops an appointment. */
  remove(appointmentId: string): void;
  /**
   * Takes a complete reading of a window, of all agendas: what was known to overlap the window and is not in it is dropped.
   * Until the last piece is done, `of` may answer from both.
   * @param present ids of rows that are there and can't be used: what is known of them stays
   */
  replaceWindow(window: TimeWindow, appointments: Iterable<Appointment>, present?: ReadonlySet<string>): Pieces<void>;
  /** Takes an invoice; it replaces what was known under its id. */
  putInvoice(invoice: HistoryInvoice): void;
  /** Drops an invoice. */
  removeInvoice(invoiceId: string): void;
  /**
   * Takes a complete reading of the invoices that were issued on a date or later (`YYYY-MM-DD`; null: of all invoices): what was
   * known of that time and is not in it is dropped.
   * @param present as with `replaceWindow`
   */
  replaceInvoices(
    fromDate: string | null,
    invoices: Iterable<HistoryInvoice>,
    present?: ReadonlySet<string>,
  ): Pieces<void>;
  /** The fields of a patient; one of whom nothing is known has never been here. */
  of(patientId: string, now: Instant): DerivedFields;
  /** First instant of the history: a reading must begin there, or earlier. */
  historyFrom(now: Instant): Instant;
  /**
   * Whether complete readings, without a gap, reach from the beginning of the history to now: of appointments, and of invoices if
   * they are counted. If not, `of` answers from a part, which is not to be written anywhere.
   * @param until how far ahead of now they must reach besides
   */
  covers(now: Instant, until?: Instant): boolean;
  /** Drops what is older than the history, which no later answer needs. */
  prune(now: Instant): void;
  /** How much is held, for metrics. */
  size(): { patients: number; appointments: number; invoices: number };
}

/** Of one appointment, as little as is needed: a clinic has some 200,000. */
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
 * Begins an empty history of one clinic's patients.
 * @throws RangeError for a zone that the IANA data does not know
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
  /** Since when all invoices are known. */
  #coveredFromDay: number;

  constructor(rules: HistoryRules) {
    this.#rules = rules;
    this.#day = dayAt(0, rules);
    this.#coveredFromDay = rules.countsInvoices ? Infinity : -Infinity;
  }

  put({ id, patientId, status, rawStatus, time }: Appointment): void {
    const evidence = evidenceOf(status, rawStatus);
    const { startAt } = time;
    const lastAt = Math.max(startAt, time.endAt - 1);
    const existing = this.#attendances.get(id);
    // Nearly all of a reading is as it was, and stays in place.
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
      read.add(appointment.id);
      this.put(appointment);
    });
    yield* eachInPieces(this.#attendances, ([id, attendance]) => {
      if (!read.has(id) && !present.has(id) && overlaps(attendance, window)) this.remove(id);
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

/** As snapshots mean it: start before the window's end, and end after its start or start in it. */
function overlaps({ startAt, lastAt }: Attendance, { fromAt, toAt }: TimeWindow): boolean {
  return startAt < toAt && lastAt >= fromAt;
}

/** One span of two windows that touch; else the new one alone, since nothing is known of what lies between. */
function joined(existing: TimeWindow | null, window: TimeWindow): TimeWindow {
  if (existing === null || window.fromAt > existing.toAt || window.toAt < existing.fromAt) return window;
  return { fromAt: Math.min(existing.fromAt, window.fromAt), toAt: Math.max(existing.toAt, window.toAt) };
}

function takeOut<One>(list: One[], one: One): void {
  const index = list.indexOf(one);
  if (index >= 0) list.splice(index, 1);
}
