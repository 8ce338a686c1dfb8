import { randomUUID } from 'node:crypto';
import { ReadingMemory } from '../clinic/read/reading-memory.ts';
import type { CacheBudget } from '../model/cache.ts';
import type { MirrorError } from '../model/errors.ts';
import type { Appointment, Invoice, Patient } from '../model/records.ts';
import type { Snapshot } from '../model/snapshots.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import type { AgendaIndex } from '../sync/agenda-index.ts';

/** What was read of a stream, and when the reading began. */
interface StreamReading<Source> {
  snapshot: Snapshot<Source>;
  readAt: Instant;
}

/** The registry of patients as it was read. */
interface Registry extends StreamReading<Patient> {
  /** By target of contacts: patients who were found to be gone, for as long as this reading is used. */
  gone: Map<string, ReadonlySet<string>>;
}

/** Appointments before the window that each cycle reads. */
export interface History {
  /** Empty once the ledgers have taken them: they hold less of each, and no names. */
  appointments: ReadonlyMap<string, Appointment>;
  /** Ids of rows that are there and can't be used. */
  unusable: ReadonlySet<string>;
  fromAt: Instant;
  readAt: Instant;
}

/** The streams that aren't read with each cycle. */
export interface StreamReadings {
  patients: Registry | null;
  invoices: StreamReading<Invoice> | null;
  history: History | null;
}

/** Which readings a patient history has taken. */
export interface Taken {
  /** When the reading of the far past began that it holds; null before the first. */
  historyAt: Instant | null;
  /** How many appointments the windows held that it took, by their length in hours: other readings widen them at times. */
  windowSizes: Map<number, ListSize>;
  /** How many invoices there were. */
  invoices: ListSize;
}

/** It has taken none. */
export function nothingTaken(): Taken {
  return { historyAt: null, windowSizes: new Map(), invoices: createListSize() };
}

/** A stream that could not be read. */
export interface FailedReading {
  error: MirrorError;
  failedAt: Instant;
  /** Failures one after the other. */
  inTurn: number;
}

/** What one process keeps of these streams. */
export interface StreamMemory extends StreamReadings {
  /** Names this process among those that go on working for the tenant; null in a person's command. */
  process: string | null;
  failures: Map<keyof StreamReadings, FailedReading>;
  /** How many appointments the past that was taken last held. */
  historySize: ListSize;
  /** What each cycle reads again. */
  appointments: ReadingMemory<Appointment>;
  /** Those of the last reading by agenda; null when none is kept. */
  byAgenda: AgendaIndex | null;
  /** Whether the appointments that were read last lacked names of patients: the list of patients is then read before them. */
  lacksNames: boolean;
}

/**
 * Nothing is read yet.
 * @param room for what is kept of appointments between two cycles
 * @param goesOn whether this process goes on working for the tenant; a person's command does not
 */
export function emptyStreamMemory(room: CacheBudget, goesOn: boolean): StreamMemory {
  const memory: StreamMemory = {
    process: goesOn ? randomUUID() : null,
    ...{ patients: null, invoices: null, history: null, byAgenda: null, lacksNames: false },
    appointments: new ReadingMemory<Appointment>(room, () => {
      memory.byAgenda = null;
    }),
    failures: new Map(),
    historySize: createListSize(),
  };
  return memory;
}

/**
 * A whole list that is shorter than the one before by more than this share and this count is doubted: more likely a list that lies than
 * a day's work. As with the guard of deletions, of which this is the counterpart for what is computed.
 */
const SUSPECT_SHARE = 0.2;
const SUSPECT_COUNT = 10;
/** What the clinic has shown for so long is so. */
const SUSPECT_FOR_MS = DAY_MS;

/** The size of a list that is read again and again. */
export interface ListSize {
  /** Rows of the last reading that was believed; null before the first. */
  count: number | null;
  /** Since when readings have not been believed. */
  sinceAt: Instant | null;
}

/** Nothing was read yet: the first reading is believed. */
export function createListSize(): ListSize {
  return { count: null, sinceAt: null };
}

/** Takes the size of another whole reading in. @returns false for one that must not be believed yet */
export function isBelievable(listSize: ListSize, count: number, now: Instant): boolean {
  const lost = (listSize.count ?? 0) - count;
  const isDoubtful = lost > SUSPECT_COUNT && lost > (listSize.count ?? 0) * SUSPECT_SHARE;
  listSize.sinceAt = isDoubtful ? (listSize.sinceAt ?? now) : null;
  if (listSize.sinceAt !== null && now - listSize.sinceAt < SUSPECT_FOR_MS) return false;
  listSize.count = count;
  listSize.sinceAt = null;
  return true;
}
