import { z } from 'zod';
import type { SecretSchemas } from '../../../../settings/secret-reference.ts';

/** A number in E.164, a short code, or a name of at most 11 letters and digits, not digits alone. */
const SENDER = /^(\+[1-9]\d{6,14}|\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11})$/;
/** Longest that Twilio keeps a message in its queue. */
const LONGEST_VALIDITY_SECONDS = 36_000;

/** A channel's own part in the tenant file. */
export function smsSchema(secrets: SecretSchemas) {
  return z
    .strictObject({
      accountSid: z
        .string()
        .regex(/^AC[0-9a-f]{32}$/, 'give the account SID: AC and 32 hexadecimal digits')
        .describe('Account at Twilio'),
      authToken: secrets.text.describe("The account's auth token; it also proves what Twilio reports back"),
      from: z
        .string()
        .regex(SENDER, 'give a number such as +393331234567, a short code, or a name of at most 11 letters')
        .optional()
        .describe('Number or name that messages come from'),
      messagingServiceSid: z
        .string()
        .regex(/^MG[0-9a-f]{32}$/, 'give the SID of a messaging service: MG and 32 hexadecimal digits')
        .optional()
        .describe('A messaging service in place of from'),
      maximumSegments: z
        .int()
        .min(1)
        .max(10)
        .default(3)
        .describe('A text that would become more messages than this is refused, never cut'),
      validitySeconds: z
        .int()
        .min(1)
        .max(LONGEST_VALIDITY_SECONDS)
        .default(3_600)
        .describe('A message that has not left the queue of the gateway by then is not sent'),
      server: z
        .url({ protocol: /^https?$/ })
        .refine(isSafe, 'https, or http on this machine')
        .default('https://api.twilio.com')
        .describe("Twilio's API, such as that of a region"),
    })
    .refine(({ from, messagingServiceSid }) => (from === undefined) !== (messagingServiceSid === undefined), {
      message: 'give either from or messagingServiceSid',
    });
}

/** Settings of text messages as read. */
export type SmsSettings = z.output<ReturnType<typeof smsSchema>>;

/** The account's login goes to this address. */
function isSafe(address: string): boolean {
  const { protocol, hostname, username } = new URL(address);
  return username === '' && (protocol === 'https:' || /^(127\.[\d.]+|\[::1\]|localhost)$/.test(hostname));
}
