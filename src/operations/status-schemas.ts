import { z } from 'zod';
import { LINKS_COUNT } from '../model/sync-state.ts';
import { countsByCode, failure, health, instant, problem, sync } from './schemas.ts';

/** Part of a target with an unknown state, or with a failed read. */
const gap = z.object({
  code: z.string(),
  count: z.number(),
  what: z.array(z.string()),
  soon: z.array(z.string()),
});

const drift = z.object({
  checkedAt: instant,
  checked: z.number(),
  edited: z.number(),
  removed: z.number(),
  unlinked: z.number(),
  fields: countsByCode,
  churning: z.number(),
  churningFields: z.array(z.string()),
  overwritten: z.number().optional(),
  duplicatesRemoved: z.number().optional(),
  unmarked: z.number().optional(),
  unreadable: z.number().optional(),
  calendarReplaced: z.boolean().optional(),
});

/** Reaction to manual changes. */
export const driftPolicy = z.enum(['repair', 'keep', 'report']);

/** Result of an audit. */
export const auditReply = z.object({
  tenant: z.string(),
  targets: z.array(
    z.object({
      target: z.string(),
      policy: driftPolicy,
      drift: drift.nullable(),
      failure: z
        .object({ code: z.string(), message: z.string(), remedy: z.string().nullable() })
        .nullable()
        .describe('Why the target could not be read'),
    }),
  ),
});

/** Sync state of a target, or of a tenant: the worst state of its targets. */
export const syncState = {
  sync,
  health,
  inSyncAsOf: instant.nullable().describe('Time of the clinic data that the target shows'),
  firstSync: z
    .object({ written: z.number(), of: z.number().nullable() })
    .nullable()
    .describe(
      'During the first sync: number of written and expected objects; null during the first read of the clinic',
    ),
  ...{ pending: z.number(), failing: z.number(), held: z.number() },
};

export const targetStatus = z.object({
  target: z.string(),
  connector: z.string(),
  connection: z.string(),
  reason: z
    .enum([
      ...['paused', 'error', 'backing-off', 'on-hold', 'writes-failed', 'manual-changes'],
      ...['incomplete-data', 'first-sync', 'writing', 'read-failed'],
    ] as const)
    .nullable()
    .describe('Why the target is not in sync; null if it is'),
  ...syncState,
  checkedAt: instant
    .nullable()
    .describe("Last time when clinic-mirror compared the target's objects with its writes; null before the first time"),
  soonAsOf: instant.nullable(),
  gaps: z.array(gap),
  exceptGapsAsOf: instant.nullable(),
  links: z.number().meta(LINKS_COUNT),
  pausedErasures: z.number().describe('For a paused target: number of pending erasures of forgotten patients'),
  heldSinceAt: instant.nullable().describe('Time since when changes wait for approval'),
  heldRestorations: z
    .object({ count: z.number(), limit: z.object({ share: z.number(), count: z.number() }) })
    .nullable()
    .describe('Objects removed by hand that clinic-mirror restores only after an approval, and the exceeded limit'),
  oldestPendingAt: instant.nullable(),
  unconfirmed: z.number().describe("Records missing from the clinic's list, and not yet confirmed as deleted"),
  failure: failure.extend({ sinceAt: instant }).nullable(),
  outage: z.string().nullable().describe('Unreachable server that blocks the target or some of its changes'),
  nextTryAt: instant.nullable().describe('Time of the next attempt, if the target backs off or is stopped'),
  calendarReplacedAt: instant.nullable().describe('Time when a new calendar replaced a deleted calendar'),
  policy: driftPolicy,
  drift: drift.nullable(),
  isDriftUnrepaired: z.boolean().describe('True if manual changes wait for an administrator'),
  notifications: z.object({
    sinceAt: instant.nullable(),
    untilAt: instant.nullable(),
    reason: z.string().nullable(),
  }),
  feed: z
    .object({ madeAt: instant, fetchedAt: instant.nullable(), fetches: z.number() })
    .nullable()
    .optional()
    .describe('For a feed: its URL; null if the feed has no URL'),
  created: z.number(),
  updated: z.number(),
  deleted: z.number(),
  adopted: z.number(),
  dropsMarks: z.boolean().describe('True if the server drops the marks of events'),
  ambiguous: z.number(),
});

