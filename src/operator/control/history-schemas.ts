import { z } from 'zod';
import { instant, syncState } from '../../core/model/schemas.ts';

/** Days that a history can show. */
export const historyDays = z.enum(['1', '7', '30']);
export type HistoryDays = z.infer<typeof historyDays>;

const step = z.object({
  startAt: instant,
  /** Largest age of the target's data in this step; null if no cycle proved one. */
  worstMs: z.number().nullable(),
  unprovedHours: z.number().describe('Hours without a proof: no cycle compared the target'),
});
/** One hour of a history, or several. */
export type HistoryStep = z.infer<typeof step>;

const day = z.object({
  /** `YYYY-MM-DD` in the zone of the clinic. */
  date: z.string(),
  ...{ startAt: instant, endAt: instant },
  worstMs: step.shape.worstMs,
  unprovedHours: step.shape.unprovedHours,
  ...{ created: z.number(), updated: z.number(), deleted: z.number() },
});
/** One local day of a history. Changes are of the whole day. */
export type HistoryDay = z.infer<typeof day>;

const outage = z.object({
  sinceAt: instant,
  /** Null: not ended. */
  untilAt: instant.nullable(),
});
export type HistoryOutage = z.infer<typeof outage>;

const target = z.object({
  target: z.string(),
  name: z.string().nullable().describe("The calendar's name; null for a CRM, and for a calendar configured by URL"),
  connector: z.string(),
  inSyncAsOf: syncState.inSyncAsOf,
  recordedSince: instant.nullable().describe('Begin of the history; null before the first cycle'),
  worstMs: z.number().nullable().describe("Largest age of the target's data; null without a proof"),
  unprovedHours: z.number().describe('Hours since the begin of the history in which no cycle compared the target'),
  ...{ created: z.number(), updated: z.number(), deleted: z.number() },
  steps: z.array(step).describe('Hours; steps of six hours for 30 days'),
  days: z.array(day).describe('Local days, oldest first'),
  outages: z.array(outage).describe('Outages of a server that stopped the target, oldest first'),
});
/** History of one target. */
export type TargetHistory = z.infer<typeof target>;

export const historyView = z.object({
  ...{ tenant: z.string(), zone: z.string(), fromAt: instant, untilAt: instant },
  targets: z.array(target),
});
/** Freshness, changes and outages of a tenant's targets. */
export type HistoryView = z.infer<typeof historyView>;

const span = z.object({ startAt: instant, endAt: instant });

const targetChange = z.object({
  ...{ record: z.string(), run: z.string(), changedAt: instant },
  effect: z.enum(['updated', 'deleted']),
  reason: z.string(),
  /** Null: the journal does not have them, or the record has no time. */
  before: span.nullable().describe('Time of the record before the change'),
  after: span.nullable().describe('Time of the record after the change'),
});
/** A changed or deleted object. */
export type TargetChange = z.infer<typeof targetChange>;

export const targetChanges = z.object({
  ...{ tenant: z.string(), target: z.string(), name: z.string().nullable(), zone: z.string() },
  /** `YYYY-MM-DD` in the zone of the clinic. */
  date: z.string(),
  ...{ startAt: instant, endAt: instant },
  ...{ created: z.number(), updated: z.number(), deleted: z.number() },
  journalSince: instant.describe('The journal has no older changes'),
  changes: z.array(targetChange).describe('Changed and deleted objects, newest first'),
  isCut: z.boolean().describe('True if the day has more changes than listed'),
});
/** What changed in a target on one day. */
export type TargetChangesView = z.infer<typeof targetChanges>;
