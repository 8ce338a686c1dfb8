import { type Installation, requireTenant } from '../../control/installation.ts';
import type { Hold } from '../../model/plan.ts';
import { DAY_MS, type Instant } from '../../model/time.ts';
import { type HoldChoice, seenCode } from '../../state/holds.ts';

/** How long a decision stands: long enough for every cycle that it concerns. */
const DECISION_MS = 7 * DAY_MS;

/** A hold with the tenant that it belongs to. */
export interface TenantHold extends Hold {
  tenant: string;
  /** Names what it keeps back, as {@link seenCode}: who decides gives it back, so that nothing unseen is decided. */
  seen: string;
}

/** A hold of a tenant, as it is shown. */
export function shownHold(hold: Hold, tenant: string): TenantHold {
  return { ...hold, tenant, seen: seenCode(hold) };
}

/** Holds of one tenant or of all, open ones first, then newest first. */
export async function listHolds(installation: Installation, only?: string): Promise<TenantHold[]> {
  const tenants = only === undefined ? [...installation.tenants.values()] : [requireTenant(installation, only)];
  const lists = await Promise.all(
    tenants.map(async (tenant) => (await tenant.holds.list()).map((hold) => shownHold(hold, tenant.id))),
  );
  const rank = (hold: Hold) => (hold.state === 'open' ? 0 : 1);
  return lists.flat().sort((a, b) => rank(a) - rank(b) || b.createdAt - a.createdAt);
}

/** A hold, and what is decided of it. */
export interface HoldDecision {
  tenant: string;
  hold: string;
  decision: 'approved' | 'rejected';
}

/**
 * Decides a hold: approved, its deletions go with the next cycle, which is asked for at once; rejected, the objects stay and
 * are not held again for a week. Who approves a hold of people says that nobody has to be kept out, for the whole tenant.
 * @param choice what the person saw in it, so that one that grew meanwhile is not approved unseen; and what of it is decided: the rest
 *   goes on waiting, however little it is
 * @returns the hold that was decided: a part has an id of its own
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
  return { hold: shownHold(hold, tenantId), effectiveAt: now };
}