export const connectionStatus = z.object({
  connection: z.string(),
  kind: z.string(),
  state: z.enum(['connected', 'retrying', 'unconfirmed', 'needs-login', 'no-tenant', 'never', 'static']),
  reason: z.string().nullable(),
  account: z.string().nullable(),
  sinceAt: instant.nullable(),
  nextTryAt: instant.nullable(),
  pause: z
    .object({ code: z.enum(['rate-limited', 'client-rate-limited']), sinceAt: instant, untilAt: instant })
    .nullable()
    .describe('The server limits the request rate: no requests before `untilAt`'),
  accessExpiresAt: instant.nullable(),
  refreshExpiresAt: instant.nullable(),
  isEndFixed: z.boolean().describe('True if use does not extend the expiry'),
  obtainedAt: instant.nullable(),
  usedAt: instant.nullable(),
  missingScopes: z.array(z.string()),
});

/** Remark on the profile after a complete clinic read. */
export const readingRemark = z.object({
  code: z.enum(['zone-unread', 'zone-fixed', 'path-empty', 'more-told', 'date-order', 'several-values']),
  list: z.string(),
  field: z.string(),
  path: z.string(),
  rows: z.number(),
  zones: z.array(z.string()).optional(),
});

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
  withheld: z.array(z.object({ part: z.string(), code: z.string(), remedy: z.string().nullable() })),
  gaps: z.record(z.string(), z.array(gap)),
  targets: z.array(
    z.object({
      target: z.string(),
      planned: countsByCode,
      held: z.number(),
      released: z.number(),
      unchanged: z.number(),
      confirmed: z.number(),
      stillThere: z.number(),
      unconfirmed: z.number(),
      omitted: countsByCode,
      unusable: countsByCode,
    }),
  ),
  pace: z
    .object({ soonPerWhole: z.number(), late: z.number(), inTime: z.number(), isPlain: z.boolean() })
    .describe('Share of cycles with a full read; the other cycles read the next 48 hours'),
  clinic: z
    .object({ tenantId: z.string(), catalogue: z.string().describe('A hash') })
    .nullable()
    .describe("The clinic's own id, and a hash of its last catalogue"),
  crmPlanner: z.string().nullable().describe('Process that last planned a CRM'),
  hourly: z
    .object({ lastHourAt: instant, counts: z.array(z.number()) })
    .describe('Number of changes per hour, for the last day'),
  awaiting: z.array(z.string()),
  error: failure.nullable(),
});

/** Result of a cycle on demand. */
export const syncReply = z.object({ tenant: z.string(), run: runReport, targets: z.array(targetStatus) });

const removed = z.array(z.object({ name: z.string(), missedAt: instant, releaseAt: instant }));

export const principal = z.object({
  kind: z.string().describe('`os-user`, `account` (administrator), `browser` (link), `holder` (token) or `daemon`'),
  name: z.string(),
  id: z.string(),
  claimed: z.string().nullable(),
});

/** Facts of an action: numbers, and names defined by clinic-mirror. */
export const actFacts = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

