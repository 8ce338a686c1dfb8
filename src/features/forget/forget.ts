import { type Installation, pausedError, requireTenant } from '../../control/installation.ts';
import { resumeTargets } from '../../control/resume.ts';
import { drainTarget } from '../../control/sync.ts';
import type { StopSignals } from '../../jobs/push.ts';
import type { OpenTenant } from '../../jobs/tenant.ts';
import type { ForgetReceipt, ForgetWarning } from '../../model/forgetting.ts';
import type { Progress } from '../../model/tasks.ts';
import { type Erasure, erasedSoFar, eraseRecords, reachOf, removeAuditFindings } from './erase.ts';
import { findRecords, type PatientRecords } from './records.ts';

/** Counts of data that an erasure would remove. */
export interface ForgetPreview {
  tenant: string;
  /** Whether a tombstone exists. */
  isForgotten: boolean;
  appointments: number;
  invoices: number;
  /** Future appointments that a calendar would lose. */
  upcoming: number;
  /** `linked`: known objects; `toLookFor`: further records that the target is searched for. */
  targets: { target: string; connector: string; linked: number; toLookFor: number; reach: 'wholly' | 'bin' }[];
  reminders: number;
  answerLinks: number;
  warnings: readonly ForgetWarning[];
}

/**
 * Returns the counts of an erasure. Queries the clinic, but no target; writes nothing.
 * @throws MirrorError `settings`, code `no-such-tenant` or `tenant-paused`; errors of the clinic API
 */
export async function previewForgetting(
  installation: Installation,
  tenantId: string,
  patientId: string,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<ForgetPreview> {
  const tenant = runningTenant(installation, tenantId);
  const records = await findRecords(tenant, patientId, progress, signal);
  const { ids, reminders, warnings } = records;
  const targets: ForgetPreview['targets'] = [];
  for (const target of tenant.targets.values()) {
    const { id, stream, configuration } = target;
    const linked = (await tenant.links.readSome(id, [...ids[stream]])).size;
    const toLookFor = ids[stream].size - linked;
    targets.push({ target: id, connector: configuration.connector, linked, toLookFor, reach: reachOf(target) });
  }
  return {
    tenant: tenantId,
    isForgotten: (await tenant.tombstones.load())(patientId),
    appointments: ids.appointments.size,
    invoices: ids.invoices.size,
    upcoming: await upcomingInCalendars(tenant, records),
    targets,
    reminders: reminders.reminders.length,
    answerLinks: reminders.links.length,
    warnings: [...warnings],
  };
}

/**
 * Erases a patient from every target, including paused targets, as far as each vendor allows, and from the state. A tombstone excludes the
 * patient. Erasures that a target cannot perform now wait in its outbox for the daemon. A repeated call returns the progress.
 * @returns the stored receipt
 * @throws MirrorError as {@link previewForgetting}
 */
export async function forgetPatient(
  installation: Installation,
  tenantId: string,
  patientId: string,
  { progress, signals }: { progress: Progress; signals: StopSignals },
): Promise<ForgetReceipt> {
  const tenant = runningTenant(installation, tenantId);
  const records = await findRecords(tenant, patientId, progress, signals.stop);
  await resumeTargets(tenant);
  const erasure = await eraseRecords(tenant, records, progress, signals.stop);
  const upcoming = countUpcoming(erasure, records);
  progress('erasing');
  const atWork = erasure.targets.filter(({ recordIds }) => recordIds.length > 0);
  await Promise.all(atWork.map(({ target }) => drainTarget(tenant, target, signals, () => {})));
  await removeAuditFindings(tenant, records);
  const targets = await Promise.all(erasure.targets.map((one) => erasedSoFar(tenant, one)));
  const { warnings } = records;
  if (tenant.reminders !== null) warnings.add('opt-outs-stay');
  if (targets.some(({ waiting, failed }) => waiting + failed > 0)) {
    warnings.add('erasures-wait');
    await installation.pullNow(tenantId);
  }
  const { tombstone, traces: state } = erasure;
  const content = {
    tenant: tenantId,
    at: installation.clock(),
    tombstone,
    upcoming,
    targets,
    state,
    warnings: [...warnings],
  };
  return tenant.tombstones.storeReceipt(content);
}

/**
 * Removes a tombstone and starts a cycle that includes the patient again. Erased data is written again according to the rules.
 * @throws MirrorError `settings`, code `no-such-tenant`
 */
export async function followAgain(
  installation: Installation,
  tenantId: string,
  patientId: string,
): Promise<{ tenant: string; changed: boolean }> {
  const changed = await requireTenant(installation, tenantId).tombstones.remove(patientId);
  if (changed) await installation.pullNow(tenantId);
  return { tenant: tenantId, changed };
}

function runningTenant(installation: Installation, id: string): OpenTenant {
  const tenant = requireTenant(installation, id);
  if (tenant.configuration.paused) throw pausedError(installation, id);
  return tenant;
}

async function upcomingInCalendars(
  { targets, links }: Pick<OpenTenant, 'links' | 'targets'>,
  { upcoming }: PatientRecords,
): Promise<number> {
  const shown = new Set<string>();
  for (const { id } of [...targets.values()].filter(({ crm }) => crm === null)) {
    for (const recordId of (await links.readSome(id, [...upcoming])).keys()) shown.add(recordId);
  }
  return shown.size;
}

function countUpcoming({ targets }: Erasure, { upcoming }: PatientRecords): number {
  const calendars = targets.filter(({ target }) => target.crm === null);
  return [...upcoming].filter((id) => calendars.some(({ found }) => found.has(id))).length;
}

/** Returns the receipts of a tenant, oldest first, and the key for their signatures. @throws MirrorError `settings`, code `no-such-tenant` */
export async function listReceipts(installation: Installation, tenantId: string) {
  const { tombstones } = requireTenant(installation, tenantId);
  return { publicKey: tombstones.publicKey(), receipts: await tombstones.receipts() };
}
