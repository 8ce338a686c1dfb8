import type { ReasonCode } from '../core/model/operations.ts';
import type { PlannedChange } from '../core/model/plan.ts';
import type { WritePolicyView } from '../core/model/write-policy.ts';
import type { PushedState } from './diff.ts';
import type { AuditRules, TargetRules, WritePolicy } from './target.ts';

type Effect = 'create' | 'update' | 'delete';

const PERMITTED: Readonly<Record<WritePolicy, readonly Effect[]>> = {
  sync: ['create', 'update', 'delete'],
  'upsert-only': ['create', 'update'],
  'create-only': ['create'],
};

/** Codes of withheld changes: `notRemoved` instead of a removal, `not-updated` instead of an update. */
export const POLICY_CODES = { notRemoved: 'not-removed-by-policy', notUpdated: 'not-updated-by-policy' } as const;

/** Records with a change that the policy withholds. */
export interface WithheldByPolicy {
  /** Their objects remain although their records left the target. */
  notRemoved: readonly string[];
  /** Their objects keep an earlier content. */
  notUpdated: readonly string[];
}

export const NOTHING_WITHHELD: WithheldByPolicy = { notRemoved: [], notUpdated: [] };

/** Returns whether a target's policy permits a change. An erasure that an operator requested is always permitted. */
export function permits(
  policy: WritePolicy,
  { recordId, reason, want }: { recordId: string; reason: ReasonCode; want: 'present' | 'absent' },
  { links }: Pick<PushedState, 'links'>,
): boolean {
  if (reason === 'forgotten') return true;
  // The link of an object that was removed by hand counts too: the object is not created again.
  const effect = want === 'absent' ? 'delete' : links.has(recordId) ? 'update' : 'create';
  return PERMITTED[policy].includes(effect);
}

/**
 * Returns the state without pending changes that the policy forbids, for a comparison with the present object. A removal that may have been
 * sent stays, because its object may be gone.
 */
export function withoutForbidden(policy: WritePolicy, state: PushedState): PushedState {
  if (policy === 'sync' || state.pending.size === 0) return state;
  const pending = [...state.pending].filter(
    ([, change]) => permits(policy, change, state) || (change.want === 'absent' && change.sent),
  );
  return { ...state, pending: new Map(pending) };
}

/** Withheld changes in the form of a target's stored record. */
export interface StoredWithheld {
  notRemovedByPolicy: readonly string[];
  notUpdatedByPolicy: readonly string[];
}

/** Returns the changes that the policy withheld in the last plan, as stored. After a return to `sync`, none. */
export function withheldIn(
  { configuration }: { configuration: Pick<TargetRules, 'policy'> },
  { notRemovedByPolicy, notUpdatedByPolicy }: StoredWithheld,
): WithheldByPolicy {
  return configuration.policy === 'sync'
    ? NOTHING_WITHHELD
    : { notRemoved: notRemovedByPolicy, notUpdated: notUpdatedByPolicy };
}

/** Planned changes, separated by the policy. */
export interface JudgedByPolicy {
  permitted: PlannedChange[];
  withheld: WithheldByPolicy;
  /** Records with a pending change that must not be written any more. */
  abandoned: string[];
}

/**
 * Separates planned changes by a target's policy. Of a record with a withheld change, an earlier pending write is abandoned too: its content
 * is outdated, or its record left the target.
 */
export function judgeByPolicy(
  policy: WritePolicy,
  changes: readonly PlannedChange[],
  state: PushedState,
): JudgedByPolicy {
  if (policy === 'sync') return { permitted: [...changes], withheld: NOTHING_WITHHELD, abandoned: [] };
  const permitted: PlannedChange[] = [];
  const notRemoved: string[] = [];
  const notUpdated: string[] = [];
  const withheld = new Set<string>();
  for (const change of changes) {
    const { recordId, reason, wanted } = change;
    if (permits(policy, { recordId, reason, want: wanted.want }, state)) {
      permitted.push(change);
      continue;
    }
    withheld.add(recordId);
    // Without a link, only a pending write is withdrawn.
    if (wanted.want === 'present') notUpdated.push(recordId);
    else if (state.links.has(recordId)) notRemoved.push(recordId);
  }
  const replaced = new Set(permitted.map(({ recordId }) => recordId));
  const abandoned = [...state.pending.values()]
    .filter((change) => !replaced.has(change.recordId) && change.reason !== 'forgotten')
    .filter((change) => withheld.has(change.recordId) || !permits(policy, change, state))
    .map(({ recordId }) => recordId);
  return { permitted, withheld: { notRemoved, notUpdated }, abandoned };
}

/** Returns the number of withheld changes for views; absent for `sync`. */
export function policyViewOf(
  { policy: name }: Pick<TargetRules, 'policy'>,
  { notRemoved, notUpdated }: WithheldByPolicy,
): { writePolicy?: WritePolicyView } {
  return name === 'sync' ? {} : { writePolicy: { name, notRemoved: notRemoved.length, notUpdated: notUpdated.length } };
}

/** Returns how a target handles manual changes. `create-only` repairs nothing. */
export function auditRules({ policy, audit }: Pick<TargetRules, 'audit' | 'policy'>): AuditRules {
  return policy === 'create-only' && audit.drift === 'repair' ? { ...audit, drift: 'keep' } : audit;
}
