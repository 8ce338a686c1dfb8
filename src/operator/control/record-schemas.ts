import { z } from 'zod';
import { REASON_CODES } from '../../core/model/operations.ts';
import { HOLD_KINDS } from '../../core/model/plan.ts';
import { readingRemark } from '../../core/model/run-schemas.ts';
import { countsByCode, instant, pageOfItems, source } from '../../core/model/schemas.ts';
import type { Exclusion } from '../../domain/mapping-sources.ts';
import { type Message, message } from '../../messages/message.ts';
import { connectionStatus, driftPolicy } from './status-schemas.ts';

const recordLine = z.object({
  record: z.string(),
  code: z.string().nullable().describe('Code of the last failure, reason, kind of hold, rule or manual change'),
  about: z
    .string()
    .nullable()
    .describe('Names of fields, rules and permissions; for a record on hold, the id of the hold'),
  /** Null without a time, or if unknown. */
  startAt: instant.nullable(),
  /** Begin of the state; null if unknown. */
  sinceAt: instant.nullable(),
  nextTryAt: instant.nullable().describe('Time of the next attempt; null without one, or if it is due'),
});
/** A record of a target: ids, codes and field names, never contents. */
export type RecordLine = z.infer<typeof recordLine>;

/**
 * State of a record in a target.
 * - `in-sync`: the object is up to date, as far as known
 * - `pending`: in the queue
 * - `failed`: the last write failed
 * - `on-hold`: until an operator decides
 * - `excluded`: by the target's rules, from the last stored plan
 * - `changed-by-hand`: a user changed or deleted the object
 */
export const stateOfRecord = z.enum(['in-sync', 'pending', 'failed', 'on-hold', 'excluded', 'changed-by-hand']);
export type RecordState = z.infer<typeof stateOfRecord>;

export const recordList = pageOfItems(recordLine).extend({
  target: z.string(),
  state: stateOfRecord,
  asOf: instant.nullable().describe('Time of the plan behind `excluded`; null: the state is current'),
  counts: countsByCode.nullable().describe('Number of excluded records by rule; calendars have only this number'),
});
/** Records of a target in one state. */
export type RecordList = z.infer<typeof recordList>;

/**
 * Result of comparing an appointment with the last write to a target.
 * - `none`: no object exists and no change waits
 * - `same`: equal
 * - `newer`: the clinic has a newer time that is not planned yet
 * - `gone`: the clinic deleted the appointment, and the object still exists
 * - `unread`: an object exists, and the clinic's present record was not read
 * - `new`, `differs`, `removal`: the respective change waits
 */
const comparison = z.enum(['none', 'same', 'newer', 'gone', 'unread', 'new', 'differs', 'removal']);
export type Comparison = z.infer<typeof comparison>;

const wayWrite = z.object({
  at: instant,
  effect: z.enum(['updated', 'deleted']),
  reason: z.enum(REASON_CODES),
  run: z.string(),
});
/** Change of an appointment's object by a run. */
export type WayWrite = z.infer<typeof wayWrite>;

const way = z.object({
  compared: z.object({
    at: instant.nullable().describe('Time of the last plan for the target'),
    found: comparison,
    fields: z.array(z.string()).describe('Names of the known different fields'),
  }),
  written: z.object({
    /** For an object never changed after creation, unknown until an audit. */
    at: instant.nullable().describe('Time of the last write, if known'),
    version: z.string().nullable().describe('Version tag from the target'),
    revision: z.number().nullable().describe('Revision number that clinic-mirror wrote into the object'),
    changes: z.array(wayWrite).describe('Changes and deletions by runs, newest first'),
  }),
  readBack: z.object({
    at: instant.nullable().describe('Time of the last audit of the target'),
    covers: z.boolean().nullable().describe('True if the audit was after the last write; null: no write yet'),
  }),
});
/** Path of an appointment into a target, from comparison to audit. Each step has time and evidence, without contents. */
export type TargetWay = z.infer<typeof way>;

export const pendingChange = z.object({
  reason: z.enum(REASON_CODES),
  want: z.enum(['present', 'absent']),
  attempts: z.number(),
  lastError: z.string().nullable(),
  about: z.string().optional(),
  parked: z.boolean(),
  enqueuedAt: instant,
  dueAt: instant,
});

/** Reasons why a target shows or does not show an appointment. */
export const DECISIONS = {
  'tenant-paused': message('decision.tenant-paused'),
  'target-paused': message('decision.target-paused'),
  absent: message('decision.absent'),
  unread: message('decision.unread'),
  forgotten: message('decision.forgotten'),
  agenda: message('decision.agenda'),
  'several-values': message('decision.several-values'),
  'several-patients': message('decision.several-patients'),
  treatment: message('decision.treatment'),
  'blocked-time': message('decision.blocked-time'),
  status: message('decision.status'),
  'before-window': message('decision.before-window'),
  'beyond-window': message('decision.beyond-window'),
  pinned: message('decision.pinned'),
  'of-contact': message('decision.of-contact'),
  shown: message('decision.shown'),
} satisfies Record<Exclusion, Message> & Record<string, Message>;

