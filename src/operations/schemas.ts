import { z } from 'zod';

/** Milliseconds since 1970-01-01 UTC. */
export const instant = z.number();
/** Names of instants in answers. */
const INSTANT = /^at$|(?:At|AsOf|Until|Since|BackTo)$|^asOf$/;

/** An answer as JSON in which instants are RFC 3339 in UTC. */
export function toJson(answer: object, indent = 2): string {
  const textOf = (name: string, value: unknown) =>
    typeof value === 'number' && INSTANT.test(name) ? new Date(value).toISOString() : value;
  return JSON.stringify(answer, textOf, indent);
}

/** Id of something configured, in an input. */
export const id = z.string().min(1).max(200);
export const tenant = id.describe('Id of a tenant');
export const optionalTarget = id.optional().describe('Id of a target; default: all of them');
export const changed = z.object({ changed: z.boolean() });

/** Most items of a page, and how many it has if no one says. */
const MOST_ITEMS = 500;
const ITEMS = 100;

/** Fields of the input of a list that is answered page by page. The command line asks for all of it. */
export const paging = {
  after: z.string().max(2_000).nullable().default(null).describe('`next` of the previous page'),
  limit: z.coerce.number().int().min(1).max(MOST_ITEMS).default(ITEMS).describe('Most items of the page'),
};

/** What the clinic says of a record now. */
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

/** How many, by a code or a name. */
export const countsByCode = z.record(z.string(), z.number());

/** Whether a target shows what the clinic shows. */
export const sync = z.enum(['in-sync', 'behind', 'on-hold', 'unknown']);

/** Whether work goes on, and else on whom it waits. */
export const health = z.enum(['ok', 'retrying', 'action-required']);

/** What keeps something from being as it should, in the sentence of every surface. */
export const problem = z.object({
  tenant: z.string().nullable().describe('Null: the whole installation'),
  subject: z.string().describe('What it concerns: `target <id>`, `connection <id>`, `configuration`, …'),
  code: z.string(),
  health: z
    .enum(['action-required', 'retrying'])
    .describe('Who must act: an administrator, or no one because the daemon retries'),
  sinceAt: instant.nullable(),
  breaksAt: instant.nullable().describe('When it begins to do harm, where it does not yet'),
  nextTryAt: instant.nullable().describe('When it is tried again by itself'),
  sentence: z.string(),
  next: z.string().nullable().describe('What a person does next'),
  syncHealth: z.object({ sync, health }).nullable().describe('Where its tenant stands; null where it is of none'),
  waiting: z.number().describe('Changes that wait for it'),
  clinics: z
    .array(z.object({ tenant: z.string(), waiting: z.number() }))
    .optional()
    .describe('Of a server that is away: which tenants wait for it; `tenant` is null then'),
});

/** What ended something early. */
export const failure = z.object({
  code: z.string(),
  actor: z.string().describe('Who must act'),
  message: z.string(),
  remedy: z.string().nullable(),
});

/** One thing that is wrong in a configuration. */
export const configurationFault = z.object({
  file: z.string(),
  line: z.number().nullable(),
  path: z.string().describe('Where in the file; empty for the file as a whole'),
  message: z.string(),
  remedy: z.string(),
});

/** A page of items. */
export function pageOfItems<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('Give it as `after` to get the next page; null: there is none'),
  });
}
