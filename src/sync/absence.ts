import type { Appointment, Invoice, Patient } from '../model/records.ts';
import type { AppointmentSnapshot } from '../model/snapshots.ts';
import { DAY_MS, type Instant, SECOND_MS } from '../model/time.ts';
import { type AbsenceEvidence, goneShareOf } from './guard.ts';

/** What reading absent records of one stream alone told. */
export interface Confirmation<Source> {
  /** They are there after all; the list did not show them. */
  found: Source[];
  /** How many of `found` the list should have shown. More than 0: the list is not complete. */
  unlisted: number;
  /** They are there and can't be used. */
  unusable: Set<string>;
  /**
   * They are gone: 404 or 410 for the record itself, by two readings of which the second is complete; by one reading of any kind if an
   * administrator approved the removal.
   */
  vanished: Set<string>;
  /** They are gone for the first time: believed when a later reading finds the same. */
  missedOnce: Set<string>;
  /** A hold keeps them wherever they are missing: nothing new is said of them. */
  present: Set<string>;
  /** Asked for by chance, and answered: they tell of those that nobody asked for. */
  sampled: Set<string>;
  /** Absent records that nothing can be done about yet: missed once, unusable, or not asked for. */
  unconfirmed: number;
}

/** What reading absent records alone told, by stream. */
export interface Confirmations {
  appointments: Confirmation<Appointment>;
  patients: Confirmation<Patient>;
  invoices: Confirmation<Invoice>;
}

/** What is known of absent records from the readings before. */
export interface Misses {
  /** Records that were gone when they were read alone: when the first reading began that missed them. */
  missedSince: ReadonlyMap<string, Instant>;
  /** When the reading began that misses them now. */
  readAt: Instant;
}

/** A first miss that is older is dropped: what is missed then is missed again. */
const MISS_LIFE_MS = 7 * DAY_MS;

/** Nothing was missing. */
export function nothingMissing<Source>(): Confirmation<Source> {
  const none = () => new Set<string>();
  const sets = { unusable: none(), vanished: none(), missedOnce: none(), present: none(), sampled: none() };
  return { found: [], unlisted: 0, ...sets, unconfirmed: 0 };
}

/**
 * Tells, for one target, what its absent records are.
 * @param isWritten whether the target is known to hold the record: what only may have been written is taken back at the first miss, so
 *   that nothing is written of it meanwhile
 */
export function evidenceOf(
  { vanished, missedOnce, present, sampled }: Confirmation<unknown>,
  missing: readonly string[],
  isWritten: (recordId: string) => boolean,
): AbsenceEvidence {
  const isGone = (id: string) => vanished.has(id) || missedOnce.has(id);
  const asked = missing.filter((id) => sampled.has(id));
  return {
    isProven: (id) => vanished.has(id) || (missedOnce.has(id) && !isWritten(id)),
    isUnknown: (id) => !isGone(id) && !present.has(id),
    goneShare: goneShareOf(asked.length, asked.filter(isGone).length),
  };
}

/**
 * The misses that the next cycle should know. One that was seen, or is there, is no miss any more.
 * @param isSeen whether the reading shows a row of it
 */
export function missesAfter(
  { missedSince, readAt }: Misses,
  { found, unusable, missedOnce }: Confirmation<{ id: string }>,
  isSeen: (recordId: string) => boolean,
): Map<string, Instant> {
  const isThere = new Set([...found.map(({ id }) => id), ...unusable]);
  const remembered = [...missedSince].filter(
    ([id, missedAt]) => !isSeen(id) && !isThere.has(id) && missedAt > readAt - MISS_LIFE_MS,
  );
  const next = new Map(remembered);
  for (const id of missedOnce) if (!next.has(id)) next.set(id, readAt);
  return next;
}

/** Statuses that lists of current appointments often leave out. */
const CLOSED: ReadonlySet<Appointment['status']> = new Set(['cancelled', 'completed', 'no_show']);
/** Statuses of invoices that lists often leave out. */
const UNISSUED: ReadonlySet<string | null> = new Set(['Cancelled', 'Draft']);

/**
 * Returns whether a complete list of appointments must show a record that was read alone: it is open, lies inside the window and agendas of
 * the list, and is where it was before the list was read. A record that moved or changed in between proves nothing.
 * @param startsBefore when the record began as far as targets and reminders know
 */
export function belongsOnList(
  { status, time, agendaId, updatedAt }: Appointment,
  { window, agendaIds }: Pick<AppointmentSnapshot, 'window' | 'agendaIds'>,
  { startsBefore, readAt }: { startsBefore: readonly Instant[]; readAt: Instant },
): boolean {
  const isInside = time.startAt >= window.fromAt && time.endAt <= window.toAt;
  const isOfAgendas = agendaIds === null || agendaIds.includes(agendaId);
  const isUnmoved = startsBefore.some((startAt) => Math.abs(startAt - time.startAt) < SECOND_MS);
  return !CLOSED.has(status) && isInside && isOfAgendas && isUnmoved && isOlder(updatedAt, readAt);
}

/** Returns the same for a list of patients: lists often leave out patients who are not active. */
export function patientBelongsOnList({ isActive, updatedAt }: Patient, readAt: Instant): boolean {
  return isActive && isOlder(updatedAt, readAt);
}

/** Returns the same for a list of invoices. */
export function invoiceBelongsOnList({ status }: Invoice): boolean {
  return !UNISSUED.has(status);
}

function isOlder(updatedAt: Instant | null, readAt: Instant): boolean {
  return updatedAt === null || updatedAt < readAt;
}
