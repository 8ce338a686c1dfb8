import { z } from 'zod';
import { operation } from './operation.ts';
import { countsByCode, id, instant, optionalTarget, pageOfItems, paging, source, tenant } from './schemas.ts';
import { connectionStatus, driftPolicy, readingRemark } from './status-schemas.ts';

const recordLine = z.object({
  record: z.string(),
  code: z.string().nullable().describe('Code of the last failure, reason, kind of hold, rule or manual change'),
  about: z
    .string()
    .nullable()
    .describe('Names of fields, rules and permissions; for a record on hold, the id of the hold'),
  startAt: instant.nullable(),
  sinceAt: instant.nullable(),
  nextTryAt: instant.nullable(),
});

const recordState = z.enum(['in-sync', 'pending', 'failed', 'on-hold', 'excluded', 'changed-by-hand']);

/** Path of an appointment into a target, after the decision. */
const way = z.object({
  compared: z.object({
    at: instant.nullable().describe('Time of the last plan for the target'),
    found: z.enum(['none', 'same', 'newer', 'gone', 'new', 'differs', 'removal']),
    fields: z.array(z.string()).describe('Names of the known different fields'),
  }),
  written: z.object({
    at: instant.nullable().describe('Time of the last write, if known'),
    version: z.string().nullable().describe('Version tag from the target'),
    revision: z.number().nullable().describe('Revision number that clinic-mirror wrote into the object'),
    changes: z
      .array(z.object({ at: instant, effect: z.enum(['updated', 'deleted']), reason: z.string(), run: z.string() }))
      .describe('Changes and deletions by runs, newest first'),
  }),
  readBack: z.object({
    at: instant.nullable().describe('Time of the last audit of the target'),
    covers: z.boolean().nullable().describe('True if the audit was after the last write; null: no write yet'),
  }),
});

const pendingChange = z.object({
  reason: z.string(),
  want: z.enum(['present', 'absent']),
  attempts: z.number(),
  lastError: z.string().nullable(),
  about: z.string().optional(),
  parked: z.boolean(),
  enqueuedAt: instant,
  dueAt: instant,
});

const decision = z.object({ shown: z.boolean(), code: z.string(), because: z.string() });

const explainedTarget = z.object({
  target: z.string(),
  connector: z.string(),
  decision,
  link: z
    .object({ startAt: instant, idAttempt: z.number(), remoteId: z.string(), unmarked: z.literal(true).optional() })
    .nullable(),
  byHand: z
    .object({ done: z.enum(['edited', 'removed']), fields: z.array(z.string()), policy: driftPolicy })
    .nullable(),
  pending: pendingChange.nullable(),
  holds: z.array(z.object({ id: z.string(), kind: z.string(), state: z.string() })),
  failure: z.string().nullable(),
  way,
});

const targetHealth = z.object({
  target: z.string(),
  connector: z.string(),
  stream: z.string(),
  inSync: z.number(),
  heldOtherwise: countsByCode.describe('Number of objects that differ from the written version, by property'),
  unusable: countsByCode.describe('Number of invalid values that were left empty, by property'),
  excluded: z.object({
    counts: countsByCode,
    records: z
      .array(z.object({ record: z.string(), why: z.string() }))
      .describe('For calendars only the records with an object'),
  }),
  failing: z.array(
    z.object({
      record: z.string(),
      why: z.string(),
      about: z.string().nullable(),
      page: z.string().nullable(),
      sinceAt: instant,
      attempts: z.number(),
      nextTryAt: instant,
      parked: z.boolean(),
    }),
  ),
  pending: z.number(),
  changedByHand: z.number(),
  copied: z.array(z.string()),
  refusedThere: z.record(z.string(), z.array(z.string())),
  held: z.number(),
  unread: z.string().nullable().describe('Reason why the clinic was not read'),
});

