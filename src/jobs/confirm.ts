import type { StreamName } from '../model/streams.ts';
import { type Cycle, listedIn } from '../sync/plan.ts';
import type { Confirmations } from '../sync/views.ts';
import { confirmAbsence, type Misses, missesAfter } from './absence.ts';
import type { Survey } from './survey.ts';
import type { OpenTenant } from './tenant.ts';

/** Reads absent records of each stream alone. @param missing by target */
export async function confirmAll(
  tenant: OpenTenant,
  survey: Survey,
  missing: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<Confirmations> {
  const { clinic } = tenant;
  const streamOf = (target: string) => tenant.targets.get(target)?.stream ?? 'appointments';
  const of = (stream: StreamName) => new Map([...missing].filter(([target]) => streamOf(target) === stream));
  const before = (stream: StreamName) => missesBefore(tenant, survey, stream);
  return {
    appointments: await confirmAbsence(
      tenant,
      of('appointments'),
      await before('appointments'),
      clinic.readAppointment,
      signal,
    ),
    patients: await confirmAbsence(tenant, of('patients'), await before('patients'), clinic.readPatient, signal),
    invoices: await confirmAbsence(
      tenant,
      of('invoices'),
      await before('invoices'),
      (id, reading) => clinic.readInvoice(id, { withDoctors: tellsDoctors(tenant) }, reading),
      signal,
    ),
  };
}

async function missesBefore(
  { records }: OpenTenant,
  { streams, startedAt }: Survey,
  stream: StreamName,
): Promise<Misses> {
  const readAt = stream === 'appointments' ? startedAt : (streams[stream]?.readAt ?? startedAt);
  return { known: await records.misses(stream), readAt };
}

/** What this cycle missed for the first time, for the next one to know; what it saw again is forgotten. */
export async function noteMisses(
  tenant: OpenTenant,
  { survey, confirmations }: Pick<Cycle, 'survey' | 'confirmations'>,
): Promise<void> {
  for (const stream of ['appointments', 'patients', 'invoices'] as const) {
    const snapshot = stream === 'appointments' ? survey.snapshot : survey.streams[stream]?.snapshot;
    if (snapshot === undefined) continue;
    const misses = await missesBefore(tenant, survey, stream);
    const next = missesAfter(misses, confirmations[stream], listedIn(snapshot));
    if (misses.known.size + next.size > 0) await tenant.records.keepMisses(stream, next);
  }
}

function tellsDoctors({ targets }: OpenTenant): boolean {
  return [...targets.values()].some(({ crm }) => crm?.mapping.needs.doctors === true);
}
