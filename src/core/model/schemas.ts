import { z } from 'zod';

/** Milliseconds since 1970-01-01 UTC. */
export const instant = z.number();
/** Names of instants in answers. */
const INSTANT = /^at$|(?:At|AsOf|Until|Since|BackTo)$|^asOf$/;

/** Returns an answer as JSON, with instants as RFC 3339 in UTC. */
export function toJson(answer: object, indent = 2): string {
  const textOf = (name: string, value: unknown) =>
    typeof value === 'number' && INSTANT.test(name) ? new Date(value).toISOString() : value;
  return JSON.stringify(answer, textOf, indent);
}

/** Id of a configured object, in an input. */
export const id = z.string().min(1).max(200);
export const tenant = id.describe('Id of a tenant');
export const optionalTarget = id.optional().describe('Id of a target; default: every target');
export const changed = z.object({ changed: z.boolean() });

/** Largest and default number of items on a page. */
const MOST_ITEMS = 500;
const ITEMS = 100;

/** Input fields of a paged list. The CLI fetches every page. */
export const paging = {
  after: z.string().max(2_000).nullable().default(null).describe('`next` of the previous page'),
  limit: z.coerce.number().int().min(1).max(MOST_ITEMS).default(ITEMS).describe('Maximum number of results per page'),
};

/** Current state of a record in the clinic. */
export const source = z.discriminatedUnion('state', [
  z.object({
    state: z.literal('there'),
    status: z.string(),
    agenda: z.string(),
    startAt: instant,
    updatedAt: instant.nullable(),
  }),
  z.object({ state: z.literal('absent') }),
  z.object({ state: z.literal('unusable'), code: z.string(), field: z.string() }),
  z.object({ state: z.literal('unknown'), code: z.string(), message: z.string() }),
]);
/** Present state of the appointment in the clinic. */
export type SourceView = z.infer<typeof source>;

/** Counts by code or name. */
export const countsByCode = z.record(z.string(), z.number());

/**
 * Compares a target with the clinic. `behind`: changes are pending, as during the first sync. `on-hold`: changes wait for an approval.
 * `unknown`: the daemon cannot compare everything.
 */
export const sync = z.enum(['in-sync', 'behind', 'on-hold', 'unknown']);
export type SyncStatus = z.infer<typeof sync>;

/** Who must act: no one, the daemon, which retries, or an administrator. */
export const health = z.enum(['ok', 'retrying', 'action-required']);
export type Health = z.infer<typeof health>;

const syncHealth = z.object({ sync, health });
/** Both state scales, identical on every interface. */
export type SyncHealth = z.infer<typeof syncHealth>;

const firstSync = z.object({ written: z.number(), of: z.number().nullable() });
/** Progress of the first sync: written and wanted number of objects. */
export type FirstSync = z.infer<typeof firstSync>;

/** Sync state of a target, or of a tenant: the worst state of its targets. */
export const syncState = {
  ...syncHealth.shape,
  /** Does not advance while gaps, or manual changes that the policy rejects, exist. */
  inSyncAsOf: instant.nullable().describe('Time of the clinic data that the target shows'),
  /** Null if the first sync is complete, or if changes are on hold. */
  firstSync: firstSync
    .nullable()
    .describe(
      'During the first sync: number of written and expected objects; null during the first read of the clinic',
    ),
  ...{ pending: z.number(), failing: z.number(), held: z.number() },
};
const syncStateObject = z.object(syncState);
export type SyncState = z.infer<typeof syncStateObject>;

/** A problem, with the sentence that all interfaces show. */
export const problem = z.object({
  tenant: z.string().nullable().describe('Null: the problem concerns the whole installation'),
  subject: z.string().describe('Object with the problem: `target <id>`, `connection <id>`, `configuration`, …'),
  code: z.string(),
  health: z
    .enum(['action-required', 'retrying'])
    .describe('Who must act: an administrator, or no one because the daemon retries'),
  sinceAt: instant.nullable(),
  breaksAt: instant.nullable().describe('Time when a future problem starts to cause harm'),
  nextTryAt: instant.nullable().describe('Time of the next automatic retry'),
  sentence: z.string(),
  next: z.string().nullable().describe('Next step for the administrator'),
  syncHealth: syncHealth.nullable().describe('State of the tenant; null if the problem concerns no tenant'),
  waiting: z.number().describe('Number of pending changes'),
  tenants: z
    .array(z.object({ tenant: z.string(), waiting: z.number() }))
    .optional()
    .describe('For an unreachable server: the waiting tenants; `tenant` is then null'),
});

/** Cause of an early end. */
export const failure = z.object({
  code: z.string(),
  actor: z.string().describe('Who must act'),
  message: z.string(),
  remedy: z.string().nullable(),
});

/** A configuration fault. */
export const configurationFault = z.object({
  file: z.string(),
  line: z.number().nullable(),
  path: z.string().describe('Path in the file; empty for the whole file'),
  message: z.string(),
  remedy: z.string(),
});

/** Returns the schema of a page of items. */
export function pageOfItems<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('Pass this value as `after` for the next page; null: last page'),
  });
}
/** A page of a list. */
export type Page<Item> = z.infer<ReturnType<typeof pageOfItems<z.ZodType<Item>>>>;
