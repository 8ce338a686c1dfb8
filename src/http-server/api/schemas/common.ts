import { z } from 'zod';

/** A moment: milliseconds since 1970-01-01 UTC. */
export const instant = z.number();

/** How many, by a code or a name. */
export const countsByCode = z.record(z.string(), z.number());

/** Whether a target shows what the clinic shows. */
export const inStep = z.enum(['in-sync', 'first-sync', 'behind', 'held', 'unknown']);

/** Whether work goes on, and else on whom it waits. */
export const canGoOn = z.enum(['yes', 'waits-for-vendor', 'waits-for-person']);

/** What keeps something from being as it should, in the sentence of every surface. */
export const problem = z.object({
  tenant: z.string().nullable().describe('Null: the whole installation'),
  subject: z.string().describe('What it concerns: `target <id>`, `login <id>`, `configuration`, …'),
  code: z.string(),
  needs: z.enum(['person', 'time']).describe('Who ends it'),
  sinceAt: instant.nullable(),
  nextTryAt: instant.nullable().describe('When it is tried again by itself'),
  sentence: z.string(),
  next: z.string().nullable().describe('What a person does next'),
  stands: z.object({ inStep, canGoOn }).nullable().describe('Where its tenant stands; null where it is of none'),
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
