import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { Appointment } from '../model/records.ts';
import { DAY_MS, type Instant, type TimeWindow } from '../model/time.ts';
import { offsetMs } from '../model/zones.ts';
import type { invoice } from '../settings/clinic-billing.ts';
import type { RecordOf } from '../settings/clinic-fields.ts';

/** What is computed of one patient from appointments and invoices; each field is defined in docs/crm-derived-fields.md. */
export interface DerivedFields {
  /** Start of the latest visit. */
  lastVisitAt: Instant | null;
  /** Start of the next appointment that has not begun. */
  nextAppointmentAt: Instant | null;
  /** Visits in the period. */
  visits: number;
  /** Appointments in the period to which the patient did not come. */
  noShows: number;
  /** Start of the earliest visit that the history reaches. */
  firstSeenAt: Instant | null;
  standing: 'new' | 'active' | 'lapsed';
  /** In the currency's unit, to the cent; null when invoices are not counted or the sum can't be told. */
  invoiced: number | null;
  /** As `invoiced`. */
  paid: number | null;
}

/** How derived fields are computed: the days are whole local days before today, today itself counts besides. */
export interface HistoryRules {
  /** IANA zone of the clinic, which says when a day begins. */
  zone: string;
  /** What is older is not looked at. */
  historyDays: number;
  /** In which visits and no-shows are counted. */
  periodDays: number;
  /** A patient whose last visit is longer ago, and who is not expected, has lapsed. */
  lapsedAfterDays: number;
  /** Whether invoices are read; if not, amounts are null. */
  countsInvoices: boolean;
}

/** What the ledger reads of an invoice. */
export type HistoryInvoice = Pick<
  RecordOf<typeof invoice>,
  'id' | 'patientId' | 'documentType' | 'status' | 'issueDate' | 'currency' | 'totalAmount' | 'paidAmount'
>;

/** What is known of every patient, kept current record by record. It holds instants, amounts and ids, no names and no texts. */
export interface PatientHistory {
  /** Takes an appointment; it replaces what was known under its id. */
  put(appointment: Appointment): void;
  /** Forgets an appointment. */
  remove(appointmentId: string): void;
  /**
   * Takes a complete reading of a window, of all agendas: what was known to overlap the window and is not in it is forgotten.
   * Until the last piece is done, `of` may answer from both.
   * @param present ids of rows that are there and can't be used: what is known of them stays
   */
  replaceWindow(window: TimeWindow, appointments: Iterable<Appointment>, present?: ReadonlySet<string>): Pieces<void>;
  /** Takes an invoice; it replaces what was known under its id. */
  putInvoice(invoice: HistoryInvoice): void;
  /** Forgets an invoice. */
  removeInvoice(invoiceId: string): void;
  /**
   * Takes a complete reading of the invoices that were issued on a date or later (`YYYY-MM-DD`; null: of all invoices): what was
   * known of that time and is not in it is forgotten.
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
  /** Forgets what is older than the history, which no later answer needs. */
  prune(now: Instant): void;
  /** How much is held, for metrics. */
  size(): { patients: number; appointments: number; invoices: number };
}

/** What a status proves. Blocked time and cancelled appointments prove nothing and are not kept. */
type Evidence = 'came' | 'missed' | 'presumed' | 'unread';

/** Of one appointment, as little as is needed: a clinic has some 200,000. */
interface Entry {
  readonly owner: Owner;
  readonly startAt: Instant;
  /** Its last moment; of one without length, its start. */
  readonly lastAt: Instant;
  readonly evidence: Evidence;
}

/** Amounts are in cents, negative for a credit note; null when they can't be told. */
interface Amounts {
  readonly owner: Owner;
  /** Days since 1970-01-01; null without a date. */
  readonly issueDay: number | null;
  readonly currency: string | null;
  readonly invoicedCents: number | null;
  readonly paidCents: number | null;
}

interface Owner {
  readonly patientId: string;
  readonly entries: Entry[];
  readonly amounts: Amounts[];
}

