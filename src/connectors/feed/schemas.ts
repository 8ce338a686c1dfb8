import { z } from 'zod';
import { DAY_MS } from '../../model/time.ts';

/** Entries that one `apply` puts one after the other, each a command of Redis. Our choice. */
export const BATCH_SIZE = 100;

/** What ended so long before the window is dropped: the clinic lets go of it, and whoever reads a feed wants what comes. Our choice. */
export const RETAINED_BEFORE_MS = 7 * DAY_MS;

/** A feed's own part of a target. */
export const settingsSchema = z
  .strictObject({
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .default('Calendar')
      .describe('Calendar name in subscribing apps. Everyone with the URL can read the name.'),
  })
  .prefault({});

/** A feed's own part of a target, as read. */
export type FeedSettings = z.output<typeof settingsSchema>;
