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

const FIELDS = { subject, address, domain };

/**
 * Whose login a connection must be; a login with another account is refused. What a vendor does not vouch for can't be asked for: a
 * HubSpot user may be in several accounts, and anybody may give their Salesforce user name any ending.
 */
export function expectedAccount(...names: readonly (keyof typeof FIELDS)[]) {
  return z
    .strictObject(FIELDS)
    .refine((account) => Object.values(account).some((value) => value !== undefined), `give ${names.join(', ')}`)
    .refine(
      (account) =>
        Object.entries(account).every(([name, value]) => value === undefined || names.some((each) => each === name)),
      `here an account is told by: ${names.join(', ')}`,
    )
    .optional();
}
