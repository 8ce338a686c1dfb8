import type { Instant } from '../../core/model/time.ts';
import { CLOCKS_APART_MS } from './installation-problems.ts';
import type { TenantStatus } from './status-schemas.ts';

/**
 * Returns a tenant without times in the future. A host whose clock was ahead stored them; they prove nothing, even after the clock was
 * corrected. Small differences of clocks are cut off.
 * @param now by the clock of Redis
 */
export function withoutFuture(tenant: TenantStatus, now: Instant): TenantStatus {
  const past = (at: Instant | null) => (at === null || at > now + CLOCKS_APART_MS ? null : Math.min(at, now));
  function proved<Part extends Pick<TenantStatus, 'inSyncAsOf' | 'sync'>>(part: Part): Part {
    const inSyncAsOf = past(part.inSyncAsOf);
    const isUnproved = part.inSyncAsOf !== null && inSyncAsOf === null && part.sync === 'in-sync';
    return { ...part, inSyncAsOf, sync: isUnproved ? 'unknown' : part.sync };
  }
  return {
    ...proved(tenant),
    targets: tenant.targets.map((target) => ({
      ...proved(target),
      checkedAt: past(target.checkedAt),
      lastWrittenAt: past(target.lastWrittenAt),
      soonAsOf: past(target.soonAsOf),
      exceptGapsAsOf: past(target.exceptGapsAsOf),
    })),
  };
}
