import type { RecordOf } from '../clinic/schema/fields.ts';
import type { invoice } from '../clinic/schema/shapes.ts';
import type { Appointment } from '../model/records.ts';
import { DAY_MS, type Instant, offsetMs } from '../model/time.ts';

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
  patientStatus: 'new' | 'active' | 'lapsed';
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

/** What the patient history reads of an invoice. */
export type HistoryInvoice = Pick<
  RecordOf<typeof invoice>,
  'id' | 'patientId' | 'documentType' | 'status' | 'issueDate' | 'currency' | 'totalAmount' | 'paidAmount'
>;

/** What a status proves. Blocked time and cancelled appointments prove nothing and are not kept. */
type Evidence = 'came' | 'missed' | 'presumed' | 'unread';

/** What one appointment says of its patient. */
export interface Attendance {
  readonly startAt: Instant;
  /** Its last moment; of one without length, its start. */
  readonly lastAt: Instant;
  readonly evidence: Evidence;
}

/** What one invoice says of its patient. Amounts are in cents, negative for a credit note; null when they can't be told. */
export interface Amounts {
  /** Days since 1970-01-01; null without a date. */
  readonly issueDay: number | null;
  readonly currency: string | null;
  readonly invoicedCents: number | null;
  readonly paidCents: number | null;
}

/** The instants on which answers hang; the same all day long. */
export interface Day {
  todayAt: Instant;
  tomorrowAt: Instant;
  historyFromAt: Instant;
  historyFromDay: number;
  periodFromAt: Instant;
  activeFromAt: Instant;
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

/** What an appointment's status proves; null when it proves nothing. */
export function evidenceOf(status: Appointment['status'], rawStatus: string | null): Evidence | null {
  return EVIDENCE[status === 'unknown' && rawStatus === null ? 'booked' : status];
}

/**
 * What a patient's appointments and invoices say of the patient.
 * @param amounts null when invoices are not counted
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

/** Somebody came; or nobody said otherwise until the midnight after it. */
function isVisit({ evidence, startAt, lastAt }: Attendance, day: Day): boolean {
  if (startAt < day.historyFromAt) return false;
  if (evidence === 'came') return startAt < day.tomorrowAt;
  return evidence === 'presumed' && lastAt < day.todayAt;
}

/** The patient is expected: today, if nobody said what became of it, or on a later day. */
function isOpen({ evidence, startAt, lastAt }: Attendance, day: Day): boolean {
  return evidence === 'came' ? startAt >= day.tomorrowAt : lastAt >= day.todayAt;
}

function patientStatusOf(lastVisitAt: Instant | null, isExpected: boolean, day: Day): DerivedFields['patientStatus'] {
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

/**
 * The day of an instant in the clinic's zone.
 * @throws RangeError for a zone that the IANA data does not know
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

/** First instant of a local day that is given in days since 1970-01-01: also where clocks skip or repeat midnight. */
function startOfDay(zone: string, day: number): Instant {
  const wallMs = day * DAY_MS;
  const [one, other] = [wallMs - offsetMs(zone, wallMs - DAY_MS), wallMs - offsetMs(zone, wallMs + DAY_MS)];
  const [earlier, later] = [Math.min(one, other), Math.max(one, other)];
  return earlier + offsetMs(zone, earlier) >= wallMs ? earlier : later;
}

/** Days since 1970-01-01 of a date (`YYYY-MM-DD`). */
export function dayOf(date: string): number {
  return Date.parse(date) / DAY_MS;
}
