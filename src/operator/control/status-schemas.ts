import { z } from 'zod';
import { approvalRequest } from '../../core/model/acts.ts';
import type { ErrorTexts } from '../../core/model/errors.ts';
import type { Problem } from '../../core/model/problems.ts';
import { type ReminderStatus, reminderStatus } from '../../core/model/reminders.ts';
import { clinicSeen, drift, gap, hourly, readingRemark, targetRun, withheld } from '../../core/model/run-schemas.ts';
import { countsByCode, failure, instant, problem, syncState } from '../../core/model/schemas.ts';
import {
  damagedState,
  type Ending,
  ending,
  feedAccess,
  type QuotaStatus,
  quota,
  type RedisReadings,
  redisReadings,
  refusedFiles,
  runningConfiguration,
  stateCounterView,
  storageUse,
  uncertainty,
} from '../../core/model/state-schemas.ts';
import { LINKS_COUNT } from '../../core/model/sync-state.ts';
import { type TriggerStatus, triggerStatus } from '../../core/model/triggers.ts';
import { writePolicyView } from '../../core/model/write-policy.ts';
import type { RunReport } from '../../domain/runs.ts';
import type { TargetFailure } from '../../engine/store.ts';

/** Configured reaction to manual changes. */
export const driftPolicy = z.enum(['repair', 'keep', 'report']);
export type DriftPolicy = z.infer<typeof driftPolicy>;

export const auditReply = z.object({
  tenant: z.string(),
  targets: z.array(
    z.object({
      target: z.string(),
      policy: driftPolicy,
      /** Null without a check: the target is being written, backs off, failed, or was never written. */
      drift: drift.nullable(),
      failure: z
        .object({ code: z.string(), message: z.string(), remedy: z.string().nullable() })
        .nullable()
        .describe('Why the target could not be read'),
    }),
  ),
});
/** Result of an audit on demand. */
export type AuditView = z.infer<typeof auditReply>;

/**
 * Reason for the sync status and the health of a target that is not in sync, worst first:
 * - `paused`: by configuration
 * - `error`: stopped by an error that requires action
 * - `backing-off`: retries later, after a temporary error
 * - `on-hold`: waits for a decision
 * - `writes-failed`: some writes fail
 * - `manual-changes`: manual changes require action, because the policy only reports changes or today's repair limit is reached
 * - `incomplete-data`: unreadable records may belong to the target, or configured ids are unknown
 * - `first-sync`: the first plan is not completely written
 * - `writing`: changes are being written
 * - `next-cycle`: nothing is being written; the next cycle confirms absences, writes an approved hold, restores, or plans again
 * - `read-failed`: no change waits, but the last cycle could not read or plan the target's source
 */
const targetReason = z.enum([
  ...['paused', 'error', 'backing-off', 'on-hold', 'writes-failed', 'manual-changes'],
  ...['incomplete-data', 'first-sync', 'writing', 'next-cycle', 'read-failed'],
] as const);
export type TargetReason = z.infer<typeof targetReason>;

const notifications = z.object({
  /** Begin of the subscription; null without a subscription. */
  sinceAt: instant.nullable(),
  /** End of the subscription, unless renewed. */
  untilAt: instant.nullable(),
  /**
   * Reason without notifications: `not-offered` by the vendor, `no-public-address`, `paused`, `not-yet`, or an error code. With
   * notifications: error code of the last renewal check.
   */
  reason: z.string().nullable(),
});
/** Whether the vendor notifies clinic-mirror of changes in a target. Polling continues in both cases. */
export type NotificationStatus = z.infer<typeof notifications>;

