import type { StreamName } from '../model/items.ts';
import type { Snapshot } from '../model/snapshots.ts';
import type { Instant } from '../model/time.ts';
import type { TargetStore } from '../state/targets.ts';
import {
  belongsOnList,
  type Confirmations,
  invoiceBelongsOnList,
  type Misses,
  missesAfter,
  nothingMissing,
  patientBelongsOnList,
} from '../sync/absence.ts';
import { listedIn } from '../sync/followed.ts';
import { confirmAbsence, type Questioner, type SingleReads } from './absence.ts';
import type { ClinicReading } from './clinic-reading.ts';
import type { Cycle } from './cycle.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Records that lists lack, and what was known of them before. */
export interface Absences {
  /** Ids by target. */
  missing: ReadonlyMap<string, readonly string[]>;
  /** Returns when an appointment began, as far as targets and reminders know. */
  startsBefore(recordId: string): readonly Instant[];
}

/** Reads absent records of each stream alone. */
export async function confirmAll(
  tenant: Questioner & Pick<OpenTenant, 'clinic' | 'targetStore' | 'targets'>,
  clinicReading: ClinicReading,
  { missing, startsBefore }: Absences,
  signal: AbortSignal,
): Promise<Confirmations> {
  const { clinic, targetStore, targets } = tenant;
  const streamOf = (target: string) => targets.get(target)?.stream ?? 'appointments';
  async function confirm<Source extends { id: string }>(
    stream: StreamName,
    readAlone: SingleReads<Source>['readAlone'],
    belongs: (record: Source, readAt: Instant) => boolean,
  ) {
    const asked = [...missing].filter(([target, ids]) => ids.length > 0 && streamOf(target) === stream);
    if (asked.length === 0) return nothingMissing<Source>();
    const before = await missesBefore(targetStore, clinicReading, stream);
    const reads = { readAlone, belongsOnList: (record: Source) => belongs(record, before.readAt) };
    return confirmAbsence(tenant, { missing: new Map(asked), misses: before }, reads, signal);
  }
  const withDoctors = usesDoctors(targets.values());
  const readInvoice = (id: string, reading: AbortSignal) => clinic.readInvoice(id, { withDoctors }, reading);
  return {
    appointments: await confirm('appointments', clinic.readAppointment, (one, readAt) =>
      belongsOnList(one, clinicReading.snapshot, { startsBefore: startsBefore(one.id), readAt }),
    ),
    patients: await confirm('patients', clinic.readPatient, patientBelongsOnList),
    invoices: await confirm('invoices', readInvoice, invoiceBelongsOnList),
  };
}

/** Returns the reading with each list marked as partial that lacks records which the clinic still has. */
export function withProvedGaps(clinicReading: ClinicReading, confirmations: Confirmations): ClinicReading {
  const { snapshot, streams } = clinicReading;
  const { appointments, patients, invoices } = confirmations;
  const mark = <List extends Snapshot<unknown>>(list: List, { unlisted }: { unlisted: number }): List =>
    unlisted === 0 ? list : { ...list, completeness: 'partial', reason: 'records-unlisted' };
  const markStream = <Reading extends { snapshot: Snapshot<unknown> }>(
    reading: Reading | null,
    proof: { unlisted: number },
  ) => reading && { ...reading, snapshot: mark(reading.snapshot, proof) };
  return {
    ...clinicReading,
    snapshot: mark(snapshot, appointments),
    streams: {
      ...streams,
      patients: markStream(streams.patients, patients),
      invoices: markStream(streams.invoices, invoices),
    },
  };
}

async function missesBefore(
  targetStore: Pick<TargetStore, 'misses'>,
  { streams, startedAt }: ClinicReading,
  stream: StreamName,
): Promise<Misses> {
  const readAt = stream === 'appointments' ? startedAt : (streams[stream]?.readAt ?? startedAt);
  return { known: await targetStore.misses(stream), readAt };
}

/** What this cycle missed for the first time, for the next one to know; what it saw again is forgotten. */
export async function recordMisses(
  targetStore: Pick<TargetStore, 'misses' | 'keepMisses'>,
  { clinicReading, confirmations }: Pick<Cycle, 'clinicReading' | 'confirmations'>,
): Promise<void> {
  for (const stream of ['appointments', 'patients', 'invoices'] as const) {
    const snapshot = stream === 'appointments' ? clinicReading.snapshot : clinicReading.streams[stream]?.snapshot;
    if (snapshot === undefined) continue;
    const misses = await missesBefore(targetStore, clinicReading, stream);
    const next = missesAfter(misses, confirmations[stream], listedIn(snapshot));
    if (misses.known.size + next.size > 0) await targetStore.keepMisses(stream, next);
  }
}

function usesDoctors(targets: Iterable<OpenTarget>): boolean {
  return [...targets].some(({ crm }) => crm?.mapping.needs.doctors === true);
}