const decisionCode = z.enum(Object.keys(DECISIONS) as (keyof typeof DECISIONS)[]);
export type DecisionCode = z.infer<typeof decisionCode>;

export const decision = z.object({ shown: z.boolean(), code: decisionCode, because: z.string() });

export const explainedTarget = z.object({
  target: z.string(),
  name: z.string().describe('Display name: doctors or id, with the vendor'),
  isConcerned: z
    .boolean()
    .describe('True if the target shows the agenda of the appointment, or if data of the appointment is stored for it'),
  connector: z.string(),
  decision,
  /** The last write to the target; null without a write. */
  link: z
    .object({ startAt: instant, idAttempt: z.number(), remoteId: z.string(), unmarked: z.literal(true).optional() })
    .nullable(),
  /** Manual changes of the object, and the reaction; null if unknown. */
  byHand: z
    .object({ done: z.enum(['edited', 'removed']), fields: z.array(z.string()), policy: driftPolicy })
    .nullable(),
  pending: pendingChange.nullable(),
  holds: z.array(
    z.object({ id: z.string(), kind: z.enum(HOLD_KINDS), state: z.enum(['open', 'approved', 'rejected']) }),
  ),
  failure: z.string().nullable(),
  withheld: z
    .object({ policy: z.enum(['upsert-only', 'create-only']), change: z.enum(['update', 'delete']) })
    .optional()
    .describe("Change that the target's policy withheld in the last plan; absent without one"),
  way,
});
/** Reason why a target shows or does not show the appointment. */
export type TargetExplanation = z.infer<typeof explainedTarget>;

export const explanation = z.object({
  tenant: z.string(),
  appointment: z.string(),
  source,
  doctor: z
    .string()
    .nullable()
    .describe('Name of the agenda, or its id if the name is unknown; null if the clinic shows no appointment'),
  askedAt: instant.describe('Time of the request to the clinic'),
  /** The last cycle, with or without a clinic read; null before the first. */
  lastCycle: z
    .object({
      run: z.string(),
      startedAt: instant,
      completeness: z.string().nullable().describe('Completeness of the last full read; null: the read failed'),
      error: z.string().nullable().describe('Code of the error that ended the last cycle early'),
    })
    .nullable(),
  targets: z.array(explainedTarget),
});
/** History of an appointment, without contents. */
export type Explanation = z.infer<typeof explanation>;

const failingRecord = z.object({
  record: z.string(),
  /** Code of the last failure. */
  why: z.string(),
  /** Names of affected fields, rules and permissions, or null. */
  about: z.string().nullable(),
  /** URL of the object's page in the target; null without an object or page. */
  page: z.string().nullable(),
  /** Decision time of the failing change. */
  sinceAt: instant,
  attempts: z.number(),
  nextTryAt: instant.nullable().describe('Time of the next attempt; null if it is due'),
  /** Retried daily only: requires other data or an operator. */
  parked: z.boolean(),
});
/** A record whose last write failed, or that requires action. Ids and codes, never contents. */
export type FailingRecord = z.infer<typeof failingRecord>;

export const targetHealth = z.object({
  target: z.string(),
  connector: z.string(),
  stream: z.enum(['appointments', 'patients', 'invoices']),
  /** Objects in sync, as far as known. */
  inSync: z.number(),
  /** An e-mail address used by a different contact, or the target's own spelling. */
  heldOtherwise: countsByCode.describe('Number of objects that differ from the written version, by property'),
  unusable: countsByCode.describe('Number of invalid values that were left empty, by property'),
  excluded: z.object({
    counts: countsByCode,
    records: z
      .array(z.object({ record: z.string(), why: z.string() }))
      .describe('For calendars only the records with an object'),
  }),
  failing: z.array(failingRecord),
  /** Changes in the queue without a failure. */
  pending: z.number(),
  /** Objects that a user changed or deleted in the target. */
  changedByHand: z.number(),
  /** Ids of records with manual copies, by the last audit. Copies remain until the record is deleted. */
  copied: z.array(z.string()),
  /** Ids of records whose contacts a user blocked in the CRM, by property. Ends when a user releases the contact in the CRM. */
  refusedThere: z.record(z.string(), z.array(z.string())),
  /** Records on hold until an operator decides. */
  held: z.number(),
  unread: z.string().nullable().describe('Reason why the clinic was not read'),
});
/** State of every record of a target. Each record is in one set, in this order: held, failing, pending, changed by hand, excluded, in sync. */
export type TargetHealth = z.infer<typeof targetHealth>;

export const healthView = z.object({
  tenant: z.string(),
  asOf: instant,
  connections: z.array(connectionStatus),
  /** After complete reads; absent without remarks. */
  remarks: z.array(readingRemark).optional(),
  targets: z.array(targetHealth),
});
/** Record lists of a tenant's targets, from the present clinic data and the stored state. */
export type HealthView = z.infer<typeof healthView>;