export const targetStatus = z.object({
  target: z.string(),
  connector: z.string(),
  /** Connection used for writes. */
  connection: z.string(),
  reason: targetReason.nullable().describe('Why the target is not in sync; null if it is'),
  ...syncState,
  checkedAt: instant
    .nullable()
    .describe("Last time when clinic-mirror compared the target's objects with its writes; null before the first time"),
  lastWrittenAt: instant.nullable().describe('Last time when the target confirmed a write; null before the first'),
  /** Instant of clinic data planned for the next two days; null before the first plan. For CRMs, equal to the full plan. */
  soonAsOf: instant.nullable(),
  gaps: z.array(gap),
  /** With gaps: instant up to which the other parts are in sync; null if not in sync, or without gaps. */
  exceptGapsAsOf: instant.nullable(),
  links: z.number().meta(LINKS_COUNT),
  pausedErasures: z.number().describe('For a paused target: number of pending erasures of forgotten patients'),
  heldSinceAt: instant.nullable().describe('Time since when changes wait for approval'),
  heldRestorations: z
    .object({ count: z.number(), limit: z.object({ share: z.number(), count: z.number() }) })
    .nullable()
    .describe('Objects removed by hand that clinic-mirror restores only after an approval, and the exceeded limit'),
  /** Decision time of the next due change. */
  oldestPendingAt: instant.nullable(),
  unconfirmed: z.number().describe("Records missing from the clinic's list, and not yet confirmed as deleted"),
  failure: failure.extend({ sinceAt: instant }).nullable(),
  outage: z.string().nullable().describe('Unreachable server that blocks the target or some of its changes'),
  nextTryAt: instant.nullable().describe('Time of the next attempt, if the target backs off or is stopped'),
  calendarReplacedAt: instant.nullable().describe('Time when a new calendar replaced a deleted calendar'),
  policy: driftPolicy,
  writePolicy: writePolicyView.optional(),
  drift: drift.nullable(),
  isDriftUnrepaired: z.boolean().describe('True if manual changes wait for an administrator'),
  notifications,
  feed: feedAccess.nullable().optional().describe('For a feed: its URL; null if the feed has no URL'),
  /** Writes since the state began. */
  created: z.number(),
  updated: z.number(),
  deleted: z.number(),
  adopted: z.number(),
  dropsMarks: z.boolean().describe('True if the server drops the marks of events'),
  /** Objects with clinic-mirror's owner tag but without a certain record. They remain unchanged until an administrator decides. */
  ambiguous: z.number(),
});
/** State of a target, computed from links and outbox, never from the result of the last job. */
export type TargetStatus = Omit<z.infer<typeof targetStatus>, 'failure'> & { failure: TargetFailure | null };

const connectionPause = z.object({
  code: z.enum(['rate-limited', 'client-rate-limited']),
  sinceAt: instant,
  untilAt: instant,
});
/** Pause after a rate limit: `rate-limited`, or `client-rate-limited` for all connections of a shared client. */
export type ConnectionPause = z.infer<typeof connectionPause>;

export const connectionStatus = z.object({
  connection: z.string(),
  kind: z.string(),
  /**
   * - `static`: a connection without tokens, such as a CalDAV password
   * - `never`: not connected yet
   * - `no-tenant`: the clinic accepts the connection, but the last cycle found that its user may not work in the tenant
   * - `unconfirmed`: no operator has confirmed the account
   * - `retrying`: the provider refused the connection once, and the daemon checks again at `nextTryAt`
   */
  state: z.enum(['connected', 'retrying', 'unconfirmed', 'needs-login', 'no-tenant', 'never', 'static']),
  reason: z.string().nullable(),
  /** From the vendor or the settings; `unknown` if the vendor does not identify the account, null without a user. */
  account: z.string().nullable(),
  sinceAt: instant.nullable(),
  nextTryAt: instant.nullable(),
  pause: connectionPause.nullable().describe('The server limits the request rate: no requests before `untilAt`'),
  accessExpiresAt: instant.nullable(),
  refreshExpiresAt: instant.nullable(),
  isEndFixed: z.boolean().describe('True if use does not extend the expiry'),
  /** Time of the grant, and time of the last token; null without tokens. */
  obtainedAt: instant.nullable(),
  usedAt: instant.nullable(),
  missingScopes: z.array(z.string()),
});
/** State of a connection, with the terms of all interfaces. */
export type ConnectionStatus = z.infer<typeof connectionStatus>;

