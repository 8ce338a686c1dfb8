import { z } from 'zod';

/** A feed's own part of a target. */
export const settingsSchema = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .default('Calendar')
      .describe('What programs call the calendar that they fetch; whoever has the address reads it'),
  })
  .prefault({});

/** A feed's own part of a target, as read. */
export type FeedSettings = z.output<typeof settingsSchema>;
