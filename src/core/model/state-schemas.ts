import { z } from 'zod';
import type { StoredError } from './errors.ts';
import { failure, instant } from './schemas.ts';

export const uncertainty = z.object({
  /**
   * `state-went-back`: Redis is older than before; `state-lost`: Redis was emptied; `state-damaged`: a foreign writer added or removed
   * data.
   */
  code: z.enum(['state-went-back', 'state-lost', 'state-damaged']),
  sinceAt: instant,
});
/** Reason why the lists of erased patients and opt-outs are uncertain. */
export type Uncertainty = z.infer<typeof uncertainty>;

export const readBack = z.object({
  recordId: z.string(),
  /** Whether the container keeps the marks of clinic-mirror; null if the object was not found. */
  marks: z.enum(['kept', 'dropped']).nullable(),
});
/** Result of the first write to a container. */
export type ReadBack = z.infer<typeof readBack>;

export const storageUse = z.object({
  bytes: z.number().nullable().describe('At the last count; null: not counted yet, or not permitted'),
  /** Changes may be written meanwhile, so the sum is too high rather than too low. */
  addedBytes: z.number().describe('Estimate of changes planned since the count'),
  countedAt: instant.nullable(),
  limitBytes: z.number().describe('Above it, the daemon creates no more objects'),
});
/** Memory of a tenant's keys in Redis. */
export type StorageUse = z.infer<typeof storageUse>;

export const stateCounterView = z.object({
  /** Durability of the last decision; null before the first. */
  durability: z.enum(['durable', 'unsupported', 'late']).nullable(),
  /** State of the directory outside Redis: `none` without a configured directory, `kept`, or `failed`. */
  directory: z.enum(['none', 'kept', 'failed']),
  /** System code of the directory's failure, such as ENOSPC; otherwise null. */
  directoryFailure: z.string().nullable().optional(),
  /** Last time when Redis was older than the knowledge outside, and the time of the older state; null: never, or unknown. */
  wentBackAt: instant.nullable(),
  wentBackTo: instant.nullable(),
  /** Last time when Redis had lost the memory of writes to targets; null if never. Affected targets are fetched again. */
  writesLostAt: instant.nullable(),
});
/** State of durability, for status. */
export type StateCounterView = z.infer<typeof stateCounterView>;

export const runningConfiguration = z.object({
  host: z.string(),
  pid: z.number(),
  /** Of the parts that all daemons share. */
  hash: z.string(),
  sinceAt: instant,
});
/** Configuration of a running daemon. */
export type RunningConfiguration = z.infer<typeof runningConfiguration>;

export const refusedFiles = z.object({
  tenant: z.string().nullable(),
  sinceAt: instant,
  /** First faults. */
  faults: z.array(z.object({ file: z.string(), line: z.number().nullable(), path: z.string(), message: z.string() })),
  /** Number of further faults. */
  more: z.number(),
});
/** Refused files with reasons. Null: settings, profiles, or all files together. */
export type RefusedFiles = z.infer<typeof refusedFiles>;

export const feedAccess = z.object({ madeAt: instant, fetchedAt: instant.nullable(), fetches: z.number() });
/** URL of a feed, without its token. */
export type FeedAccess = z.infer<typeof feedAccess>;

export const ending = z.object({
  kind: z.enum(['certificate', 'secret']),
  /** The server, `<host>:<port>`, or the name in the settings: `googleClients main`. */
  of: z.string(),
  /** Start of validity; null if unknown. */
  beganAt: instant.nullable(),
  endsAt: instant,
});
/** An external certificate or secret with a known expiry. */
export type Ending = z.infer<typeof ending>;

export const quota = z.object({
  /** Name in the settings: `hubspotClients main`. */
  client: z.string(),
  /** Share of the hourly budget: 0 to 1, or slightly more. */
  hourShare: z.number(),
  /** Tenants with a high share of the vendor's 24-hour limit, if the settings contain the limit. */
  days: z.array(z.object({ tenant: z.string(), share: z.number(), usedUpAt: instant.nullable() })),
});
/** Use of a client's request budget, counted when requests are allowed. */
export type QuotaStatus = z.infer<typeof quota>;

export const damagedState = z.object({
  /** Null for shared data. */
  tenant: z.string().nullable(),
  kinds: z.array(z.string()),
  /** Last time of any kind. */
  sinceAt: instant,
});
/** Damaged data of a tenant in the last day, which clinic-mirror rebuilds. */
export type DamagedState = z.infer<typeof damagedState>;

export const redisReadings = z.object({
  refusal: failure.nullable().describe('Why Redis refuses writes'),
  clockAheadMs: z.number().describe('How far the clock of this host is ahead of the clock of Redis'),
  daemonSeenAgoMs: z.number().nullable().describe('Time since a daemon last ran; null: not within a day'),
  answerMs: z.number().describe('Time that Redis took to answer one command'),
  memory: z
    .object({
      usedBytes: z.number(),
      limitBytes: z.number().nullable().describe('The setting maxmemory; null without a limit'),
    })
    .nullable()
    .describe('Memory of Redis, on a cluster of the fullest server; null if the server does not report it'),
});
/** What a status proves about Redis. */
export type RedisReadings = Omit<z.infer<typeof redisReadings>, 'refusal'> & { refusal: StoredError | null };
