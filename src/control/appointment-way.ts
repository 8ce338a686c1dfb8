import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { Link, ReasonCode } from '../model/operations.ts';
import type { PendingChange } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import type { JournalEffect } from '../state/journal.ts';
import type { StoredTarget } from '../state/targets.ts';

/** The last cycle of a tenant, which read its clinic or could not. */
export interface LastCycle {
  run: string;
  startedAt: Instant;
  /** How much the last reading of all showed; null when that failed. */
  completeness: string | null;
  /** Code of what ended it early. */
  error: string | null;
}

/**
 * What came of comparing an appointment with what the target was last given: `none`: nothing is there, and nothing waits; `same`; `newer`: the
 * clinic tells another time by now, which no plan has seen; `gone`: the clinic has it no more, and it still stands there; `new`, `differs` and `removal`: such a change waits.
 */
export type Comparison = 'none' | 'same' | 'newer' | 'gone' | 'new' | 'differs' | 'removal';

/** What a run did to the object of an appointment. */
export interface WayWrite {
  at: Instant;
  effect: JournalEffect;
  reason: ReasonCode;
  run: string;
}

/** An appointment's way into one target, from comparing to reading back, each step with when and by which evidence. No contents. */
export interface TargetWay {
  compared: {
    /** When the target was last planned; null before the first time. */
    at: Instant | null;
    found: Comparison;
    /** Names of the fields that differ, as far as known. */
    fields: string[];
  };
  written: {
    /** Of the last write, where that is known: of an object that was made and not changed since, until it is read back. */
    at: Instant | null;
    /** The version tag that the target gave, and our count of decisions that stands on the object. */
    version: string | null;
    revision: number | null;
    /** Changes and removals that runs made, newest first. */
    changes: WayWrite[];
  };
  readBack: {
    /** When the target was last read back; null before the first time. */
    at: Instant | null;
    /** Whether that was after the last write; null where nothing was written. */
    covers: boolean | null;
  };
}

/** What is known of an appointment and of its object. */
interface AppointmentState {
  /** What the clinic says now: when it is, that there is none, or null where that is not known. */
  clinic: { startAt: Instant } | 'absent' | null;
  link: Link | null;
  pending: PendingChange | null;
}

/** Gathers the evidence; asks neither clinic nor target. */
export async function wayOf(
  tenant: Pick<OpenTenant, 'clock' | 'journal' | 'links'>,
  target: OpenTarget,
  recordId: string,
  state: AppointmentState & { stored: StoredTarget },
): Promise<TargetWay> {
  const { link, stored } = state;
  const [changes, unseen] = await Promise.all([
    tenant.journal.linesOf(target.id, recordId, tenant.clock()),
    tenant.links.unseen(target.id),
  ]);
  const writtenAt = unseen.get(recordId) ?? changes[0]?.at ?? null;
  const readAt = stored.drift?.checkedAt ?? null;
  const isSeen = readAt !== null && !unseen.has(recordId) && (writtenAt === null || writtenAt <= readAt);
  return {
    compared: { at: stored.lastPlannedAt, ...comparisonOf(target, state) },
    written: { at: writtenAt, version: link?.versionTag ?? null, revision: link?.revision ?? null, changes },
    readBack: { at: readAt, covers: link === null ? null : isSeen },
  };
}

function comparisonOf(
  { identity }: Pick<OpenTarget, 'identity'>,
  { clinic, link, pending }: AppointmentState,
): Pick<TargetWay['compared'], 'found' | 'fields'> {
  if (pending?.want === 'absent') return { found: 'removal', fields: [] };
  if (pending !== null && link === null) return { found: 'new', fields: [] };
  if (pending !== null && link !== null) {
    return { found: 'differs', fields: identity.differingFields(link.fingerprint, pending.fingerprint ?? '') };
  }
  if (link === null) return { found: 'none', fields: [] };
  if (clinic === 'absent') return { found: 'gone', fields: [] };
  const isNewer = clinic !== null && Math.floor(clinic.startAt / 1_000) !== Math.floor(link.startAt / 1_000);
  return isNewer ? { found: 'newer', fields: ['time'] } : { found: 'same', fields: [] };
}