/** Counts of one cycle. */
export const runReport = z.object({
  id: z.string(),
  startedAt: instant,
  finishedAt: instant,
  snapshot: z
    .object({
      completeness: z.enum(['complete', 'partial', 'changes']),
      reason: z.string().nullable(),
      records: z.number(),
      requests: z.number(),
      repeated: z.number().optional(),
    })
    .nullable(),
  soon: z.object({ records: z.number(), requests: z.number() }).nullable(),
  unusable: countsByCode,
  unusableExamples: z.array(z.object({ recordId: z.string().nullable(), code: z.string(), field: z.string() })),
  unread: countsByCode.optional(),
  unknownStatuses: z.array(z.string()),
  remarks: z.array(readingRemark).optional(),
  withheld: z.array(withheld),
  gaps: z.record(z.string(), z.array(gap)),
  targets: z.array(targetRun),
  pace: z
    .object({ soonPerWhole: z.number(), late: z.number(), inTime: z.number(), isPlain: z.boolean() })
    .describe('Share of cycles with a full read; the other cycles read the next 48 hours'),
  clinic: clinicSeen.nullable().describe("The clinic's own id, and a hash of its last catalogue"),
  crmPlanner: z.string().nullable().describe('Process that last planned a CRM'),
  hourly: hourly.describe('Number of changes per hour, for the last day'),
  awaiting: z.array(z.string()),
  error: failure.nullable(),
});

export const syncReply = z.object({ tenant: z.string(), run: runReport, targets: z.array(targetStatus) });
/** Result of a cycle on demand. */
export type SyncResult = Omit<z.infer<typeof syncReply>, 'run' | 'targets'> & {
  run: RunReport;
  targets: TargetStatus[];
};

export const retried = z.object({ host: z.string(), tenants: z.array(z.string()), targets: z.number() });
/** Result of a manual retry: the tenants, and the number of their targets, that retry now. */
export type Retried = z.infer<typeof retried>;

const removed = z.object({
  name: z.string(),
  /** Time when the removal was first detected. */
  missedAt: instant,
  /**
   * Time when the data will be deleted. If configured again before this time, the data remains. Objects written to a target always remain.
   */
  releaseAt: instant,
});
/** Retained data of a tenant or part removed from the configuration. */
export type RemovedStatus = z.infer<typeof removed>;

const configuration = z.object({
  /** Newest generation used by a process to plan or write; 0 before the first use. */
  number: z.number(),
  /** Whether this process uses the newest generation. If not, another process has different files, or has not read the present files. */
  isOurs: z.boolean(),
  /**
   * Last time in ten minutes when a process with an older generation was refused (`configuration-superseded`), or null. The process does no
   * work for this tenant until the process reads the newest files.
   */
  supersededAt: instant.nullable(),
});
/** Configuration generation of a tenant. */
export type ConfigurationStatus = z.infer<typeof configuration>;

export const tenantStatus = z.object({
  tenant: z.string(),
  name: z.string(),
  paused: z.boolean(),
  ...syncState,
  configuration,
  connections: z.array(connectionStatus),
  lastRun: runReport.nullable(),
  cycleEveryMs: z.number().describe('Time between the beginnings of two cycles'),
  targets: z.array(targetStatus),
  /** Targets (`target/<id>`) and connections (`connection/<id>`). */
  removed: z.array(removed),
  /** No patient data is written or sent; null without it. */
  uncertainty: uncertainty.nullable(),
  loss: uncertainty.nullable().describe('Loss of Redis data that explains missing data or connections'),
  /** Actions that wait for approval by a second user. */
  approvals: z.array(approvalRequest),
  reminders: reminderStatus.nullable(),
  triggers: triggerStatus.nullable(),
  storage: storageUse.describe('Memory of the tenant in Redis'),
  problems: z.array(problem),
});
/** State of a tenant with its targets. Paused targets are ignored, unless every target is paused. */
export type TenantStatus = Omit<
  z.infer<typeof tenantStatus>,
  'lastRun' | 'problems' | 'reminders' | 'targets' | 'triggers'
