import { z } from 'zod';
import { webhookKeys } from '../../../../settings/delivery-schema.ts';
import type { SecretSchemas } from '../../../../settings/secret-reference.ts';

/** What a payload may hold beside ids, when the settings name it. */
export const PAYLOAD_FIELDS = [
  'startAt',
  'endAt',
  'zone',
  'language',
  'sender',
  'subject',
  'text',
  'email',
  'phone',
  'link',
] as const;
/** One of them. */
export type PayloadField = (typeof PAYLOAD_FIELDS)[number];
/** Those that are made of what the clinic knows of the patient. */
export const PATIENT_FIELDS: readonly PayloadField[] = ['language', 'subject', 'text', 'email', 'phone'];

/** A channel's own part in the tenant file. */
export function webhookSchema(secrets: SecretSchemas) {
  const { url, ...keys } = webhookKeys(secrets);
  return z.strictObject({
    url: url.describe('Where reminders are posted to'),
    secrets: keys.secrets,
    fields: z
      .array(z.enum(PAYLOAD_FIELDS))
      .default([])
      .describe('What the payload holds beside ids; patient data leaves with it'),
  });
}

/** Settings of a webhook as read. */
export type WebhookSettings = z.output<ReturnType<typeof webhookSchema>>;