/** Operations that show records of targets, and the reason for each state. */
export const RECORD_OPERATIONS = {
  listRecords: operation({
    summary:
      'list the records of a target in one state, with codes; uses saved state only and reads neither the clinic nor the target',
    level: 'viewer',
    input: z.strictObject({
      tenant,
      target: id,
      state: recordState.describe('`excluded` is based on the last saved plan'),
      ...paging,
    }),
    output: pageOfItems(recordLine).extend({
      target: z.string(),
      state: recordState,
      asOf: instant.nullable().describe('Time of the plan behind `excluded`; null: the state is current'),
      counts: countsByCode.nullable().describe('Number of excluded records by rule; calendars have only this number'),
    }),
    http: { method: 'GET', path: '/tenants/{tenant}/targets/{target}/records' },
    commands: [],
    async run({ tenant, target, state, ...page }, { services: { installation } }) {
      const { listRecords } = await import('../control/records.ts');
      return listRecords(installation, { tenant, target, state }, page);
    },
  }),
  explainAppointment: operation({
    summary: 'explain the state of an appointment in each target; reads the clinic',
    level: 'viewer',
    input: z.strictObject({ tenant, appointment: id.describe('Appointment id in the clinic system') }),
    output: z.object({
      tenant: z.string(),
      appointment: z.string(),
      source,
      askedAt: instant.describe('Time of the request to the clinic'),
      lastCycle: z
        .object({
          run: z.string(),
          startedAt: instant,
          completeness: z.string().nullable().describe('Completeness of the last full read; null: the read failed'),
          error: z.string().nullable().describe('Code of the error that ended the last cycle early'),
        })
        .nullable(),
      targets: z.array(explainedTarget),
    }),
    http: { method: 'GET', path: '/tenants/{tenant}/appointments/{appointment}/explanation' },
    commands: [{ words: 'explain <tenant> <appointment>' }],
    async run({ tenant, appointment }, { services: { installation }, signals }) {
      const { explain } = await import('../control/explain.ts');
      return explain(installation, tenant, appointment, signals.stop);
    },
    document: async () => (await import('../documents/explain.ts')).explanationDocument,
    assistants: [
      {
        name: 'explain',
        about: "Why an appointment is or is not in each target, by the clinic's appointment id",
        output: z.object({
          tenant: z.string(),
          appointment: z.string(),
          source: z.object({ state: z.string(), status: z.string().nullable(), code: z.string().nullable() }),
          targets: z.array(
            explainedTarget.pick({ target: true, connector: true, failure: true }).extend({
              ...decision.shape,
              isThere: z.boolean(),
              byHand: z.string().nullable().describe('Manual change of the event'),
              pending: pendingChange
                .pick({ reason: true, want: true, attempts: true, lastError: true, dueAt: true })
                .nullable(),
              holds: z.array(z.string()),
            }),
          ),
        }),
        of: ({ source, targets, ...others }) => ({
          ...others,
          source: { status: null, code: null, ...source },
          targets: targets.map((target) => ({
            ...{ ...target, ...target.decision, isThere: target.link !== null },
            byHand: target.byHand?.done ?? null,
            holds: target.holds.map(({ id, state }) => `${id}: ${state}`),
          })),
        }),
      },
    ],
  }),
  readHealth: operation({
    summary: 'list synced, excluded and failing records per target; reads the clinic',
    level: 'viewer',
    input: z.strictObject({ tenant, target: optionalTarget }),
    output: z.object({
      tenant: z.string(),
      asOf: instant,
      connections: z.array(connectionStatus),
      remarks: z.array(readingRemark).optional(),
      targets: z.array(targetHealth),
    }),
    // Programs get the records of a target in pages, without a clinic read.
    http: null,
    commands: [{ words: 'health <tenant> [target]', isList: true }],
    async run({ tenant, target }, { services: { installation }, progress, signals }) {
      const { tenantHealth } = await import('../control/health.ts');
      return tenantHealth(installation, tenant, { target, progress }, signals.stop);
    },
    endsWithOne: {
      when: 'a record is failing',
      holds: ({ targets }) => targets.some(({ failing }) => failing.length > 0),
    },
    assistants: [
      {
        name: 'health',
        about: 'Per target: number of records in sync, excluded and failing, with reasons; reads the clinic',
        output: z.object({
          tenant: z.string(),
          asOf: instant,
          targets: z.array(
            targetHealth
              .pick({ target: true, connector: true, stream: true, inSync: true, pending: true, held: true })
              .extend({ ...targetHealth.pick({ changedByHand: true, unread: true }).shape })
              .extend({ excluded: countsByCode, failing: countsByCode }),
          ),
        }),
        of: ({ targets, ...others }) => ({
          ...others,
          targets: targets.map(({ excluded, failing, ...target }) => {
            const failures: Record<string, number> = {};
            for (const { why } of failing) failures[why] = (failures[why] ?? 0) + 1;
            return { ...target, excluded: excluded.counts, failing: failures };
          }),
        }),
      },
    ],
  }),
};
