import type { RecordOf } from '../clinic/schema/fields.ts';
import type { invoice } from '../clinic/schema/shapes.ts';
import type { Appointment } from '../core/model/records.ts';
import { DAY_MS, type Instant, offsetMs } from '../core/model/time.ts';

/** Values computed for one patient from appointments and invoices; docs/crm-mapping.md defines each field. */
export interface DerivedFields {
  /** Start of the latest visit. */
  lastVisitAt: Instant | null;
  /** Start of the next appointment that has not begun. */
  nextAppointmentAt: Instant | null;
  /** Visits in the period. */
  visits: number;
  /** Missed appointments in the period. */
  noShows: number;
  /** Start of the earliest visit in the history. */
  firstSeenAt: Instant | null;
  patientStatus: 'new' | 'active' | 'lapsed';
  /** In the currency's unit, to the cent; null if invoices are not counted or the sum is unknown. */
  invoiced: number | null;
  /** Paid amount, in the unit of `invoiced` and null under the same conditions. */
  paid: number | null;
}

/** Rules for derived fields. Days are whole local days before today, plus today. */
export interface HistoryRules {
  /** IANA zone of the clinic, for the start of a day. */
  zone: string;
  /** Older records are ignored. */
  historyDays: number;
  /** Period for visits and missed appointments. */
  periodDays: number;
  /** A patient has lapsed if the last visit is older and no appointment is open. */
  lapsedAfterDays: number;
  /** Whether invoices are read; if not, amounts are null. */
  countsInvoices: boolean;
}

/** Fields of an invoice that the patient history uses. */
export type HistoryInvoice = Pick<
  RecordOf<typeof invoice>,
  'id' | 'patientId' | 'documentType' | 'status' | 'issueDate' | 'currency' | 'totalAmount' | 'paidAmount'
>;

/** Evidence of a status about attendance. Blocked time and cancelled appointments are no evidence and are not stored. */
type Evidence = 'came' | 'missed' | 'presumed' | 'unread';

/** Facts of one appointment about its patient. */
export interface Attendance {
  readonly startAt: Instant;
  /** Last instant of the appointment; the start for an appointment without duration. */
  readonly lastAt: Instant;
  readonly evidence: Evidence;
}

/** Facts of one invoice about its patient. Amounts are in cents, negative for a credit note, and null if unknown. */
export interface Amounts {
  /** Days since 1970-01-01; null without a date. */
  readonly issueDay: number | null;
  readonly currency: string | null;
  readonly invoicedCents: number | null;
  readonly paidCents: number | null;
}

/** Instants that derived fields depend on; constant for one day. */
export interface Day {
  todayAt: Instant;
  tomorrowAt: Instant;
  historyFromAt: Instant;
  historyFromDay: number;
  periodFromAt: Instant;
  activeFromAt: Instant;
}

/** A missing status is treated as booked; an unmapped status is `unread`. */
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

/** Returns the evidence of an appointment's status, or null for no evidence. */
export function evidenceOf(status: Appointment['status'], rawStatus: string | null): Evidence | null {
  return EVIDENCE[status === 'unknown' && rawStatus === null ? 'booked' : status];
}

/**
 * Computes the derived fields of one patient.
 * @param amounts null if invoices are not counted
 */
export function derivedFields(
  attendances: readonly Attendance[],
  amounts: readonly Amounts[] | null,
  day: Day,
  now: Instant,
): DerivedFields {
  return { ...attendance(attendances, day, now), ...billing(amounts, day) };
}

function attendance(attendances: readonly Attendance[], day: Day, now: Instant) {
  let lastVisitAt: Instant | null = null;
  let firstSeenAt: Instant | null = null;
  let nextAppointmentAt: Instant | null = null;
  let visits = 0;
  let noShows = 0;
  let isExpected = false;
  for (const one of attendances) {
    const { startAt } = one;
    const isInPeriod = startAt >= day.historyFromAt && startAt >= day.periodFromAt;
    if (isVisit(one, day)) {
      if (isInPeriod) visits += 1;
      lastVisitAt = Math.max(lastVisitAt ?? startAt, startAt);
      firstSeenAt = Math.min(firstSeenAt ?? startAt, startAt);
    } else if (one.evidence === 'missed') {
      if (isInPeriod && startAt < day.tomorrowAt) noShows += 1;
    } else if (isOpen(one, day)) {
      isExpected = true;
      if (startAt > now) nextAppointmentAt = Math.min(nextAppointmentAt ?? startAt, startAt);
    }
  }
  const patientStatus = patientStatusOf(lastVisitAt, isExpected, day);
  return { lastVisitAt, nextAppointmentAt, visits, noShows, firstSeenAt, patientStatus };
}