/** The instants on which answers hang; the same all day long. */
interface Day {
  todayAt: Instant;
  tomorrowAt: Instant;
  historyFromAt: Instant;
  historyFromDay: number;
  periodFromAt: Instant;
  activeFromAt: Instant;
}

const NOBODY: Owner = { patientId: '', entries: [], amounts: [] };
const NONE: ReadonlySet<string> = new Set();

/**
 * Begins an empty ledger of one clinic.
 * @throws RangeError for a zone that the IANA data does not know
 */
export function createPatientHistory(rules: HistoryRules): PatientHistory {
  const owners = new Map<string, Owner>();
  const entries = new Map<string, Entry>();
  const invoices = new Map<string, Amounts>();
  let day = dayAt(0, rules);
  let covered: TimeWindow | null = null;
  /** Since when all invoices are known. */
  let coveredFromDay = rules.countsInvoices ? Infinity : -Infinity;

  function today(now: Instant): Day {
    if (now < day.todayAt || now >= day.tomorrowAt) day = dayAt(now, rules);
    return day;
  }

  function ownerOf(patientId: string): Owner {
    const known = owners.get(patientId);
    if (known !== undefined) return known;
    const owner: Owner = { patientId, entries: [], amounts: [] };
    owners.set(patientId, owner);
    return owner;
  }

  function leave({ patientId, entries: its, amounts }: Owner): void {
    if (its.length + amounts.length === 0) owners.delete(patientId);
  }

  function remove(appointmentId: string): void {
    const entry = entries.get(appointmentId);
    if (entry === undefined) return;
    entries.delete(appointmentId);
    takeOut(entry.owner.entries, entry);
    leave(entry.owner);
  }

  function put({ id, patientId, status, rawStatus, time }: Appointment): void {
    const evidence = EVIDENCE[status === 'unknown' && rawStatus === null ? 'booked' : status];
    const { startAt } = time;
    const lastAt = Math.max(startAt, time.endAt - 1);
    const known = entries.get(id);
    // Nearly all of a reading is as it was, and stays in place.
    const isAsKnown = known?.owner.patientId === patientId && known.evidence === evidence;
    if (isAsKnown && known.startAt === startAt && known.lastAt === lastAt) return;
    remove(id);
    if (patientId === null || evidence === null) return;
    const owner = ownerOf(patientId);
    const entry = { owner, startAt, lastAt, evidence };
    entries.set(id, entry);
    owner.entries.push(entry);
  }

  function removeInvoice(invoiceId: string): void {
    const amounts = invoices.get(invoiceId);
    if (amounts === undefined) return;
    invoices.delete(invoiceId);
    takeOut(amounts.owner.amounts, amounts);
    leave(amounts.owner);
  }

  function putInvoice(invoice: HistoryInvoice): void {
    removeInvoice(invoice.id);
    const { patientId, status, issueDate, currency } = invoice;
    if (patientId === null || status === 'Draft' || status === 'Cancelled') return;
    const owner = ownerOf(patientId);
    const amounts = { owner, issueDay: issueDate === null ? null : dayOf(issueDate), currency, ...centsOf(invoice) };
    invoices.set(invoice.id, amounts);
    owner.amounts.push(amounts);
  }

  return {
    put,
    remove,
    *replaceWindow(window, appointments, present = NONE) {
      const read = new Set<string>();
      yield* eachInPieces(appointments, (appointment) => {
        read.add(appointment.id);
        put(appointment);
      });
      yield* eachInPieces(entries, ([id, entry]) => {
        if (!read.has(id) && !present.has(id) && overlaps(entry, window)) remove(id);
      });
      covered = joined(covered, window);
    },
    putInvoice,
    removeInvoice,
    *replaceInvoices(fromDate, read, present = NONE) {
      const ids = new Set<string>();
      const fromDay = fromDate === null ? null : dayOf(fromDate);
      yield* eachInPieces(read, (invoice) => {
        ids.add(invoice.id);
        putInvoice(invoice);
      });
      yield* eachInPieces(invoices, ([id, { issueDay }]) => {
        const isMeant = fromDay === null || (issueDay !== null && issueDay >= fromDay);
        if (isMeant && !ids.has(id) && !present.has(id)) removeInvoice(id);
      });
      coveredFromDay = Math.min(coveredFromDay, fromDay ?? -Infinity);
    },
    of(patientId, now) {
      const owner = owners.get(patientId) ?? NOBODY;
      const amounts = rules.countsInvoices ? owner.amounts : null;
      return { ...attendance(owner.entries, today(now), now), ...billing(amounts, today(now)) };
    },
    historyFrom: (now) => today(now).historyFromAt,
    covers(now, until = now) {
      const { historyFromAt, historyFromDay } = today(now);
      if (covered === null || coveredFromDay > historyFromDay) return false;
      return covered.fromAt <= historyFromAt && covered.toAt >= Math.max(now, until);
    },
    prune(now) {
      const { historyFromAt, historyFromDay, todayAt } = today(now);
      for (const [id, { startAt, lastAt }] of entries) {
        if (startAt < historyFromAt && lastAt < todayAt) remove(id);
      }
      for (const [id, { issueDay }] of invoices) {
        if (issueDay !== null && issueDay < historyFromDay) removeInvoice(id);
      }
    },
    size: () => ({ patients: owners.size, appointments: entries.size, invoices: invoices.size }),
  };
}

