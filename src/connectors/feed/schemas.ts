import { z } from 'zod';
import { DAY_MS } from '../../core/model/time.ts';

/** Largest number of events per `apply`, stored in sequence with a Redis command each. Own choice. */
export const BATCH_SIZE = 100;

/**
 * Deadline for the deletion of events before the window: the clinic no longer lists such events, and subscribers need future events. Own
 * choice.
 */
export const RETAINED_BEFORE_MS = 7 * DAY_MS;

/** Feed-specific part of a target. */
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

export type FeedSettings = z.output<typeof settingsSchema>;
