import type { StoredError } from '../model/errors.ts';
import type { RefusedThere } from '../model/items.ts';
import type { Instant } from '../model/time.ts';
import { FORGED } from './forged.ts';
import { openSealed, type Sealer } from './sealing.ts';
import type { StoredFields, TargetProof } from './target-proof.ts';

/** Why a target stands still, in words that every surface repeats. */
export interface TargetFailure extends StoredError {
  sinceAt: Instant;
  /** The other side said how long to wait. */
  isAskedToWait?: boolean;
}

/** What is known of a target beside its links and outbox. */
export interface StoredTarget {
  /** The calendar that the connector works in; null until it was prepared. */
  container: string | null;
  /** When its own objects were last read to rebuild links; null: links can't be trusted to be all. */
  adoptedAt: Instant | null;
  /** When the state had last gone back by then; null when it never had. What was written in the time that it lost has no links. */
  wentBackAt: Instant | null;
  /** When reading began of the newest complete snapshot that was planned. */
  plannedAsOf: Instant | null;
  /** When reading began of the newest reading of the next two days alone that was planned; null before the first. */
  nearAsOf: Instant | null;
  /** The newest time of `plannedAsOf` at which nothing was pending, failing or held. */
  settledAsOf: Instant | null;
  /** When nothing waited for the first time since its calendar is the one that it is: its first sync is over. Null before, and where `settledAsOf` told it. */
  writtenOnceAt: Instant | null;
  /** When a plan was last carried into the outbox, under the configuration of then. */
  lastPlannedAt: Instant | null;
  /** Number of that configuration; null when no plan was made since configurations have numbers. */
  plannedUnder: number | null;
  /** The same number; null when links were rebuilt since, or what is held of people still differs as it did then. */
  comparableUnder: number | null;
  firstRunApprovedAt: Instant | null;
  /** When another calendar last took the place of the one that was written to, which was gone; null for never. */
  replacedAt: Instant | null;
  failure: TargetFailure | null;
  /** Records that the last complete list lacked and that were not confirmed either way: the target may hold them for nothing. */
  unconfirmed: number;
  /** What of it the last cycle could not read or does not know; null for nothing. */
  gaps: readonly TargetGap[] | null;
  /** Null before the first audit. */
  drift: DriftReport | null;
  /** Where the target's change feed goes on; null when the next reading has to be whole. */
  cursor: string | null;
  /** When everything was last read back; null before the first time. */
  readWholeAt: Instant | null;
  /** The record outside the window that was looked at last; the next ones in order follow with the next cycle. */
  lookedOutsideTo: string | null;
  /** The target asked to be left alone until then. */
  pausedUntil: Instant | null;
  /** When that began; null where it did not. */
  pausedAt: Instant | null;
  /** The host whose outage keeps it, or entries of its outbox, from going on; null for none. */
  outage: string | null;
  created: number;
  updated: number;
  deleted: number;
  adopted: number;
  /** What of it was not as we wrote it, its record or entries of its outbox; nothing was done by any of it. */
  forged: number;
  /** How often it turned out to hold something else than was planned. */
  overtaken: number;
  /** What stands there is not as we wrote it: neither calendar nor approval is believed, and the target counts as never read. */
  isForged: boolean;
  /** Objects with our owner tag that match no record for certain, as of the last reading of everything. */
  ambiguous: number;
  /** Ids of records of which a second object was shown then, as when a person copies one; a thousand at most. */
  copies: readonly string[];
  /** Whom somebody made refuse in the CRM itself, as of then. */
  refusedThere: RefusedThere;
}

/** What is known, as of the last audit, to be done to our objects by hand. */
export interface DriftReport {
  checkedAt: Instant;
  /** Links that the reading speaks for: those compared, and with a change feed those that it doesn't name. */
  checked: number;
  /** Objects that a person edited and that are not as we wrote them yet. */
  edited: number;
  /** Objects that a person deleted and that are not there again yet. */
  removed: number;
  /** Objects of ours that no link told of; they are planned like any other now. */
  unlinked: number;
  /** Edited objects by the field that differs; a field is counted for each object. */
  fields: Record<string, number>;
  /** Objects that are no longer restored, since they were too often today. */
  churning: number;
  /** Fields in which those diverge. */
  churningFields: readonly string[];
  /** Objects that held another write of ours than the last one; they are planned again, whatever the policy. Absent for none. */
  overwritten?: number;
  /** Second objects of a record that were removed. Absent for none. */
  twinsRemoved?: number;
  /** The calendar was another one than before: nothing was compared, the next cycle fills it. */
  calendarReplaced?: boolean;
}

/** Counters of a target. */
export type TargetCounter = 'created' | 'updated' | 'deleted' | 'adopted' | 'forged' | 'overtaken';

/** Fields with texts that are shown and sent: each is sealed at its place. */
type SealedField = 'failure' | 'gaps' | 'outage';
const SEALED_FIELDS: ReadonlySet<string> = new Set<SealedField>(['failure', 'gaps', 'outage']);

