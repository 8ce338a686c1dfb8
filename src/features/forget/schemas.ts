import { z } from 'zod';
import { forgetWarnings, reach } from '../../core/model/forgetting.ts';

export const forgetPreview = z.object({
  tenant: z.string(),
  patients: z
    .array(z.string())
    .nullable()
    .describe('Null for an id. Several: nothing is counted, and forget needs the id'),
  /** Whether a tombstone exists. */
  isForgotten: z.boolean(),
  appointments: z.number(),
  invoices: z.number(),
  /** Future appointments that a calendar would lose. */
  upcoming: z.number(),
  /** `linked`: known objects; `toLookFor`: further records that the target is searched for. */
  targets: z.array(
    z.object({ target: z.string(), connector: z.string(), linked: z.number(), toLookFor: z.number(), reach }),
  ),
  reminders: z.number(),
  answerLinks: z.number(),
  warnings: forgetWarnings,
});
/** Counts of data that an erasure would remove. */
export type ForgetPreview = z.infer<typeof forgetPreview>;
