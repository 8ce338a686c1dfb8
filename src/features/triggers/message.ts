import type { Instant } from '../../model/time.ts';
import type { TriggerEvent } from '../../model/triggers.ts';
import type { Subject } from './events.ts';

/**
 * The body of a message (Standard Webhooks 1.0, "Payload structure"): ids alone, the same for every try.
 * @param foundAt the event's time
 */
export function messageOf(tenant: string, event: TriggerEvent, { ids }: Subject, foundAt: Instant): string {
  return JSON.stringify({ type: event, timestamp: new Date(foundAt).toISOString(), data: { tenant, ...ids } });
}
