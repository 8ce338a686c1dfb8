import type { StreamName } from '../model/streams.ts';
import type { TargetStore } from '../state/targets.ts';
import { type Confirmations, type Misses, missesAfter, nothingMissing } from '../sync/absence.ts';
import { listedIn } from '../sync/followed.ts';
import { confirmAbsence, type Questioner, type ReadAlone } from './absence.ts';
import type { ClinicReading } from './clinic-reading.ts';
import type { Cycle } from './cycle.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Reads absent records of each stream alone. @param missing by target */
export async function confirmAll(
  tenant: Questioner & Pick<OpenTenant, 'clinic' | 'targetStore' | 'targets'>,
  clinicReading: ClinicReading,
  missing: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<Confirmations> {
  const { clinic, targetStore, targets } = tenant;
  const streamOf = (target: string) => targets.get(target)?.stream ?? 'appointments';
  async function confirm<Source extends { id: string }>(stream: StreamName, readAlone: ReadAlone<Source>) {
    const asked = [...missing].filter(([target, ids]) => ids.length > 0 && streamOf(target) === stream);
    if (asked.length === 0) return nothingMissing<Source>();
    return confirmAbsence(
      tenant,
      new Map(asked),
      await missesBefore(targetStore, clinicReading, stream),
      readAlone,
      signal,
    );
  }
  const withDoctors = tellsDoctors(targets.values());
  return {
    appointments: await confirm('appointments', clinic.readAppointment),
    patients: await confirm('patients', clinic.readPatient),
    invoices: await confirm('invoices', (id, reading) => clinic.readInvoice(id, { withDoctors }, reading)),
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
export async function noteMisses(
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

function tellsDoctors(targets: Iterable<OpenTarget>): boolean {
  return [...targets].some(({ crm }) => crm?.mapping.needs.doctors === true);
}
