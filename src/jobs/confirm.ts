import type { StreamName } from '../model/streams.ts';
import type { TargetStore } from '../state/targets.ts';
import { type Confirmations, type Misses, missesAfter, nothingMissing } from '../sync/absence.ts';
import { listedIn } from '../sync/followed.ts';
import { confirmAbsence, type Questioner, type ReadAlone } from './absence.ts';
import type { Cycle } from './cycle.ts';
import type { Survey } from './survey.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Reads absent records of each stream alone. @param missing by target */
export async function confirmAll(
  tenant: Questioner & Pick<OpenTenant, 'clinic' | 'records' | 'targets'>,
  survey: Survey,
  missing: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<Confirmations> {
  const { clinic, records, targets } = tenant;
  const streamOf = (target: string) => targets.get(target)?.stream ?? 'appointments';
  async function confirm<Source extends { id: string }>(stream: StreamName, readAlone: ReadAlone<Source>) {
    const asked = [...missing].filter(([target, ids]) => ids.length > 0 && streamOf(target) === stream);
    if (asked.length === 0) return nothingMissing<Source>();
    return confirmAbsence(tenant, new Map(asked), await missesBefore(records, survey, stream), readAlone, signal);
  }
  const withDoctors = tellsDoctors(targets.values());
  return {
    appointments: await confirm('appointments', clinic.readAppointment),
    patients: await confirm('patients', clinic.readPatient),
    invoices: await confirm('invoices', (id, reading) => clinic.readInvoice(id, { withDoctors }, reading)),
  };
}

async function missesBefore(
  records: Pick<TargetStore, 'misses'>,
  { streams, startedAt }: Survey,
  stream: StreamName,
): Promise<Misses> {
  const readAt = stream === 'appointments' ? startedAt : (streams[stream]?.readAt ?? startedAt);
  return { known: await records.misses(stream), readAt };
}

/** What this cycle missed for the first time, for the next one to know; what it saw again is forgotten. */
export async function noteMisses(
  records: Pick<TargetStore, 'misses' | 'keepMisses'>,
  { survey, confirmations }: Pick<Cycle, 'survey' | 'confirmations'>,
): Promise<void> {
  for (const stream of ['appointments', 'patients', 'invoices'] as const) {
    const snapshot = stream === 'appointments' ? survey.snapshot : survey.streams[stream]?.snapshot;
    if (snapshot === undefined) continue;
    const misses = await missesBefore(records, survey, stream);
    const next = missesAfter(misses, confirmations[stream], listedIn(snapshot));
    if (misses.known.size + next.size > 0) await records.keepMisses(stream, next);
  }
}

function tellsDoctors(targets: Iterable<OpenTarget>): boolean {
  return [...targets].some(({ crm }) => crm?.mapping.needs.doctors === true);
}
