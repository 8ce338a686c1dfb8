import { worstOf } from '../../../src/core/model/sync-state.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { problemsOf } from '../../../src/operator/control/problems.ts';
import type {
  ConnectionStatus,
  Status,
  TargetReason,
  TargetStatus,
  TenantStatus,
} from '../../../src/operator/control/status-schemas.ts';
import { NOW } from '../../domain/arbitraries.ts';

/** Returns a target as in the status. */
export function targetOf(reason: TargetReason | null, changes: Partial<TargetStatus> = {}): TargetStatus {
  const figures = {
    links: 10,
    pending: 0,
    pausedErasures: 0,
    failing: 0,
    held: 0,
    created: 0,
    updated: 0,
    deleted: 0,
    adopted: 0,
  };
  const times = {
    inSyncAsOf: NOW,
    checkedAt: NOW,
    lastWrittenAt: NOW,
    soonAsOf: NOW,
    exceptGapsAsOf: null,
    heldSinceAt: null,
    heldRestorations: null,
    oldestPendingAt: null,
  };
  return {
    ...{ target: 'room', connector: 'caldav', connection: 'dav', reason, sync: 'in-sync', health: 'ok' },
    ...{
      ...figures,
      ...times,
      gaps: [],
      unconfirmed: 0,
      failure: null,
      outage: null,
      calendarReplacedAt: null,
      nextTryAt: null,
      policy: 'repair',
      drift: null,
      isDriftUnrepaired: reason === 'manual-changes',
      firstSync: null,
      ambiguous: 0,
      dropsMarks: false,
    },
    notifications: { sinceAt: null, untilAt: null, reason: 'no-subscriptions' },
    ...changes,
  };
}

/** Returns a connection as in the status. */
export function loginOf(state: ConnectionStatus['state'], changes: Partial<ConnectionStatus> = {}): ConnectionStatus {
  const times = { sinceAt: NOW - HOUR_MS, accessExpiresAt: null, refreshExpiresAt: null };
  const life = { nextTryAt: null, pause: null, isEndFixed: false, obtainedAt: NOW - HOUR_MS, usedAt: NOW };
  return {
    connection: 'dav',
    kind: 'oauth',
    state,
    reason: null,
    account: null,
    ...times,
    ...life,
    missingScopes: [],
    ...changes,
  };
}

/** A clinic that is well. */
export function tenantOf(changes: Partial<TenantStatus> = {}): TenantStatus {
  const { targets = [targetOf(null)] } = changes;
  return {
    ...worstOf(targets),
    ...{
      tenant: 'aurora',
      name: 'Poliambulatorio Aurora',
      paused: false,
      lastRun: null,
      cycleEveryMs: 5 * MINUTE_MS,
      removed: [],
      storage: { bytes: 0, addedBytes: 0, countedAt: NOW, limitBytes: 2 ** 30 },
      uncertainty: null,
      loss: null,
      approvals: [],
    },
    configuration: { number: 1, isOurs: true, supersededAt: null },
    connections: [loginOf('connected')],
    targets,
    reminders: null,
    triggers: null,
    ...changes,
  };
}

/** Returns the status of an installation without problems outside of its tenants. */
export function statusOf(tenants: TenantStatus[]): Status {
  const times = { wentBackAt: null, wentBackTo: null, writesLostAt: null };
  const state = { durability: 'durable', directory: 'kept', ...times } as const;
  return {
    ...{
      at: NOW,
      state,
      redis: { refusal: null, clockAheadMs: 0, daemonSeenAgoMs: 0, answerMs: 1, memory: null },
      daemons: [],
      tenants,
      unusable: [],
      unchecked: 0,
      refused: [],
      damaged: [],
      alertFailures: [],
      problems: [],
      incidents: [],
    },
    ...{ awaitsRestart: [], removed: [], endings: [], quotas: [], unkept: null },
  };
}

/** Returns the problems of one tenant and of the installation around it. */
export function problems(
  tenant: Partial<TenantStatus>,
  installation: Partial<Status> = {},
  managed: readonly string[] = [],
) {
  return problemsOf({ ...statusOf([tenantOf(tenant)]), ...installation }, { managed: new Set(managed) });
}