/** An appointment without a status is like a booked one; a status whose word nobody explained is `unread`. */
const EVIDENCE: Readonly<Record<Appointment['status'], Evidence | null>> = {
  booked: 'presumed',
  confirmed: 'presumed',
  arrived: 'came',
  in_progress: 'came',
  completed: 'came',
  no_show: 'missed',
  cancelled: null,
  unknown: 'unread',
};

function attendance(entries: readonly Entry[], day: Day, now: Instant) {
  let lastVisitAt: Instant | null = null;
  let firstSeenAt: Instant | null = null;
  let nextAppointmentAt: Instant | null = null;
  let visits = 0;
  let noShows = 0;
  let isExpected = false;
  for (const entry of entries) {
    const { startAt } = entry;
    const isInPeriod = startAt >= day.historyFromAt && startAt >= day.periodFromAt;
    if (isVisit(entry, day)) {
      if (isInPeriod) visits += 1;
      lastVisitAt = Math.max(lastVisitAt ?? startAt, startAt);
      firstSeenAt = Math.min(firstSeenAt ?? startAt, startAt);
    } else if (entry.evidence === 'missed') {
      if (isInPeriod && startAt < day.tomorrowAt) noShows += 1;
    } else if (isOpen(entry, day)) {
      isExpected = true;
      if (startAt > now) nextAppointmentAt = Math.min(nextAppointmentAt ?? startAt, startAt);
    }
  }
  const standing = standingOf(lastVisitAt, isExpected, day);
  return { lastVisitAt, nextAppointmentAt, visits, noShows, firstSeenAt, standing };
}

/** Somebody came; or nobody said otherwise until the midnight after it. */
function isVisit({ evidence, startAt, lastAt }: Entry, day: Day): boolean {
  if (startAt < day.historyFromAt) return false;
  if (evidence === 'came') return startAt < day.tomorrowAt;
  return evidence === 'presumed' && lastAt < day.todayAt;
}

/** The patient is expected: today, if nobody said what became of it, or on a later day. */
function isOpen({ evidence, startAt, lastAt }: Entry, day: Day): boolean {
  return evidence === 'came' ? startAt >= day.tomorrowAt : lastAt >= day.todayAt;
}

function standingOf(lastVisitAt: Instant | null, isExpected: boolean, day: Day): DerivedFields['standing'] {
  if (lastVisitAt === null) return isExpected ? 'new' : 'lapsed';
  return isExpected || lastVisitAt >= day.activeFromAt ? 'active' : 'lapsed';
}

