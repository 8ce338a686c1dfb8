import { z } from 'zod';
import { instant } from '../../core/model/schemas.ts';

export const closed = z.object({ code: z.string(), at: instant });

const event = z.object({
  event: z.string(),
  sinceAt: instant.nullable().describe('Only changes after this time are sent'),
  readAt: instant.nullable().describe('Time of the last read of the clinic'),
  off: z.object({ code: z.string(), at: instant, remedy: z.string().nullable() }).nullable(),
  waiting: z.number().describe('Number of messages that the receiver has not accepted'),
  failing: z.number().describe('Number of refused messages among the pending messages'),
  lastCode: z.string().nullable(),
  nextTryAt: instant.nullable().describe('Time when the next message is sent; null if none waits, or if it is due'),
  sent: z.number().describe('Number of sent messages since the state began'),
  dropped: z.number(),
  failedTries: z.number(),
});
/** State of one event of an endpoint. */
export type TriggerEventStatus = z.infer<typeof event>;

const endpoint = z.object({
  endpoint: z.string(),
  closed: closed.nullable().describe('Null if the endpoint is open; a closed endpoint gets no messages until reopened'),
  code: z.string().nullable(),
  failingSince: instant.nullable(),
  /** End of the pause after a failure that does not concern a single message; null without a pause. */
  restUntil: instant.nullable(),
  lastSentAt: instant.nullable(),
  events: z.array(event),
});
/** State of an endpoint. */
export type TriggerEndpointStatus = z.infer<typeof endpoint>;

export const triggers = z.object({
  tenant: z.string(),
  at: instant,
  everyMinutes: z.number(),
  endpoints: z.array(endpoint),
});
/** Triggers of a tenant for display. */
export type TriggerList = z.infer<typeof triggers>;
