import { MirrorError } from '../../core/model/errors.ts';
import type { Progress } from '../../core/model/tasks.ts';
import type { Instant } from '../../core/model/time.ts';
import { planCycle } from '../../engine/cycle.ts';
import type { ChangeTable, LinkTable } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import { type Installation, requireTenant } from '../../operator/control/installation.ts';
import { asMatchable, findMatches, type MatchableTarget, type MatchCounts } from '../../operator/control/matching.ts';
import type { TenantEngine } from '../../tenant/tenant.ts';
import { toMatchFile } from './file.ts';

/** A tenant, as far as matching its patients with contacts concerns it: its cycle, its links and its waiting changes. */
export interface MatchedTenant extends TenantEngine {
  links: LinkTable;
  outbox: ChangeTable;
}

/** Counts of a search. */
export interface MatchView extends MatchCounts {
  tenant: string;
  target: string;
  connector: string;
  asOf: Instant;
  /** Pairs in the file, and pairs that require a decision. */
  pairs: number;
  ambiguous: number;
}

/**
 * Finds existing CRM contacts that may be patients. Reads clinic and CRM, writes nothing.
 * @returns the counts, and the decision file, which contains patient data
 * @throws MirrorError `settings`, code `no-such-tenant`, `no-such-target` or `match-not-possible`; errors of clinic and target
 */
export async function proposeMatches(
  installation: Installation,
  { tenant: tenantId, target: targetId }: { tenant: string; target: string },
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<{ view: MatchView; file: string }> {
  const tenant = requireTenant(installation, tenantId);
  const matchable = matchableTarget(tenant, targetId);
  const cycle = await planCycle(tenant, { lease: null, progress }, signal);
  progress('reading the contacts');
  const { rows, ...found } = await findMatches(tenant, matchable, cycle, signal);
  const { id: target, configuration, identity } = matchable.target;
  const ambiguous = rows.filter(({ contacts, patients }) => contacts > 1 || patients > 1).length;
  const names = { tenant: tenantId, target, connector: configuration.connector };
  return {
    view: {
      ...names,
      asOf: await tenant.sharedTime(cycle.reading.startedAt),
      ...found,
      pairs: rows.length,
      ambiguous,
    },
    file: toMatchFile(rows, identity),
  };
}

/** @throws MirrorError `settings`, code `no-such-target` */
export function matchableTarget({ targets }: MatchedTenant, id: string): MatchableTarget {
  const target = targets.get(id);
  const matchable = target === undefined ? null : asMatchable(target);
  if (matchable !== null) return matchable;
  throw new MirrorError(message('no-such-contact-target'), {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: message('no-such-contact-target.remedy'),
  });
}
