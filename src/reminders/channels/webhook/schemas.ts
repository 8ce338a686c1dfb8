import { z } from 'zod';
import type { SecretSchemas } from '../../../settings/secret-reference.ts';

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

/** Standard Webhooks 1.0, "Signature scheme": 24 to 64 bytes. */
const SECRET_BYTES = { least: 24, most: 64 };
const SECRET_PREFIX = 'whsec_';

/** A channel's own part in the tenant file. */
export function webhookSchema(secrets: SecretSchemas) {
  const secret = secrets.text.refine((written) => isSigningSecret(written.reveal()), {
    error: 'a signing secret is whsec_ and 24 to 64 bytes in base64: echo "whsec_$(openssl rand -base64 32)"',
  });
  return z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }).describe('Where reminders are posted to'),
      secrets: z
        .array(secret)
        .min(1)
        .max(5)
        .describe('Signing secrets, newest first; each signs, so that a receiver may change at its own time'),
      fields: z
        .array(z.enum(PAYLOAD_FIELDS))
        .default([])
        .describe('What the payload holds beside ids; patient data leaves with it'),
      allowPrivateAddresses: z
        .boolean()
        .default(false)
        .describe('The receiver is in your own network: private addresses and http are allowed'),
    })
    .refine(({ url, allowPrivateAddresses }) => allowPrivateAddresses || url.startsWith('https:'), {
      path: ['url'],
      message: 'give an https address, or set allowPrivateAddresses for a receiver in your own network',
    });
}

/** Settings of a webhook as read. */
export type WebhookSettings = z.output<ReturnType<typeof webhookSchema>>;

function isSigningSecret(text: string): boolean {
  const encoded = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : '';
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0) return false;
  const { length } = Buffer.from(encoded, 'base64');
  return length >= SECRET_BYTES.least && length <= SECRET_BYTES.most;
}
