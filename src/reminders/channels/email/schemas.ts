import { z } from 'zod';
import type { SecretSchemas } from '../../../settings/secret-reference.ts';

const PORTS = { starttls: 587, tls: 465, none: 25 } as const;
const ADDRESS_REMEDY = 'give a mail address, such as reminders@clinic.example';

/** A channel's own part in the tenant file. */
export function emailSchema(secrets: SecretSchemas) {
  return z
    .strictObject({
      host: z.hostname().describe('Mail server that takes our mails'),
      port: z.int().min(1).max(65_535).optional().describe('Default 587, for tls 465, for none 25'),
      security: z
        .enum(['starttls', 'tls', 'none'])
        .default('starttls')
        .describe('Encryption: required from the first mail on (starttls), from the first byte on (tls), or none'),
      login: z
        .strictObject({ user: z.string().min(1), password: secrets.text })
        .optional()
        .describe('Login at the mail server'),
      certificateAuthority: secrets.plainOrReference
        .optional()
        .describe("Certificate that the server's own is signed by, PEM, where it is not one that everybody trusts"),
      from: z.email(ADDRESS_REMEDY).describe('Mail address that reminders come from'),
      replyTo: z.email(ADDRESS_REMEDY).optional().describe('Mail address that answers go to'),
      unsubscribe: z
        .email(ADDRESS_REMEDY)
        .optional()
        .describe('Mail address for requests to get no more reminders; named in each mail'),
      timeoutSeconds: z.int().min(1).max(75).default(60).describe('Until the mail server has taken a mail'),
    })
    .refine(({ security, host }) => security !== 'none' || isNearby(host), {
      path: ['security'],
      message: 'only a server on this machine or with a bare host name may be spoken to in clear',
    })
    .transform((settings) => ({ ...settings, port: settings.port ?? PORTS[settings.security] }));
}

/** Settings of e-mails as read. */
export type EmailSettings = z.output<ReturnType<typeof emailSchema>>;

function isNearby(host: string): boolean {
  return /^127\.|^::1$/.test(host) || !/[.:]/.test(host);
}
