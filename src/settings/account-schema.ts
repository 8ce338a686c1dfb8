import { z } from 'zod';
import { text } from './common-schemas.ts';

const subject = text
  .optional()
  .describe(
    "The vendor's own id of the account, as status shows it in brackets; of HubSpot the id of the account (Hub ID)",
  );
const address = text
  .optional()
  .describe('E-mail address that the vendor has verified, or user name (Microsoft, Salesforce)');
const domain = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/i,
    'give a domain, such as practice.example',
  )
  .optional()
  .describe("Domain of the organisation's users: of Google Workspace, or of user names at Microsoft");

/**
 * Whose login a connection must be, by what its vendor vouches for; a login with another account is refused. A HubSpot user may be in
 * several accounts, and anybody may give their Salesforce user name any ending.
 */
export const expectedAccount = {
  bySubject: notEmpty(z.strictObject({ subject })),
  byAddress: notEmpty(z.strictObject({ subject, address })),
  byDomain: notEmpty(z.strictObject({ subject, address, domain })),
};

function notEmpty<Schema extends z.ZodObject>(schema: Schema) {
  const names = Object.keys(schema.shape).join(', ');
  return schema
    .refine((account) => Object.values(account).some((value) => value !== undefined), `give at least one of: ${names}`)
    .optional();
}