> & {
  lastRun: RunReport | null;
  targets: TargetStatus[];
  reminders: ReminderStatus | null;
  triggers: TriggerStatus | null;
};

export const tenantLine = z.object({
  tenant: z.string(),
  name: z.string().nullable().describe('Null if the configuration has faults or is not checked yet'),
  paused: z.boolean(),
  ...syncState,
  targets: z.number(),
  checked: z
    .boolean()
    .describe('True if the daemon has checked the configuration since startup; the tenant runs from that time'),
  faults: z.number().describe('Number of configuration faults; a tenant with faults does not run'),
  problems: z.array(problem),
});
/** A tenant in a list, with the combined state of its targets. */
export type TenantLine = Omit<z.infer<typeof tenantLine>, 'problems'> & { problems: Problem[] };

const incident = z.object({
  host: z.string(),
  code: z.string(),
  sinceAt: instant,
  /** Next retry for all waiting work; null if due. */
  nextTryAt: instant.nullable(),
  /** Examined clinics, with their waiting changes. */
  tenants: z.array(z.object({ tenant: z.string(), waiting: z.number() })),
  /** Waiting clinics whose API is unreadable because of the server. */
  unread: z.array(z.string()),
});
/** An unreachable server, with every clinic that waits for the server. Texts of the last error are null if unknown. */
export type Incident = z.infer<typeof incident> & { texts: ErrorTexts | null };

const unkept = z.object({ code: z.string(), sentence: z.string(), next: z.string().nullable() });
/** Future risks for the whole installation. */
export interface Forecast {
  /** Server certificates as last seen, and secrets with an expiry in the settings. */
  endings: Ending[];
  /** Used request budgets of clients. */
  quotas: QuotaStatus[];
  /** Reason why Redis might lose data with its present setup, or null. */
  unkept: (z.infer<typeof unkept> & { texts: ErrorTexts }) | null;
}

export const statusReply = z.object({
  at: instant,
  redis: redisReadings.describe('Proof that Redis works'),
  daemons: z
    .array(runningConfiguration)
    .describe('Running daemons with the hash of their configuration, and its begin'),
  state: stateCounterView,
  tenants: z.array(tenantStatus.omit({ problems: true })),
  incidents: z.array(incident).describe('Unreachable servers'),
  /** Tenants that do not run. Tenants that run with previous files are in `refused`. */
  unusable: z.array(z.object({ tenant: z.string(), faults: z.number() })),
  unchecked: z.number().describe('Number of tenants that the daemon has not checked since startup'),
  /** Changed files refused by running daemons. The previous content remains active. */
  refused: z.array(refusedFiles),
  damaged: z
    .array(damagedState)
    .describe('Data in Redis that did not open in the last day; null: shared by all clinics'),
  alertFailures: z.array(
    z.object({ channel: z.string(), code: z.string(), remedy: z.string().optional(), sinceAt: instant }),
  ),
  endings: z.array(ending),
  quotas: z.array(quota),
  unkept: unkept.nullable(),
  /** Names of changed settings that require a daemon restart. */
  awaitsRestart: z.array(z.string()),
  /** Tenants. */
  removed: z.array(removed),
  /** Required action first. An incident is also a problem, and replaces the problems of its targets. */
  problems: z.array(problem),
});
/** Status of the whole installation, by the clock of Redis. */
export type Status = Omit<z.infer<typeof statusReply>, 'incidents' | 'problems' | 'redis' | 'tenants' | 'unkept'> &
  Pick<Forecast, 'unkept'> & {
    incidents: Incident[];
    problems: Problem[];
    redis: RedisReadings;
    tenants: TenantStatus[];
  };