const NOT_PROVED = { container: null, firstRunApprovedAt: null };

const COUNTERS: readonly TargetCounter[] = ['created', 'updated', 'deleted', 'adopted', 'forged', 'overtaken'];

const NUMBERS = [
  ...(['wentBackAt', 'plannedAsOf', 'nearAsOf', 'settledAsOf', 'lastPlannedAt', 'plannedUnder'] as const),
  ...(['comparableUnder', 'replacedAt', 'writtenOnceAt', 'pausedUntil', 'pausedAt', 'readWholeAt'] as const),
];
type NumberName = (typeof NUMBERS)[number];

/** A value as its field holds it; null for none. @param context the target, and what seals */
export function fieldOf(name: string, value: unknown, context: FieldContext): string | number | null {
  if (value === null) return null;
  if (SEALED_FIELDS.has(name)) return context.sealer.seal(JSON.stringify(value), contextOf(context.target, name));
  return typeof value === 'object' ? JSON.stringify(value) : (value as string | number);
}

/** Where a field stands. */
export interface FieldContext {
  target: string;
  /** Seals with the identity key. */
  sealer: Sealer;
}

function contextOf(target: string, name: string): string {
  return `target/${target}/${name}`;
}

/** The record that fields hold. */
export function recordOf(
  fields: StoredFields,
  proof: TargetProof | 'forged' | null,
  context: FieldContext,
): StoredTarget {
  const { container, firstRunApprovedAt } = proof === null || proof === 'forged' ? NOT_PROVED : proof;
  const number = (name: string) => (fields[name] === undefined ? null : Number(fields[name]));
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, number(name)])) as Record<NumberName, number | null>;
  const counters = Object.fromEntries(COUNTERS.map((name) => [name, Number(fields[name] ?? 0)]));
  function sealed<Value>(name: SealedField): Value | 'forged' | null {
    const stored = fields[name];
    return stored === undefined
      ? null
      : (openSealed<Value>(context.sealer, stored, contextOf(context.target, name)) ?? 'forged');
  }
  const [failure, gaps, outage] = [
    sealed<TargetFailure>('failure'),
    sealed<TargetGap[]>('gaps'),
    sealed<string>('outage'),
  ];
  const isUnknown = failure === 'forged';
  return {
    container,
    firstRunApprovedAt,
    isForged: proof === 'forged',
    ...numbers,
    // Without its calendar nothing was read of it.
    adoptedAt: container === null ? null : number('adoptedAt'),
    // Why it waits is not known: it is tried, which tells.
    pausedUntil: isUnknown ? null : numbers.pausedUntil,
    drift: fields.drift === undefined ? null : (JSON.parse(fields.drift) as DriftReport),
    cursor: fields.cursor ?? null,
    outage: outage === 'forged' ? null : outage,
    lookedOutsideTo: fields.lookedOutsideTo ?? null,
    failure: isUnknown ? { ...FORGED, sinceAt: numbers.pausedAt ?? 0 } : failure,
    gaps: gaps === 'forged' ? [{ code: FORGED.code, count: 0, what: [], near: [] }] : gaps,
    unconfirmed: number('unconfirmed') ?? 0,
    ambiguous: number('ambiguous') ?? 0,
    ...recordListsIn(fields),
    ...(counters as Record<TargetCounter, number>),
  };
}

/** The lists of records that a target's fields hold. */
export function recordListsIn(fields: StoredFields): Pick<StoredTarget, 'copies' | 'refusedThere'> {
  return {
    copies: fields.copies === undefined ? [] : (JSON.parse(fields.copies) as string[]),
    refusedThere: fields.refusedThere === undefined ? {} : (JSON.parse(fields.refusedThere) as RefusedThere),
  };
}

/**
 * What of a target the last cycle could not read, or does not know. As long as there is any, its clock stands still:
 * - `rows-unread`: rows that may belong to it could not become records;
 * - `records-unlisted`: the clinic's list lacks records that the clinic shows when each is read alone, so the list is not complete;
 * - `agenda-unknown`, `treatment-unknown`: the clinic has no such id as its configuration names;
 * - `egress-stopped`: what would have been written told more of a patient than it may;
 * - `record-forged`: what Redis has of it is not as this version wrote it, and the next cycle tells;
 * - `agenda-unconfirmed`, `treatment-unconfirmed`: it can't be told, since the catalogue may not be read and no row carries the id.
 */
export interface TargetGap {
  code:
    | 'rows-unread'
    | 'record-forged'
    | 'records-unlisted'
    | 'egress-stopped'
    | 'agenda-unknown'
    | 'treatment-unknown'
    | 'agenda-unconfirmed'
    | 'treatment-unconfirmed';
  /** Rows, or ids. */
  count: number;
  /** Codes of the rows, or the ids, or codes of what would have been told. */
  what: readonly string[];
  /** Ids with names that may be meant. */
  near: readonly string[];
}
