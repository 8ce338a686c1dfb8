import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { text, wholeNumber } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';

/**
 * Schema of an application's request budget at a vendor, over all tenants.
 * @param defaults.requestsPerDay for a vendor with a documented limit per account
 */
export function budget(defaults: { requestsPerMinute: number; burst: number; requestsPerDay?: number }) {
  const perDay = wholeNumber().describe(
    'Daily quota of one account with the vendor. The daemon does not enforce the quota; `status` warns at 80 %.',
  );
  return z
    .strictObject({
      requestsPerMinute: wholeNumber()
        .default(defaults.requestsPerMinute)
        .describe(
          'Requests per minute for all tenants and all replicas together, shared fairly. Each call in a batch is one request. For a clinic the limit includes the token endpoint.',
        ),
      burst: wholeNumber().default(defaults.burst).describe('Requests that the daemon may send at once after a pause.'),
      requestsPerDay:
        defaults.requestsPerDay === undefined ? perDay.optional() : perDay.default(defaults.requestsPerDay),
    })
    .prefault({});
}

/** Client id from the issuer. */
export function registrationId() {
  return text.describe('Client id of the registration.');
}

/** Client secret, if the issuer provides one. */
export function optionalClientSecret(secrets: SecretSchemas) {
  return secrets.text.optional().describe('Client secret, if the registration has a secret.');
}

/** Expiry of a client secret, if the issuer sets one. */
export const secretEndsOn = z.iso
  .date(issueText(message('settings.day')))
  .optional()
  .meta({
    description: 'Date on which the client secret expires. Status and alerts warn one month earlier.',
    examples: ['2027-03-31'],
  });

const PEM_BLOCKS = [/-----BEGIN CERTIFICATE-----/, /-----BEGIN (RSA )?PRIVATE KEY-----/];

/** A key with certificate that authenticates an application. */
export function certificate(secrets: SecretSchemas) {
  return secrets.text.refine(
    (pem) => PEM_BLOCKS.every((block) => block.test(pem.reveal())),
    issueText(message('settings.certificate')),
  );
}

/** A key with certificate that authenticates a client at its authorization server instead of a secret. */
export function clientKey(secrets: SecretSchemas) {
  return certificate(secrets)
    .optional()
    .describe(
      'PEM file with an RSA private key and the certificate, for a registration with `private_key_jwt` (RS256). Replaces `clientSecret`.',
    );
}

/** This host by IP address or name: the only destination of secrets over plain http (RFC 8252 section 8.3). */
const THIS_MACHINE = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** URL of an endpoint, used unchanged: no user, no fragment (RFC 6749 section 3.1). */
const endpoint = z.string().refine(isEndpoint, issueText(message('settings.url-endpoint')));

/** URL of an authorization server, to which endpoint paths are appended. */
const loginAddress = z
  .string()
  .refine((address) => isEndpoint(address) && !address.includes('?'), issueText(message('settings.url-server')))
  .transform((address) => address.replace(/\/+$/, ''));

function isEndpoint(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && THIS_MACHINE.test(url.hostname));
}

/**
 * Default version of HubSpot's API by date, for API calls and the token URL, which HubSpot versions together. The newest version is
 * supported longest, until March 2028; support of v4 ends on 2027-03-30, of v1 to v3 in September 2027.
 * @see https://developers.hubspot.com/docs/developer-tooling/platform/versioning
 * @see https://developers.hubspot.com/changelog/legacy-apis-and-legacy-apps-whats-going-unsupported-and-when
 * @see https://developers.hubspot.com/docs/api-reference/latest/authentication/manage-oauth-tokens
 */
export const HUBSPOT_VERSION = '2026-09';

/**
 * HubSpot limits by account: 110 calls per application in ten seconds. Nine per second and bursts of 20 stay below
 * (https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines).
 */
export function hubSpotClient(secrets: SecretSchemas) {
  return z.strictObject({
    clientId: text.describe('Client id of the app.'),
    clientSecret: secrets.text.describe('Client secret of the app.'),
    clientSecretEndsOn: secretEndsOn,
    authorizeUrl: endpoint
      .default('https://app.hubspot.com/oauth/authorize')
      .describe('URL at which an administrator installs the app.'),
    tokenUrl: endpoint
      .default(`https://api.hubapi.com/oauth/${HUBSPOT_VERSION}/token`)
      .describe('URL of the token endpoint.'),
    budget: budget({ requestsPerMinute: 540, burst: 20 }),
  });
}

/**
 * Salesforce limits by organisation and day, at least 100,000 calls, and returns the count with each answer. The budget only limits bursts
 * (https://developer.salesforce.com/docs/atlas.en-us.salesforce_app_limits_cheatsheet.meta).
 */
export function salesforceClient(secrets: SecretSchemas) {
  return z.strictObject({
    loginUrl: loginAddress.default('https://login.salesforce.com').meta({
      description:
        "URL of the authorization server. Use `https://test.salesforce.com` for sandboxes. Connections of kind `salesforce-app` with a client secret require the org's My Domain URL. Default: `https://login.salesforce.com`.",
      examples: ['https://example.my.salesforce.com'],
    }),
    clientId: text.describe('Consumer key of the connected app.'),
    clientSecret: secrets.text.optional().describe('Consumer secret, if the connected app has a secret.'),
    clientSecretEndsOn: secretEndsOn,
    certificate: certificate(secrets)
      .optional()
      .describe(
        'PEM file with an RSA private key and the certificate, for connections of kind `salesforce-app` with a `subject`.',
      ),
    budget: budget({ requestsPerMinute: 600, burst: 50, requestsPerDay: 100_000 }),
  });
}

/** Parameters of an authorization request that the connection itself sets, or that would change the form of the answer. */
const OWN_PARAMETERS = new Set([
  'client_id',
  'client_secret',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'request',
  'request_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

/** Any authorization server with the code flow and PKCE. The budget is low because the limits are unknown. */
export function oauthClient(secrets: SecretSchemas) {
  return z.strictObject({
    authorizationEndpoint: endpoint.meta({
      description: "URL that the administrator's browser opens to authorize.",
      examples: ['https://crm.example/oauth/authorize'],
    }),
    tokenEndpoint: endpoint.describe('URL of the token endpoint.'),
    revocationEndpoint: endpoint
      .optional()
      .describe('URL that revokes tokens (RFC 7009). Without a value `logout` only deletes the stored tokens.'),
    deviceEndpoint: endpoint.optional().describe('URL of the device code flow (RFC 8628).'),
    userinfoEndpoint: endpoint
      .optional()
      .describe(
        'URL that returns the account of a connection (OpenID Connect Core, section 5.3). Without a value the account is unknown.',
      ),
    issuer: text
      .optional()
      .describe("Value of `iss` in the server's responses (RFC 9207). Default: origin of `authorizationEndpoint`."),
    scopes: z
      .array(z.string().regex(/^\S+$/, issueText(message('settings.scope'))))
      .default([])
      .meta({ description: 'Scopes to request.', examples: [['offline_access', 'contacts.write']] }),
    loginParameters: z
      .record(
        z.string().refine((name) => !OWN_PARAMETERS.has(name), issueText(message('settings.login-parameter'))),
        text,
      )
      .default({})
      .meta({
        description:
          'Additional parameters of the authorization URL, such as `audience` or `prompt`. Write no secrets.',
        examples: [{ prompt: 'consent' }],
      }),
    clientId: registrationId(),
    clientSecret: optionalClientSecret(secrets),
    clientSecretEndsOn: secretEndsOn,
    certificate: clientKey(secrets),
    budget: budget({ requestsPerMinute: 120, burst: 20 }),
  });
}