export const tenantStatus = z.object({
  tenant: z.string(),
  name: z.string(),
  paused: z.boolean(),
  ...syncState,
  configuration: z.object({ number: z.number(), isOurs: z.boolean(), supersededAt: instant.nullable() }),
  connections: z.array(connectionStatus),
  lastRun: runReport.nullable(),
  cycleEveryMs: z.number().describe('Time between the beginnings of two cycles'),
  targets: z.array(targetStatus),
  removed,
  uncertainty: z.object({ code: z.string(), sinceAt: instant }).nullable(),
  loss: z
    .object({ code: z.string(), sinceAt: instant })
    .nullable()
    .describe('Loss of Redis data that explains missing data or connections'),
  approvals: z.array(
    z.object({
      id: z.string(),
      verb: z.string(),
      what: actFacts,
      by: principal,
      at: instant,
      expiresAt: instant,
    }),
  ),
  reminders: z
    .object({
      waiting: z.number(),
      closedChannels: z.array(z.object({ channel: z.string(), code: z.string(), at: instant })),
      hold: z
        .object({ id: z.string(), appointments: z.number(), sinceAt: instant })
        .nullable()
        .describe('Number of corrections that wait for approval'),
      replies: z.object({ count: z.number(), sinceAt: instant }).nullable().describe('Replies of patients to read'),
      wrong: z
        .array(
          z.object({
            appointmentId: z.string(),
            channel: z.string(),
            sinceAt: instant,
            correctsAt: instant
              .nullable()
              .describe('Due time of the correction message; null: no correction is planned'),
            reason: z.string().nullable(),
            untilAt: instant,
          }),
        )
        .describe('Patients whose last message is outdated'),
    })
    .nullable(),
  triggers: z
    .object({
      waiting: z.number(),
      closed: z.array(z.object({ endpoint: z.string(), code: z.string(), at: instant })),
      off: z.array(
        z.object({ endpoint: z.string(), event: z.string(), code: z.string(), remedy: z.string().nullable() }),
      ),
      refusing: z
        .array(
          z.object({
            endpoint: z.string(),
            code: z.string(),
            remedy: z.string().nullable(),
            sinceAt: instant.nullable(),
          }),
        )
        .describe('Receivers that refuse the message signature'),
    })
    .nullable(),
  storage: z
    .object({
      bytes: z.number().nullable().describe('At the last count; null: not counted yet, or not permitted'),
      addedBytes: z.number().describe('Estimate of changes planned since the count'),
      countedAt: instant.nullable(),
      limitBytes: z.number().describe('Above it, the daemon creates no more objects'),
    })
    .describe('Memory of the tenant in Redis'),
  problems: z.array(problem),
});

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

/** Status of the whole installation. */
export const statusReply = z.object({
  at: instant,
  redis: z
    .object({
      refusal: failure.nullable().describe('Why Redis refuses writes'),
      clockAheadMs: z.number().describe('How far the clock of this host is ahead of the clock of Redis'),
      daemonSeenAgoMs: z.number().nullable().describe('Time since a daemon last ran; null: not within a day'),
    })
    .describe('Proof that Redis works'),
  daemons: z
    .array(z.object({ host: z.string(), pid: z.number(), hash: z.string(), sinceAt: instant }))
    .describe('Running daemons with the hash of their configuration, and its begin'),
  state: z.object({
    durability: z.enum(['durable', 'unsupported', 'late']).nullable(),
    directory: z.enum(['none', 'kept', 'failed']),
    directoryFailure: z.string().nullable().optional(),
    wentBackAt: instant.nullable(),
    wentBackTo: instant.nullable(),
    writesLostAt: instant.nullable(),
  }),
  tenants: z.array(tenantStatus.omit({ problems: true })),
  incidents: z
    .array(
      z.object({
        host: z.string(),
        code: z.string(),
        sinceAt: instant,
        nextTryAt: instant.nullable(),
        tenants: z.array(z.object({ tenant: z.string(), waiting: z.number() })),
        unread: z.array(z.string()),
      }),
    )
    .describe('Unreachable servers'),
  unusable: z.array(z.object({ tenant: z.string(), faults: z.number() })),
  unchecked: z.number().describe('Number of tenants that the daemon has not checked since startup'),
  refused: z.array(
    z.object({
      tenant: z.string().nullable(),
      sinceAt: instant,
      faults: z.array(
        z.object({ file: z.string(), line: z.number().nullable(), path: z.string(), message: z.string() }),
      ),
      more: z.number(),
    }),
  ),
  damaged: z
    .array(z.object({ tenant: z.string().nullable(), kinds: z.array(z.string()), sinceAt: instant }))
    .describe('Data in Redis that did not open in the last day; null: shared by all clinics'),
  alertFailures: z.array(
    z.object({ channel: z.string(), code: z.string(), remedy: z.string().optional(), sinceAt: instant }),
  ),
  endings: z.array(
    z.object({
      kind: z.enum(['certificate', 'secret']),
      of: z.string(),
      beganAt: instant.nullable(),
      endsAt: instant,
    }),
  ),
  quotas: z.array(
    z.object({
      client: z.string(),
      hourShare: z.number(),
      days: z.array(z.object({ tenant: z.string(), share: z.number(), usedUpAt: instant.nullable() })),
    }),
  ),
  unkept: z.object({ code: z.string(), sentence: z.string(), next: z.string().nullable() }).nullable(),
  awaitsRestart: z.array(z.string()),
  removed,
  problems: z.array(problem),
});
