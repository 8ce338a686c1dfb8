import { randomUUID } from 'node:crypto';
import { ReadingMemory } from '../clinic/read/reading-memory.ts';
import type { CacheBudget } from '../core/model/cache.ts';
import type { MirrorError } from '../core/model/errors.ts';
import type { Appointment, Invoice, Patient } from '../core/model/records.ts';
import type { Snapshot } from '../core/model/snapshots.ts';
import { DAY_MS, type Instant } from '../core/model/time.ts';
import type { AgendaIndex } from './agenda-index.ts';

/** A stream's snapshot, with the start of its read. */
interface StreamReading<Source> {
  snapshot: Snapshot<Source>;
  readAt: Instant;
}

/** The last read list of patients. */
interface Registry extends StreamReading<Patient> {
  /** By target of contacts: patients found gone while this list is used. */
  gone: Map<string, ReadonlySet<string>>;
  /** Ids of remaining patients by the ids of patients merged into them, from single answers. */
  merged: Map<string, string>;
}

/** Appointments before the window that each cycle reads. */
export interface History {
  /** Empty after the histories have received them: histories store less of each, and no names. */
  appointments: ReadonlyMap<string, Appointment>;
  /** Ids of unusable records. */
  unusable: ReadonlySet<string>;
  fromAt: Instant;
  readAt: Instant;
}

/** The streams not read in each cycle. */
export interface StreamReadings {
  patients: Registry | null;
  invoices: StreamReading<Invoice> | null;
  history: History | null;
}

/** Reads received by a patient history. */
export interface Taken {
  /** Start of the last received read of past appointments; null before the first. */
  historyAt: Instant | null;
  /** Number of appointments in received windows, by the window's length in hours: other users sometimes extend a read. */
  windowSizes: Map<number, ListSize>;
  /** Number of invoices. */
  invoices: ListSize;
}

/** Returns the state before the first read. */
export function nothingTaken(): Taken {
  return { historyAt: null, windowSizes: new Map(), invoices: createListSize() };
}

/** A stream that could not be read. */
export interface FailedReading {
  error: MirrorError;
  failedAt: Instant;
  /** Consecutive failures. */
  inTurn: number;
}

/** One process's memory of these streams. */
export interface StreamMemory extends StreamReadings {
  /** Identifies this process among the daemons; null in a command. */
  process: string | null;
  failures: Map<keyof StreamReadings, FailedReading>;
  /** Size of the last received list of past appointments. */
  historySize: ListSize;
  /** Appointments read in each cycle. */
  appointments: ReadingMemory<Appointment>;
  /** Last read appointments by agenda, or null. */
  byAgenda: AgendaIndex | null;
  /** Whether the last read appointments lacked patients' names: the list of patients is then read first. */
  lacksNames: boolean;
}

/**
 * Creates an empty memory.
 * @param room budget for appointments kept between two cycles
 * @param goesOn whether the process is a daemon, not a command
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
 * A full list is distrusted if it is shorter than the previous list by more than this share and this count: an incomplete list is more
 * likely than a normal day. For computed values, this check corresponds to the guard of deletions.
 */
const SUSPECT_SHARE = 0.2;
const SUSPECT_COUNT = 10;
/** After this time, a smaller list is accepted. */
const SUSPECT_FOR_MS = DAY_MS;

/** The size of a list that is read repeatedly. */
export interface ListSize {
  /** Records of the last accepted read; null before the first. */
  count: number | null;
  /** Start of the distrust. */
  sinceAt: Instant | null;
}

/** Creates a size without reads: the first read is accepted. */
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
