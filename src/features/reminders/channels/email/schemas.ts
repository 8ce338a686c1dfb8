import { z } from 'zod';
import {
  ADDRESS_REMEDY,
  hasSafeServer,
  mailServerKeys,
  SERVER_FAULT,
  withPort,
} from '../../../../settings/delivery-schema.ts';
import type { SecretSchemas } from '../../../../settings/secret-reference.ts';

/** Returns the schema of the channel in the tenant file. */
export function emailSchema(secrets: SecretSchemas) {
  return z
    .strictObject({
      ...mailServerKeys(secrets),
      replyTo: z.email(ADDRESS_REMEDY).optional().describe('E-mail address for replies.'),
      unsubscribe: z
        .email(ADDRESS_REMEDY)
        .optional()
        .describe('E-mail address for opt-out requests, included in each mail.'),
    })
    .refine(hasSafeServer, SERVER_FAULT)
    .transform(withPort);
}

/** Parsed settings of e-mails. */
export type EmailSettings = z.output<ReturnType<typeof emailSchema>>;