/** Amounts in several currencies make no sum. */
function billing(all: readonly Amounts[] | null, { historyFromDay }: Day): Pick<DerivedFields, 'invoiced' | 'paid'> {
  const amounts = all?.filter(({ issueDay }) => issueDay === null || issueDay >= historyFromDay) ?? null;
  const currencies = new Set(amounts?.map(({ currency }) => currency).filter((currency) => currency !== null));
  if (amounts === null || currencies.size > 1) return { invoiced: null, paid: null };
  return {
    invoiced: sum(amounts.map(({ invoicedCents }) => invoicedCents)),
    paid: sum(amounts.map(({ paidCents }) => paidCents)),
  };
}

function sum(cents: readonly (number | null)[]): number | null {
  let total = 0;
  for (const each of cents) {
    if (each === null) return null;
    total += each;
  }
  return total / 100;
}

/** What a document adds: a credit note takes off, whichever sign the clinic writes it with. */
function centsOf({ documentType, status, totalAmount, paidAmount }: HistoryInvoice) {
  const total = toCents(totalAmount);
  const paid = paidAmount === null ? paidByStatus(status, total) : toCents(paidAmount);
  if (documentType !== 'CreditNote') return { invoicedCents: total, paidCents: paid };
  return { invoicedCents: takenOff(total), paidCents: takenOff(paid) };
}

function takenOff(cents: number | null): number | null {
  return cents === null ? null : 0 - Math.abs(cents);
}

/** Where the clinic tells no amount paid, its word for the whole may do. */
function paidByStatus(status: string | null, total: number | null): number | null {
  if (status === 'Paid') return total;
  return status === 'Issued' ? 0 : null;
}

/** Digits before the point up to which an amount is believed; a longer one is a slip, and could make a sum that a number can't hold. */
const LONGEST_AMOUNT = 9;

/** Decimal text in cents, rounded half away from zero; null when it is none or absurdly large. */
function toCents(decimal: string | null): number | null {
  const [, sign, whole = '', fraction = ''] = /^([+-]?)0*(\d+)(?:\.(\d*))?$/.exec(decimal ?? '') ?? [];
  if (sign === undefined || whole.length > LONGEST_AMOUNT) return null;
  const digits = fraction.padEnd(3, '0');
  const cents = Number(whole + digits.slice(0, 2)) + (Number(digits[2]) >= 5 ? 1 : 0);
  return sign === '-' ? 0 - cents : cents;
}

function dayAt(now: Instant, { zone, historyDays, periodDays, lapsedAfterDays }: HistoryRules): Day {
  const today = Math.floor((now + offsetMs(zone, now)) / DAY_MS);
  return {
    todayAt: startOfDay(zone, today),
    tomorrowAt: startOfDay(zone, today + 1),
    historyFromAt: startOfDay(zone, today - historyDays),
    historyFromDay: today - historyDays,
    periodFromAt: startOfDay(zone, today - periodDays),
    activeFromAt: startOfDay(zone, today - lapsedAfterDays),
  };
}

/** First instant of a local day that is given in days since 1970-01-01: also where clocks skip or repeat midnight. */
function startOfDay(zone: string, day: number): Instant {
  const wallMs = day * DAY_MS;
  const [one, other] = [wallMs - offsetMs(zone, wallMs - DAY_MS), wallMs - offsetMs(zone, wallMs + DAY_MS)];
  const [earlier, later] = [Math.min(one, other), Math.max(one, other)];
  return earlier + offsetMs(zone, earlier) >= wallMs ? earlier : later;
}

function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}

/** As snapshots mean it: start before the window's end, and end after its start or start in it. */
function overlaps({ startAt, lastAt }: Entry, { fromAt, toAt }: TimeWindow): boolean {
  return startAt < toAt && lastAt >= fromAt;
}

/** One span of two windows that touch; else the new one alone, since nothing is known of what lies between. */
function joined(known: TimeWindow | null, window: TimeWindow): TimeWindow {
  if (known === null || window.fromAt > known.toAt || window.toAt < known.fromAt) return window;
  return { fromAt: Math.min(known.fromAt, window.fromAt), toAt: Math.max(known.toAt, window.toAt) };
}

function takeOut<One>(list: One[], one: One): void {
  const index = list.indexOf(one);
  if (index >= 0) list.splice(index, 1);
}
