import { z } from 'zod';
import { wholeNumber } from './common-schemas.ts';
import { ADDRESS_REMEDY, hasSafeServer, mailServerKeys, SERVER_FAULT, withPort } from './mail-schema.ts';
import type { SecretSchemas } from './secret-reference.ts';
import { webhookKeys } from './webhook-schema.ts';

/** Who is told of what needs a person. */
export function alertsSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      checkEveryMinutes: wholeNumber(1, 60)
        .default(5)
        .describe('How often it is looked whether something needs a person'),
      outageAfterMinutes: wholeNumber(1, 1_440)
        .default(15)
        .describe('After how long it is told that a server is away that clinics wait for'),
      language: z.enum(['en', 'it']).default('en').describe('Language of mails'),
      email: z
        .strictObject({
          ...mailServerKeys(secrets),
          to: z.array(z.email(ADDRESS_REMEDY)).min(1).max(20).describe('Mail addresses of those who are told'),
        })
        .refine(hasSafeServer, SERVER_FAULT)
        .transform(withPort)
        .optional()
        .describe('Tells by mail'),
      webhook: z
        .strictObject({
          ...webhookKeys(secrets),
          allowPrivateAddresses: z
            .boolean()
            .default(false)
            .describe('The receiver is in your own network: private addresses and http are allowed'),
        })
        .refine(({ url, allowPrivateAddresses }) => allowPrivateAddresses || url.startsWith('https:'), {
          path: ['url'],
          message: 'give an https address, or set allowPrivateAddresses for a receiver in your own network',
        })
        .optional()
        .describe('Tells a program, by a message signed as Standard Webhooks 1.0 has it'),
    })
    .prefault({})
    .describe(
      'Who is told of what needs a person, before a practitioner notices: at first, on days 3, 7 and 14, and when it is over',
    );
}

/** Who is told, as read. */
export type AlertSettings = z.output<ReturnType<typeof alertsSection>>;
