import { MirrorError } from '../../core/model/errors.ts';
import type { ForgetReceipt } from '../../core/model/forgetting.ts';
import { eachAtMost } from '../../core/model/pieces.ts';
import type { Progress } from '../../core/model/tasks.ts';
import type { StopSignals } from '../../engine/push.ts';
import { message } from '../../messages/message.ts';
import { type Installation, pausedError, requireTenant } from '../../operator/control/installation.ts';
import { resumeTargets } from '../../operator/control/resume.ts';
import { drainTarget, TARGETS_AT_ONCE } from '../../operator/control/sync.ts';
import { type Contact, findByContact } from './contacts.ts';
import { type Erasure, erasedSoFar, eraseMessages, eraseRecords, reachOf, removeAuditFindings } from './erase.ts';
import type { ForgottenTenant } from './ports.ts';
import { findRecords, type PatientRecords } from './records.ts';
import type { ForgetPreview } from './schemas.ts';

/**
 * Returns the counts of an erasure. Queries the clinic, but no target; writes nothing.
 * @param who the clinic's id, or a contact
 * @throws MirrorError `settings`, code `no-such-tenant`, `tenant-paused` or `contact-unknown`; errors of the clinic API
 */
export async function previewForgetting(
  installation: Installation,
  tenantId: string,
  who: string | Contact,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<ForgetPreview> {
  const tenant = runningTenant(installation, tenantId);
  const { patients, messages } = await findPatient(tenant, who, signal);
  const [patientId, ...others] = patients;
  if (patientId === undefined || others.length > 0) {
    const uncounted = { isForgotten: false, appointments: 0, invoices: 0, upcoming: 0, targets: [], warnings: [] };
    const { reminders, links } = await tenant.reminderTraces.find(null, [], others.length > 0 ? undefined : messages);
    return { tenant: tenantId, patients, ...uncounted, reminders: reminders.length, answerLinks: links.length };
  }
  const records = await findRecords(tenant, { patientId, messages }, progress, signal);
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
    patients: typeof who === 'string' ? null : patients,
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
 * @param who the clinic's id, or a contact of one patient, which also erases messages to the contact
 * @returns the stored receipt
 * @throws MirrorError as {@link previewForgetting}; `settings`, code `contact-ambiguous`
 */
export async function forgetPatient(
  installation: Installation,
  tenantId: string,
  who: string | Contact,
  { progress, signals }: { progress: Progress; signals: StopSignals },
): Promise<ForgetReceipt> {
  const tenant = runningTenant(installation, tenantId);
  const { patients, messages } = await findPatient(tenant, who, signals.stop);
  const [patientId, ...others] = patients;
  if (others.length > 0) throw ambiguous();
  if (patientId === undefined) {
    const state = await eraseMessages(tenant, messages);
    const empty = { tombstone: null, upcoming: 0, targets: [], warnings: ['opt-outs-stay' as const] };
    return tenant.tombstones.storeReceipt({ tenant: tenantId, at: installation.clock(), ...empty, state });
  }
  const records = await findRecords(tenant, { patientId, messages }, progress, signals.stop);
  await resumeTargets(tenant);
  const erasure = await eraseRecords(tenant, records, progress, signals.stop);
  const upcoming = countUpcoming(erasure, records);
  progress('erasing');
  const atWork = erasure.targets.filter(({ recordIds }) => recordIds.length > 0);
  await eachAtMost(TARGETS_AT_ONCE, atWork, ({ target }) => drainTarget(tenant, target, signals, () => {}));
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

async function findPatient(tenant: ForgottenTenant, who: string | Contact, signal: AbortSignal) {
  if (typeof who !== 'string') return findByContact(tenant, who, signal);
  return { patients: [who], messages: new Set<string>() };
}

/** Names no patient, because errors are logged: the preview lists the ids. */
function ambiguous(): MirrorError {
  return new MirrorError(message('contact-ambiguous'), {
    actor: 'settings',
    code: 'contact-ambiguous',
    retry: 'never',
    remedy: message('contact-ambiguous.remedy'),
  });
}

function runningTenant(installation: Installation, id: string) {
  const tenant = requireTenant(installation, id);
  if (tenant.configuration.paused) throw pausedError(installation, id);
  return tenant;
}

async function upcomingInCalendars({ targets, links }: ForgottenTenant, { upcoming }: PatientRecords): Promise<number> {
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