/** Returns whether the patient came. Without a report, a visit is presumed after the following midnight. */
function isVisit({ evidence, startAt, lastAt }: Attendance, day: Day): boolean {
  if (startAt < day.historyFromAt) return false;
  if (evidence === 'came') return startAt < day.tomorrowAt;
  return evidence === 'presumed' && lastAt < day.todayAt;
}

/** Returns whether the patient is expected: today if the appointment has no result, or on a later day. */
function isOpen({ evidence, startAt, lastAt }: Attendance, day: Day): boolean {
  return evidence === 'came' ? startAt >= day.tomorrowAt : lastAt >= day.todayAt;
}

function patientStatusOf(lastVisitAt: Instant | null, isExpected: boolean, day: Day): DerivedFields['patientStatus'] {
  if (lastVisitAt === null) return isExpected ? 'new' : 'lapsed';
  return isExpected || lastVisitAt >= day.activeFromAt ? 'active' : 'lapsed';
}

/** Amounts in several currencies have no sum. */
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

/** Returns the amounts of a document. A credit note is negative, whichever sign the clinic uses. */
export function centsOf({
  documentType,
  status,
  totalAmount,
  paidAmount,
}: HistoryInvoice): Pick<Amounts, 'invoicedCents' | 'paidCents'> {
  const total = toCents(totalAmount);
  const paid = paidAmount === null ? paidByStatus(status, total) : toCents(paidAmount);
  if (documentType !== 'CreditNote') return { invoicedCents: total, paidCents: paid };
  return { invoicedCents: takenOff(total), paidCents: takenOff(paid) };
}

function takenOff(cents: number | null): number | null {
  return cents === null ? null : 0 - Math.abs(cents);
}

/** Without a paid amount from the clinic, its status `Paid` means the total. */
function paidByStatus(status: string | null, total: number | null): number | null {
  if (status === 'Paid') return total;
  return status === 'Issued' ? 0 : null;
}

/** Maximum digits before the decimal point; a longer amount is a typing error, and a sum could exceed the range of a number. */
const LONGEST_AMOUNT = 9;

/** Converts decimal text to cents, rounded half away from zero; null for other text or too many digits. */
function toCents(decimal: string | null): number | null {
  const [, sign, whole = '', fraction = ''] = /^([+-]?)0*(\d+)(?:\.(\d*))?$/.exec(decimal ?? '') ?? [];
  if (sign === undefined || whole.length > LONGEST_AMOUNT) return null;
  const digits = fraction.padEnd(3, '0');
  const cents = Number(whole + digits.slice(0, 2)) + (Number(digits[2]) >= 5 ? 1 : 0);
  return sign === '-' ? 0 - cents : cents;
}

/**
 * Returns the instants of a day in the clinic's zone.
 * @throws RangeError for a zone missing from the IANA data
 */
export function dayAt(now: Instant, { zone, historyDays, periodDays, lapsedAfterDays }: HistoryRules): Day {
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

/** Returns the first instant of a local day (days since 1970-01-01), even if clocks skip or repeat midnight. */
function startOfDay(zone: string, day: number): Instant {
  const wallMs = day * DAY_MS;
  const [one, other] = [wallMs - offsetMs(zone, wallMs - DAY_MS), wallMs - offsetMs(zone, wallMs + DAY_MS)];
  const [earlier, later] = [Math.min(one, other), Math.max(one, other)];
  return earlier + offsetMs(zone, earlier) >= wallMs ? earlier : later;
}

/** Converts a date (`YYYY-MM-DD`) to days since 1970-01-01. */
export function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}
