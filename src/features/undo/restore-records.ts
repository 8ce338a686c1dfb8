import type { PendingChange } from '../../core/model/plan.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { overlaps } from '../../core/model/time.ts';
import { withVisits } from '../../core/model/visits.ts';
import type { Confirmations } from '../../domain/absence.ts';
import { type ClinicReading, confirmationsOf } from '../../domain/clinic-reading.ts';
import type { ClinicReader } from '../../domain/clinic-requests.ts';
import { readingOf } from '../../domain/clinic-source.ts';
import { agrees } from '../../domain/crm-rules.ts';
import type { CycleFollower } from '../../domain/followers.ts';
import { snapshotOf, windowOf } from '../../domain/mapping-sources.ts';
import { readClinic } from '../../domain/read-clinic.ts';
import { readAllStreams, type StreamReader } from '../../domain/streams.ts';
import type { Confirmation } from '../../engine/absence.ts';
import { confirmAll, type Questioner } from '../../engine/confirm.ts';
import type { ChangeTable, LinkTable, TargetTable } from '../../engine/store.ts';
import type { TenantConfiguration } from '../../settings/configuration.ts';
import type { Journal, JournalEffect, JournalEntry } from '../../state/journal.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import type { Recovery } from './schemas.ts';

/** A tenant, as far as undoing one of its runs concerns it: the clinic to ask, and the stores with what the run wrote. */
export interface UndoneTenant extends ClinicReader, StreamReader, Questioner {
  id: string;
  configuration: TenantConfiguration;
  targets: ReadonlyMap<string, OpenTarget>;
  followers: readonly CycleFollower[];
  journal: Journal;
  /** Returns waiting removals of a run, including removals in progress. */
  outbox: ChangeTable & { removalsOf(target: string, run: string): Promise<PendingChange[]> };
  links: LinkTable;
  targetStore: TargetTable;
}

/** A record of a run to undo. */
export interface Recoverable {
  target: string;
  recordId: string;
  effect: JournalEffect;
  recovery: Recovery;
}

/**
 * Returns changes, deletions and waiting deletions of a run, because a run undone during its lanes' work must not delete further objects.
 * Targets have their present ids.
 */
export async function entriesOfRun(tenant: UndoneTenant, run: string): Promise<JournalEntry[]> {
  const targets = [...tenant.targets.values()];
  const entries = new Map<string, JournalEntry>();
  const put = (entry: JournalEntry) => entries.set(`${entry.target}/${entry.recordId}`, entry);
  // The outbox is read before the journal, so that a change completed between the two reads is found in the journal.
  for (const { id: target } of targets) {
    for (const { recordId, reason, enqueuedAt } of await tenant.outbox.removalsOf(target, run)) {
      put({ target, recordId, effect: 'deleted', reason, at: enqueuedAt, times: null });
    }
  }
  for (const entry of await tenant.journal.read(run)) {
    const renamed = targets.find(({ configuration }) => configuration.formerly === entry.target)?.id;
    put(tenant.targets.has(entry.target) ? entry : { ...entry, target: renamed ?? entry.target });
  }
  return [...entries.values()];
}

/** Queries the clinic about every change of a run. Writes nothing. */
export async function lookAtRun(
  tenant: UndoneTenant,
  entries: readonly JournalEntry[],
  progress: Progress,
  signal: AbortSignal,
): Promise<Recoverable[]> {
  const targets = new Map(
    [...tenant.targets.values()]
      .filter(({ id, configuration }) => !configuration.paused && entries.some(({ target }) => target === id))
      .map((target) => [target.id, target]),
  );
  if (targets.size === 0) return entries.map((entry) => recoverable(entry, 'no-target'));
  // Reads every agenda, so that records excluded by a wrong rule are found without single reads.
  const now = tenant.clock();
  const followers = [...targets.values()].filter(({ stream }) => stream === 'appointments');
  const extraScopes = followers.map((target) => ({ window: windowOf(target, now), agendas: 'all' as const }));
  const followed = [...targets.values()];
  const streams = await readAllStreams(tenant, followed, progress, signal);
  const answers = await readClinic(tenant, followed, { extraScopes, streams }, signal);
  const reading = readingOf(tenant, followed, answers);
  const isListed = (target: OpenTarget, recordId: string) =>
    snapshotOf(reading, target)?.records.has(recordId) === true;
  const missing = new Map(
    [...targets].map(([id, target]) => [
      id,
      entries
        .filter((entry) => entry.target === id && !isListed(target, entry.recordId))
        .map(({ recordId }) => recordId),
    ]),
  );
  // These records may be missing in complete lists, so their absence does not make the lists incomplete.
  const streamOf = (id: string) => targets.get(id)?.stream ?? '';
  const absences = { toConfirm: missing, streamOf, startsBefore: () => [] };
  const confirmations = confirmationsOf(await confirmAll(tenant, reading, absences, signal));
  return entries.map((entry) =>
    recoverable(entry, recoveryOf(entry, targets.get(entry.target), reading, confirmations)),
  );
}

function recoverable({ target, recordId, effect }: JournalEntry, recovery: Recovery): Recoverable {
  return { target, recordId, effect, recovery };
}

function recoveryOf(
  { recordId, effect }: JournalEntry,
  target: OpenTarget | undefined,
  reading: ClinicReading,
  confirmations: Confirmations,
): Recovery {
  if (target === undefined) return 'no-target';
  if (effect === 'updated' && target.configuration.policy === 'create-only') return 'policy';
  if (target.stream !== 'appointments') return recoveryInList(recordId, target, reading, confirmations);
  const { snapshot, startedAt } = reading;
  const { found: alone } = confirmations.appointments;
  const found = withVisits(snapshot).records.get(recordId) ?? alone.find(({ id }) => id === recordId);
  if (found === undefined) return missingBecause(recordId, snapshot, confirmations.appointments);
  if (found.status === 'cancelled') return 'cancelled';
  return overlaps(found.time, windowOf(target, startedAt)) ? 'there' : 'outside-window';
}

/** Patients and invoices need no single reads: their lists are complete. */
function recoveryInList(
  recordId: string,
  target: OpenTarget,
  reading: ClinicReading,
  confirmations: Confirmations,
): Recovery {
  const snapshot = snapshotOf(reading, target);
  const confirmation: Confirmation<{ id: string }> = confirmations[target.stream];
  if (target.stream === 'patients') {
    const alone = confirmations.patients.found.find(({ id }) => id === recordId);
    const patient = reading.streams.patients?.snapshot.records.get(recordId) ?? alone;
    if (patient !== undefined && !agrees(target, patient)) return 'no-consent';
  }
  if (snapshot?.records.has(recordId) === true || confirmation.found.some(({ id }) => id === recordId)) {
    return 'there';
  }
  return missingBecause(recordId, snapshot, confirmation);
}

function missingBecause(
  recordId: string,
  snapshot: Pick<ClinicReading['snapshot'], 'unusable'> | null,
  { vanished, missedOnce, held }: Omit<Confirmation<unknown>, 'found'>,
): Recovery {
  if (snapshot?.unusable.some((row) => row.recordId === recordId) === true) return 'unusable';
  return [vanished, missedOnce, held].some((gone) => gone.has(recordId)) ? 'gone' : 'unread';
}
