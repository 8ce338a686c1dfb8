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
  inSyncAsOf: instant.nullable().describe('It showed what the clinic showed then'),
  firstSync: z
    .object({ written: z.number(), of: z.number().nullable() })
    .nullable()
    .describe('With first-sync: objects that stand there, and how many are to; null while the clinic is first read'),
  ...{ pending: z.number(), failing: z.number(), held: z.number() },
};

export const targetStatus = z.object({
  target: z.string(),
  connector: z.string(),
  connection: z.string(),
  state: z.enum([
    ...['paused', 'stopped', 'resting', 'held', 'failing', 'drifted', 'incomplete'],
    ...['first-sync', 'working', 'stale', 'in-sync'],
  ] as const),
  ...syncState,
  soonAsOf: instant.nullable(),
  gaps: z.array(gap),
  exceptGapsAsOf: instant.nullable(),
  links: z.number().meta(LINKS_COUNT),
  pausedErasures: z.number().describe('Of a paused target: erasures of who is forgotten that wait'),
  heldSinceAt: instant.nullable().describe('Since when a person has to decide'),
  oldestPendingAt: instant.nullable(),
  unconfirmed: z.number().describe('Records that the list lacks and that are not confirmed as gone yet'),
  failure: failure.extend({ sinceAt: instant }).nullable(),
  outage: z.string().nullable().describe('The server that it, or changes of it, wait for'),
  nextTryAt: instant.nullable().describe('While it rests or is stopped'),
  calendarReplacedAt: instant.nullable().describe('When another calendar took the place of one that was gone'),
  policy: driftPolicy,
  drift: drift.nullable(),
  isDriftUnrepaired: z.boolean().describe('Changes by hand wait for a person'),
  notifications: z.object({
    sinceAt: instant.nullable(),
    untilAt: instant.nullable(),
    reason: z.string().nullable(),
  }),
  feed: z
    .object({ madeAt: instant, fetchedAt: instant.nullable(), fetches: z.number() })
    .nullable()
    .optional()
    .describe('Of a feed: its address; null while it has none'),
  created: z.number(),
  updated: z.number(),
  deleted: z.number(),
  adopted: z.number(),
  ambiguous: z.number(),
  forged: z.number(),
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
    .describe('The server refused requests for haste: nothing is asked before `untilAt`'),
  accessExpiresAt: instant.nullable(),
  refreshExpiresAt: instant.nullable(),
  isEndFixed: z.boolean().describe('That end does not move with use'),
  obtainedAt: instant.nullable(),
  usedAt: instant.nullable(),
  missingScopes: z.array(z.string()),
});

/** Remark on the profile after a complete clinic read. */
export const readingRemark = z.object({
  code: z.enum(['zone-unread', 'path-empty']),
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
    .describe('How often cycles read all; the others read the next two days'),
  clinic: z
    .object({ tenantId: z.string(), catalogue: z.string().describe('A hash') })
    .nullable()
    .describe("The clinic's own id, and its catalogue as it was last read"),
  crmPlanner: z.string().nullable().describe('The process that planned CRMs last'),
  hourly: z.object({ lastHourAt: instant, counts: z.array(z.number()) }).describe('Changes by hour of the last day'),
  awaiting: z.array(z.string()),
  error: failure.nullable(),
});

/** Result of a cycle on demand. */
export const syncReply = z.object({ tenant: z.string(), run: runReport, targets: z.array(targetStatus) });

const removed = z.array(z.object({ name: z.string(), missedAt: instant, releaseAt: instant }));

export const principal = z.object({
  kind: z
    .string()
    .describe('`os-user`, `account` of an administrator, `browser` with a link, `holder` of a token, `daemon`'),
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
  cycleEveryMs: z.number().describe('Time from the beginning of a cycle to that of the next'),
  targets: z.array(targetStatus),
  removed,
  uncertainty: z.object({ code: z.string(), sinceAt: instant }).nullable(),
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
        .describe('Corrections that wait for a decision'),
      wrong: z
        .array(
          z.object({
            appointmentId: z.string(),
            channel: z.string(),
            sinceAt: instant,
            correctsAt: instant.nullable().describe('When a message is due that corrects it; null when none will'),
            reason: z.string().nullable(),
            untilAt: instant,
          }),
        )
        .describe('Patients who were told what is not true now'),
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
        .describe('Receivers that refuse the signature of messages'),
    })
    .nullable(),
  problems: z.array(problem),
});

export const tenantLine = z.object({
  tenant: z.string(),
  name: z.string().nullable().describe('Null where its configuration has faults, or is not checked yet'),
  paused: z.boolean(),
  ...syncState,
  targets: z.number(),
  checked: z.boolean().describe('Whether its configuration is checked since the daemon started; it runs from then on'),
  faults: z.number().describe('Faults of its configuration, for which it is not run'),
  problems: z.array(problem),
});

/** Status of the whole installation. */
export const statusReply = z.object({
  at: instant,
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
        clinics: z.array(z.object({ tenant: z.string(), waiting: z.number() })),
        unread: z.array(z.string()),
      }),
    )
    .describe('Servers that are away'),
  unusable: z.array(z.object({ tenant: z.string(), faults: z.number() })),
  unchecked: z.number().describe('Tenants that the daemon has not checked since it started'),
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
