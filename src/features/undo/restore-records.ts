import type { Questioner } from '../../jobs/absence.ts';
import { confirmAll } from '../../jobs/absence.ts';
import { type ClinicReader, type ClinicReading, readClinic } from '../../jobs/clinic-reading.ts';
import { readAllStreams, type StreamReader } from '../../jobs/streams.ts';
import type { OpenTarget, OpenTenant } from '../../jobs/tenant.ts';
import type { Progress } from '../../model/tasks.ts';
import { overlaps } from '../../model/time.ts';
import type { JournalEffect, JournalEntry } from '../../state/journal.ts';
import type { Confirmation, Confirmations } from '../../sync/absence.ts';
import { agrees } from '../../sync/crm-rules.ts';
import { snapshotOf, windowOf } from '../../sync/mapping-sources.ts';

/**
 * What can be done for a record that a run changed or deleted:
 * - `there`: the clinic has it, so the target can be brought to what the clinic says;
 * - `cancelled`, `gone`: the clinic has cancelled it, or has it no more: its content is nowhere to be had;
 * - `no-consent`: the patient does not agree to be told of: nobody else can put that back;
 * - `outside-window`: it lies before or beyond what the target shows;
 * - `unusable`: its row can't be used;
 * - `unread`: the clinic could not be asked, or not for so many at once: undo again;
 * - `no-target`: the target is paused or configured no longer.
 */
export type Recovery =
  | 'there'
  | 'cancelled'
  | 'gone'
  | 'no-consent'
  | 'outside-window'
  | 'unusable'
  | 'unread'
  | 'no-target';

/** One record of a run that is to be undone. */
export interface Recoverable {
  target: string;
  recordId: string;
  effect: JournalEffect;
  recovery: Recovery;
}

/**
 * What a run changed or deleted, and what it is about to delete: a run that is undone while its lanes are at work must not go on
 * deleting. Targets carry the ids of today.
 */
export async function entriesOfRun(
  tenant: Pick<OpenTenant, 'journal' | 'outbox' | 'targets'>,
  run: string,
): Promise<JournalEntry[]> {
  const targets = [...tenant.targets.values()];
  const entries = new Map<string, JournalEntry>();
  const put = (entry: JournalEntry) => entries.set(`${entry.target}/${entry.recordId}`, entry);
  // The outbox first: what leaves it after this look is in the journal at the next.
  for (const { id: target } of targets) {
    for (const { recordId, reason, enqueuedAt } of await tenant.outbox.removalsOf(target, run)) {
      put({ target, recordId, effect: 'deleted', reason, at: enqueuedAt });
    }
  }
  for (const entry of await tenant.journal.read(run)) {
    const renamed = targets.find(({ configuration }) => configuration.formerly === entry.target)?.id;
    put(tenant.targets.has(entry.target) ? entry : { ...entry, target: renamed ?? entry.target });
  }
  return [...entries.values()];
}

/** Asks the clinic about everything that a run changed or deleted. Writes nothing. */
export async function lookAtRun(
  tenant: ClinicReader & StreamReader & Questioner & Pick<OpenTenant, 'targets' | 'targetStore'>,
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
  // Every agenda: what a mistaken rule leaves out is to be found without asking for each record alone.
  const now = tenant.clock();
  const followers = [...targets.values()].filter(({ stream }) => stream === 'appointments');
  const extraScopes = followers.map((target) => ({ window: windowOf(target, now), agendas: 'all' as const }));
  const followed = [...targets.values()];
  const streams = await readAllStreams(tenant, followed, progress, signal);
  const clinicReading = await readClinic(tenant, followed, { extraScopes, streams }, signal);
  const isListed = (target: OpenTarget, recordId: string) =>
    snapshotOf(clinicReading, target)?.records.has(recordId) === true;
  const missing = new Map(
    [...targets].map(([id, target]) => [
      id,
      entries
        .filter((entry) => entry.target === id && !isListed(target, entry.recordId))
        .map(({ recordId }) => recordId),
    ]),
  );
  // Their lists may rightly lack them: such records say nothing of the lists.
  const confirmations = await confirmAll(tenant, clinicReading, { missing, startsBefore: () => [] }, signal);
  return entries.map((entry) =>
    recoverable(entry, recoveryOf(entry, targets.get(entry.target), clinicReading, confirmations)),
  );
}

function recoverable({ target, recordId, effect }: JournalEntry, recovery: Recovery): Recoverable {
  return { target, recordId, effect, recovery };
}

function recoveryOf(
  { recordId }: JournalEntry,
  target: OpenTarget | undefined,
  clinicReading: ClinicReading,
  confirmations: Confirmations,
): Recovery {
  if (target === undefined) return 'no-target';
  if (target.stream !== 'appointments') return recoveryInList(recordId, target, clinicReading, confirmations);
  const { snapshot, startedAt } = clinicReading;
  const { found: alone } = confirmations.appointments;
  const found = snapshot.records.get(recordId) ?? alone.find(({ id }) => id === recordId);
  if (found === undefined) return missingBecause(recordId, snapshot, confirmations.appointments);
  if (found.status === 'cancelled') return 'cancelled';
  return overlaps(found.time, windowOf(target, startedAt)) ? 'there' : 'outside-window';
}

/** Patients and invoices: they are in the list or not. */
function recoveryInList(
  recordId: string,
  target: OpenTarget,
  clinicReading: ClinicReading,
  confirmations: Confirmations,
): Recovery {
  const snapshot = snapshotOf(clinicReading, target);
  const confirmation: Confirmation<{ id: string }> = confirmations[target.stream];
  if (target.stream === 'patients') {
    const alone = confirmations.patients.found.find(({ id }) => id === recordId);
    const patient = clinicReading.streams.patients?.snapshot.records.get(recordId) ?? alone;
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
  { vanished, missedOnce, present }: Omit<Confirmation<unknown>, 'found'>,
): Recovery {
  if (snapshot?.unusable.some((row) => row.recordId === recordId) === true) return 'unusable';
  return [vanished, missedOnce, present].some((gone) => gone.has(recordId)) ? 'gone' : 'unread';
}
