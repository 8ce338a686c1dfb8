import { z } from 'zod';
import { HEADER_NAME, isTransportHeader } from '../core/model/header-names.ts';
import { parseJson } from '../core/model/json.ts';
import { issueText, message } from '../messages/message.ts';
import { name, text } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';

/** A Microsoft Entra ID directory, used in the paths of its endpoints. */
const directory = z.string().regex(/^[a-z0-9][a-z0-9.-]*$/i, issueText(message('settings.directory')));

/** Schema of a connection in a tenant file, by kind. */
export function connection(secrets: SecretSchemas) {
  const serviceAccountKey = secrets.text.refine(
    (secret) => isServiceAccountKey(secret.reveal()),
    issueText(message('settings.service-account')),
  );
  return z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z
        .literal('google')
        .describe(
          'Kind of the connection. An administrator connects `google`, `microsoft`, `hubspot`, `salesforce` and `oauth` once with `clinic-mirror login`. `google-service-account`, `microsoft-app` and `salesforce-app` act without a user. The other kinds use a fixed secret. The connection to the clinic needs no configuration here and has the name `clinic`.',
        ),
      client: name.meta({
        description:
          'Name from the settings: `googleClients`, `microsoftClients`, `hubspotClients`, `salesforceClients` or `oauthClients`, by kind.',
        examples: ['main'],
      }),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('google-service-account'),
      keyFile: serviceAccountKey.describe('JSON key file of the service account.'),
      subject: z.email(issueText(message('settings.service-account-user'))).meta({
        description:
          'User that the connection acts for. `google-service-account`: an e-mail address. `salesforce-app`: a user name; without `subject` the client secret is used.',
        examples: ['dr.rossi@practice.example'],
      }),
    }),
    z.strictObject({
      kind: z.literal('microsoft'),
      client: name.describe('Name from `microsoftClients` in the settings.'),
      directory: directory
        .default('organizations')
        .describe(
          "Id or domain of the organisation's directory. `organizations` selects the directory of the account that signs in.",
        ),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('microsoft-app'),
      client: name.describe(
        'Name from `microsoftClients` in the settings. The registration needs a client secret or a certificate.',
      ),
      directory: directory.describe('Id or domain of the directory that granted consent to the app.'),
    }),
    z.strictObject({
      kind: z.literal('caldav'),
      username: text.describe('User name, without a colon.'),
      password: secrets.text.describe('Password. Most hosted servers require an app password.'),
    }),
    z.strictObject({ kind: z.literal('feed') }),
    ...crmConnections(secrets),
  ]);
}

/** Required fields of a service account's key (Google, "Using OAuth 2.0 for server to server applications"). */
const serviceAccountKeyFields = z.object({ client_email: z.string().min(1), private_key: z.string().min(1) });

function isServiceAccountKey(content: string): boolean {
  return serviceAccountKeyFields.safeParse(parseJson(content)).success;
}

/** Token syntax after the word Bearer (RFC 6750 section 2.1). */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/!$-]+=*$/;
/** Header value syntax: visible characters with spaces between (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** CRM connections: of users, of applications, and with permanent credentials. */
function crmConnections(secrets: SecretSchemas) {
  return [
    z.strictObject({
      kind: z.literal('hubspot'),
      client: name.describe('Name from `hubspotClients` in the settings.'),
      account: expectedAccount.bySubject,
    }),
    z.strictObject({
      kind: z.literal('salesforce'),
      client: name.describe('Name from `salesforceClients` in the settings.'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('salesforce-app'),
      client: name.describe('Name from `salesforceClients` in the settings.'),
      subject: text
        .optional()
        .describe('User name that the app acts for, with a certificate. Without a value the client secret is used.'),
    }),
    z.strictObject({
      kind: z.literal('oauth'),
      client: name.describe('Name from `oauthClients` in the settings.'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('bearer'),
      token: secrets.text
        .refine((token) => BEARER_TOKEN.test(token.reveal()), issueText(message('settings.bearer')))
        .describe('Token that does not expire, such as a HubSpot Service Key.'),
    }),
    z.strictObject({
      kind: z.literal('api-key'),
      header: z
        .string()
        .regex(HEADER_NAME, issueText(message('settings.header-name')))
        .refine(
          (header) => !isTransportHeader(header) && !/^accept$/i.test(header),
          issueText(message('settings.header-refused')),
        )
        .transform((header) => header.toLowerCase())
        .meta({ description: 'Name of the header that contains the key.', examples: ['X-Api-Key'] }),
      key: secrets.text
        .refine((key) => HEADER_VALUE.test(key.reveal()), issueText(message('settings.header-value')))
        .describe('Complete value of the header.'),
    }),
    z.strictObject({
      kind: z.literal('basic'),
      username: text
        .refine((username) => !username.includes(':'), issueText(message('username-invalid.remedy')))
        .describe('User name, without a colon.'),
      password: secrets.text.describe('Password.'),
    }),
  ] as const;
}

const subject = text
  .optional()
  .describe("The vendor's id of the account, shown by `status` in parentheses. For HubSpot: the Hub ID.");
const address = text.optional().meta({
  description: 'E-mail address that the vendor has verified, or user name (Microsoft, Salesforce).',
  examples: ['calendar@practice.example'],
});
const domain = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/i, issueText(message('settings.domain')))
  .optional()
  .meta({
    description: "Domain of the organisation's users: Google Workspace domain, or domain of Microsoft user names.",
    examples: ['practice.example'],
  });

/**
 * Required account of a connection, by facts that the vendor vouches for. Another account is refused. A HubSpot user can belong to several
 * accounts, and Salesforce user names can have any ending.
 */
export const expectedAccount = {
  bySubject: notEmpty(z.strictObject({ subject })),
  byAddress: notEmpty(z.strictObject({ subject, address })),
  byDomain: notEmpty(z.strictObject({ subject, address, domain })),
};

function notEmpty<Schema extends z.ZodObject>(schema: Schema) {
  const names = Object.keys(schema.shape).join(', ');
  return schema
    .refine(
      (account) => Object.values(account).some((value) => value !== undefined),
      issueText(message('settings.one-of', { names })),
    )
    .optional();
}
