import type { Hold } from '../../core/model/plan.ts';
import { DAY_MS, type Instant } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { CycleFollower } from '../../domain/followers.ts';
import type { DeletionLimit } from '../../engine/guard.ts';
import type { LinkTable, TargetTable } from '../../engine/store.ts';
import { type Installation, readTenants, requireTenant } from '../../operator/control/installation.ts';
import type { EventDecisionSource, HeldItem } from '../../operator/control/target-objects.ts';
import { type HoldChoice, seenCode } from '../../state/holds.ts';
import type { GoneDay } from '../../state/target-record.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { type UsualChanges, usualOf } from './usual.ts';

/** Lifetime of a decision, long enough for the affected cycles. */
const DECISION_MS = 7 * DAY_MS;

/** A tenant, as far as its holds concern it: the clinic and the targets from which held changes are shown. */
export interface HeldTenant extends EventDecisionSource {
  id: string;
  clinic: ClinicSource;
  followers: readonly CycleFollower[];
  targets: ReadonlyMap<string, OpenTarget>;
  targetStore: TargetTable & {
    /** Counts departures on each of the last thirty local days, oldest first. */
    goneByDate(target: string, now: Instant, zone: string): Promise<GoneDay[]>;
  };
  links: LinkTable;
  /** Null without configured reminders. */
  reminders: HoldingReminders | null;
}

/** Reminders of a tenant, as far as holds of corrections concern them. */
interface HoldingReminders {
  file: { correctionGuard: DeletionLimit };
  /** Returns what an approval would correct. `unread`: error code of the clinic. */
  heldCorrections(
    clinic: ClinicSource,
    held: { recordIds: readonly string[]; now: Instant; zone: string },
    signal: AbortSignal,
  ): Promise<{ items: HeldItem[]; unread: string | null }>;
}

/** A hold with its tenant. */
export interface TenantHold extends Hold {
  tenant: string;
  /** The exceeded limit; null for kinds without one, and for a target that is no longer configured. */
  limit: DeletionLimit | null;
  /** Digest of the held changes, from {@link seenCode}. A decision must include the digest, so that unseen changes are not decided. */
  seen: string;
}

/** A hold in a list. */
export interface ListedHold extends TenantHold {
  /** Null for a decided hold, and for kinds whose changes are not counted. */
  usual: UsualChanges | null;
}

/** Returns the usual number of changes of a hold's kind; null for kinds that are not counted, and for an unconfigured target. */
export async function usualOfHold(tenant: HeldTenant, { kind, target }: Hold): Promise<UsualChanges | null> {
  if (!tenant.targets.has(target)) return null;
  return usualOf(kind, () => tenant.targetStore.goneByDate(target, tenant.clock(), tenant.configuration.zone));
}

/** Adds tenant, limit and digest to a hold. */
export function shownHold(hold: Hold, tenant: HeldTenant): TenantHold {
  return { ...hold, tenant: tenant.id, limit: limitOf(hold, tenant), seen: seenCode(hold) };
}

function limitOf({ kind, target, exceededIn }: Hold, { targets, reminders }: HeldTenant): DeletionLimit | null {
  if (kind === 'corrections') return reminders?.file.correctionGuard ?? null;
  const guard = targets.get(exceededIn ?? target)?.configuration.guard;
  if (guard === undefined) return null;
  if (kind === 'manual-changes') return guard.vanished;
  return kind === 'cancelled' || kind === 'vanished' ? guard[kind] : null;
}

/** Lists holds of one tenant or every tenant: open holds first, then newest first. */
export async function listHolds(installation: Installation, only?: string): Promise<ListedHold[]> {
  const lists = await readTenants(installation, only, async (tenant) => {
    const listed = async (hold: Hold): Promise<ListedHold> => ({
      ...shownHold(hold, tenant),
      usual: hold.state === 'open' ? await usualOfHold(tenant, hold) : null,
    });
    return Promise.all((await tenant.holds.list()).map(listed));
  });
  const rank = (hold: Hold) => (hold.state === 'open' ? 0 : 1);
  return lists.flat().sort((a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt);
}

/** A hold and its decision. */
export interface HoldDecision {
  tenant: string;
  hold: string;
  decision: 'approved' | 'rejected';
}

/**
 * Decides a hold. After an approval, the deletions are part of the next cycle, which starts immediately. After a rejection, the objects
 * remain and are not held again for a week. Approving a hold of people confirms for the whole tenant that no patient must be excluded.
 * @param choice digest of the hold that the user saw, and the selected records. The remaining records still wait, even below the limit.
 * @returns the decided hold: a part has a separate id
 * @throws MirrorError `settings`, code `no-such-hold`, `hold-decided`, `hold-changed` or `hold-whole-only`
 */
export async function decideHold(
  installation: Installation,
  { tenant: tenantId, hold: holdId, decision }: HoldDecision,
  choice: HoldChoice = {},
): Promise<{ hold: TenantHold; effectiveAt: Instant }> {
  const tenant = requireTenant(installation, tenantId);
  const now = installation.clock();
  const hold = await tenant.holds.decide(holdId, { state: decision, now, expiresAt: now + DECISION_MS }, choice);
  if (hold.kind === 'first-run' && decision === 'approved') {
    await tenant.targetStore.write(hold.target, { firstRunApprovedAt: now });
  }
  if (hold.kind === 'people' && decision === 'approved') await tenant.protection.accept();
  await installation.pullNow(tenantId);
  return { hold: shownHold(hold, tenant), effectiveAt: now };
}
