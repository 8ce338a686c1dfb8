import { z } from 'zod';
import { parseJson } from '../model/json.ts';
import { name, text } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';

/** A directory of Microsoft Entra ID: a part of the path of its endpoints. */
const directory = z.string().regex(/^[a-z0-9][a-z0-9.-]*$/i, 'give the id or a domain of the directory');

/** Schema of one login in a tenant file, by its kind. */
export function connection(secrets: SecretSchemas) {
  const serviceAccountKey = secrets.text.refine(
    (secret) => isServiceAccountKey(secret.reveal()),
    'refer to the JSON key file that Google gave for the service account',
  );
  return z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('google'),
      client: name.describe(
        'A name in the settings, by the kind: of googleClients, microsoftClients, hubspotClients, salesforceClients or oauthClients',
      ),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('google-service-account'),
      keyFile: serviceAccountKey.describe('The JSON key that Google gave for the service account'),
      subject: z
        .email('give the e-mail address of the user that the service account acts for')
        .describe(
          'User that the login acts for: of a service account the e-mail address; of salesforce-app the user name, without which its secret is used',
        ),
    }),
    z.strictObject({
      kind: z.literal('microsoft'),
      client: name.describe('A name of microsoftClients in the settings'),
      directory: directory
        .default('organizations')
        .describe("Id or domain of the organisation's directory; organizations takes that of whoever logs in"),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('microsoft-app'),
      client: name.describe('A name of microsoftClients in the settings; it needs a clientSecret or a certificate'),
      directory: directory.describe(
        "Id or domain of the organisation's directory, where the application is consented to",
      ),
    }),
    z.strictObject({
      kind: z.literal('caldav'),
      username: text.describe('Name of the login; no colon'),
      password: secrets.text.describe('Its password; most hosted servers want one made for this application'),
    }),
    z.strictObject({ kind: z.literal('feed') }),
    ...crmConnections(secrets),
  ]);
}

/** The fields of a service account's key that a login needs (Google, "Using OAuth 2.0 for server to server applications"). */
const serviceAccountKeyFields = z.object({ client_email: z.string().min(1), private_key: z.string().min(1) });

function isServiceAccountKey(content: string): boolean {
  return serviceAccountKeyFields.safeParse(parseJson(content)).success;
}

/** What RFC 6750 section 2.1 allows in a header after the word Bearer. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/!$-]+=*$/;
/** A name of a header (RFC 9110 section 5.1). */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Headers that belong to the request itself. */
const REQUEST_HEADERS =
  /^(accept|connection|content-.*|cookie|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;
/** What can go into a header as it is: visible characters with spaces between (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** Logins at CRMs: of persons, of applications, and by what never changes. */
function crmConnections(secrets: SecretSchemas) {
  return [
    z.strictObject({
      kind: z.literal('hubspot'),
      client: name.describe('A name of hubspotClients in the settings'),
      account: expectedAccount.bySubject,
    }),
    z.strictObject({
      kind: z.literal('salesforce'),
      client: name.describe('A name of salesforceClients in the settings'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('salesforce-app'),
      client: name.describe('A name of salesforceClients in the settings'),
      subject: text
        .optional()
        .describe('User name that the application acts for, by its certificate; without it its secret is used'),
    }),
    z.strictObject({
      kind: z.literal('oauth'),
      client: name.describe('A name of oauthClients in the settings'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('bearer'),
      token: secrets.text
        .refine((token) => BEARER_TOKEN.test(token.reveal()), 'refer to the token alone, without the word Bearer')
        .describe('A token without an end, such as a Service Key of HubSpot'),
    }),
    z.strictObject({
      kind: z.literal('api-key'),
      header: z
        .string()
        .regex(HEADER_NAME, 'give the name of a header, such as X-Api-Key')
        .refine(
          (header) => !REQUEST_HEADERS.test(header),
          'choose another header: this one belongs to the request itself',
        )
        .transform((header) => header.toLowerCase())
        .describe('Name of the header that takes the key'),
      key: secrets.text
        .refine((key) => HEADER_VALUE.test(key.reveal()), 'refer to one line without line breaks and accents')
        .describe("The header's whole value"),
    }),
    z.strictObject({
      kind: z.literal('basic'),
      username: text
        .refine((username) => !username.includes(':'), 'a user name for basic authentication has no colon (RFC 7617)')
        .describe('Name of the login; no colon'),
      password: secrets.text.describe('Its password'),
    }),
  ] as const;
}

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
