import { z } from 'zod';
import { mapOf, wholeNumber } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';
import { webhookKeys } from './webhook-schema.ts';

/** What a receiver can be told of. */
export const TRIGGER_EVENTS = [
  'report.available',
  'invoice.issued',
  'appointment.booked',
  'appointment.moved',
  'appointment.cancelled',
] as const;

/** Schema of `triggers` in a tenant file. */
export function triggerSchema(secrets: SecretSchemas) {
  const endpoint = z.strictObject({
    ...webhookKeys(secrets),
    events: z
      .array(z.enum(TRIGGER_EVENTS))
      .min(1)
      .refine((events) => new Set(events).size === events.length, 'name each one once')
      .describe('What this receiver is told of'),
  });
  return z.strictObject({
    everyMinutes: wholeNumber(1, 1_440)
      .default(10)
      .describe('How often the lists of reports, invoices and appointments are read'),
    mostAtOnce: wholeNumber(1, 100_000)
      .default(200)
      .describe(
        'When one reading finds more new documents or changed or missing appointments than this, the receiver is told of none until a person looks',
      ),
    endpoints: mapOf(endpoint)
      .refine((endpoints) => endpoints.size > 0, 'name at least one')
      .describe('Receivers of messages about reports, invoices and appointments, by name'),
  });
}

/** `triggers` of a tenant file as read. */
export type TriggerFile = z.output<ReturnType<typeof triggerSchema>>;
/** One receiver as read. */
export type TriggerEndpoint = TriggerFile['endpoints'] extends ReadonlyMap<string, infer Endpoint> ? Endpoint : never;
