import { asMirrorError } from '../model/errors.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import type { Lease } from '../state/leases.ts';
import type { DriftReport } from '../state/targets.ts';
import { type Audit, audit } from '../sync/audit.ts';
import { laneLease, noteTrouble, openCalendar } from './lanes.ts';
import { windowOf } from './survey.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Audits a tenant's targets one after the other. @returns whether a plan should follow, to restore what was changed */
export async function auditTenant(tenant: OpenTenant, signal: AbortSignal): Promise<boolean> {
  let drifted = false;
  for (const target of tenant.targets.values()) {
    if (signal.aborted || target.configuration.paused) continue;
    const report = await auditTarget(tenant, target, signal);
    if (report === null) continue;
    drifted ||= report.calendarReplaced === true || report.edited + report.removed + report.unlinked > 0;
  }
  return drifted;
}

/**
 * Reads back what a target holds and compares it with what it was given. By the target's policy what people did is restored
 * (`repair`), left until the appointment itself changes (`keep`), or only told (`report`). Restoring means to mark the link, so that
 * the next plan writes the object anew: one way to write, with its guard, outbox and reasons.
 * @returns null when the target is being written to or rests: the next audit looks again
 */
export async function auditTarget(
  tenant: OpenTenant,
  target: OpenTarget,
  signal: AbortSignal,
): Promise<DriftReport | null> {
  const lane = await tenant.leases.tryTake(laneLease(target.id));
  if (lane === null) return null;
  try {
    const record = await tenant.records.read(target.id);
    const rests = (record.pausedUntil ?? 0) > tenant.clock();
    if (record.container === null || record.adoptedAt === null || rests) return null;
    // A calendar that is gone is noticed here, since a quiet cycle asks its target nothing.
    target.preparedContainer = null;
    const container = await openCalendar(tenant, target, lane, signal);
    if (container === null) return await noteReplaced(tenant, target);
    const found = await compareWithTarget(tenant, target, container, AbortSignal.any([signal, lane.signal]));
    return await settle(tenant, target, found, lane);
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    // Whoever took the lane over goes on with it: that is no trouble of the target.
    if (!lane.signal.aborted && failure.code !== 'lease-lost') await noteTrouble(tenant, target, failure);
    return null;
  } finally {
    await lane.release();
  }
}

/** The links of the old calendar are forgotten by now; the next plan builds them anew and fills the new one. */
async function noteReplaced(tenant: OpenTenant, target: OpenTarget): Promise<DriftReport> {
  const nothing = { checked: 0, edited: 0, removed: 0, unlinked: 0, fields: {}, churning: 0, churningFields: [] };
  const report = { ...nothing, checkedAt: tenant.clock(), calendarReplaced: true };
  await tenant.records.write(target.id, { drift: report });
  return report;
}

async function compareWithTarget(
  tenant: OpenTenant,
  target: OpenTarget,
  container: string,
  signal: AbortSignal,
): Promise<Audit> {
  const remoteItems: RemoteItem[] = [];
  for await (const page of target.connector.read(container, null, signal)) remoteItems.push(...page);
  return audit({
    remoteItems,
    links: await tenant.links.read(target.id),
    pending: await tenant.outbox.pending(target.id),
    identity: target.identity,
    window: windowOf(target, tenant.clock()),
  });
}

async function settle(tenant: OpenTenant, target: OpenTarget, found: Audit, lane: Lease): Promise<DriftReport> {
  const { drift, rewritesPerDay } = target.configuration.audit;
  const toMark = marksOf(found);
  const churning: Mark[] = [];
  const restored: Link[] = [...found.unlinked];
  if (drift === 'repair' && toMark.length > 0) {
    const ids = toMark.map(({ link }) => link.recordId);
    const counts = await tenant.records.countRestorations(target.id, ids, tenant.clock());
    for (const entry of toMark) {
      const tooOften = (counts.get(entry.link.recordId) ?? 0) > rewritesPerDay;
      if (tooOften) churning.push(entry);
      else restored.push(entry.link);
    }
  }
  if (restored.length > 0) await tenant.links.writeAll(target.id, restored, lane);
  const report: DriftReport = {
    checkedAt: tenant.clock(),
    checked: found.checked,
    edited: found.edited.length,
    removed: found.removed.length,
    unlinked: found.unlinked.length,
    fields: countFields(found),
    churning: churning.length,
    churningFields: [...new Set(churning.flatMap(({ fields }) => fields))],
  };
  await tenant.records.write(target.id, { drift: report });
  tell(tenant, target, report);
  return report;
}

interface Mark {
  link: Link;
  fields: readonly string[];
}

/** Links to be marked. What an earlier audit marked and no plan has restored yet is no second restoration. */
function marksOf(found: Audit): Mark[] {
  const edited = found.edited.filter(({ link, fields }) => link.drift !== 'edited' || fields.length > 0);
  const removed = found.removed.filter(({ drift }) => drift !== 'removed');
  return [
    ...edited.map(({ asFound, fields }): Mark => ({ link: { ...asFound, drift: 'edited' }, fields })),
    ...removed.map((link): Mark => {
      return { link: { ...link, fingerprint: '', versionTag: null, drift: 'removed' }, fields: ['removed'] };
    }),
  ];
}

function countFields(found: Audit): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const field of found.edited.flatMap(({ fields }) => fields)) counts[field] = (counts[field] ?? 0) + 1;
  return counts;
}

function tell(tenant: OpenTenant, target: OpenTarget, report: DriftReport): void {
  const { edited, removed, fields, churning, churningFields } = report;
  if (edited + removed > 0) {
    tenant.log.warn({ target: target.id, edited, removed, fields }, 'objects were changed by hand in a target');
  }
  if (churning > 0) {
    tenant.log.error({ target: target.id, churning, churningFields }, 'objects are not restored any more today');
  }
}
