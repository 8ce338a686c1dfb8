import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { text, wholeNumber } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';

/**
 * Share of an application's allowance at a remote side, over all tenants.
 * @param defaults.requestsPerDay where a vendor tells how much it allows each account
 */
export function budget(defaults: { requestsPerMinute: number; burst: number; requestsPerDay?: number }) {
  const perDay = wholeNumber().describe(
    'Requests in 24 hours that the other side allows one account of it; nothing is held back, and status warns from four fifths of it',
  );
  return z
    .strictObject({
      requestsPerMinute: wholeNumber()
        .default(defaults.requestsPerMinute)
        .describe('Requests per minute over all tenants together; each call in a batch counts'),
      burst: wholeNumber().default(defaults.burst).describe('Requests that may be sent at once after a pause'),
      requestsPerDay:
        defaults.requestsPerDay === undefined ? perDay.optional() : perDay.default(defaults.requestsPerDay),
    })
    .prefault({});
}

/** Id that an issuer gave a registration. */
export function registrationId() {
  return text.describe('Id of the registration');
}

/** Secret of a registration, where its issuer gives one. */
export function optionalClientSecret(secrets: SecretSchemas) {
  return secrets.text.optional().describe('For a registration that was given one');
}

/** When a registration's secret ends, where its issuer lets it end. */
export const secretEndsOn = z.iso
  .date(issueText(message('settings.day')))
  .optional()
  .describe('Day on which clientSecret ends, as the registration shows it: status and alerts tell it a month ahead');

const PEM_BLOCKS = [/-----BEGIN CERTIFICATE-----/, /-----BEGIN (RSA )?PRIVATE KEY-----/];

/** A key with its certificate, by which an application proves who it is. */
export function certificate(secrets: SecretSchemas) {
  return secrets.text.refine(
    (pem) => PEM_BLOCKS.every((block) => block.test(pem.reveal())),
    issueText(message('settings.certificate')),
  );
}

/** This machine by number or name: the one place to which secrets go over plain http (RFC 8252 section 8.3). */
const THIS_MACHINE = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Address of one endpoint, taken as it is written: no user, no fragment (RFC 6749 section 3.1). */
const endpoint = z.string().refine(isEndpoint, issueText(message('settings.url-endpoint')));

/** Address of an authorization server, to which the paths of its endpoints are added. */
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
 * The version of HubSpot's API, by date, unless the settings name another: of a target's calls and of the address of tokens, which HubSpot
 * versions alike. The newest one is supported longest, until March 2028; v4 goes unsupported on 2027-03-30, v1 to v3 in September 2027.
 * @see https://developers.hubspot.com/docs/developer-tooling/platform/versioning
 * @see https://developers.hubspot.com/changelog/legacy-apis-and-legacy-apps-whats-going-unsupported-and-when
 * @see https://developers.hubspot.com/docs/api-reference/latest/authentication/manage-oauth-tokens
 */
export const HUBSPOT_VERSION = '2026-09';

/**
 * HubSpot counts by account: 110 calls of one application in any ten seconds. Nine a second and 20 at once stay below that
 * (https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines).
 */
export function hubSpotClient(secrets: SecretSchemas) {
  return z.strictObject({
    clientId: text.describe('Id of the application'),
    clientSecret: secrets.text.describe('Secret of the application'),
    clientSecretEndsOn: secretEndsOn,
    authorizeUrl: endpoint
      .default('https://app.hubspot.com/oauth/authorize')
      .describe('Where a person installs the application'),
    tokenUrl: endpoint
      .default(`https://api.hubapi.com/oauth/${HUBSPOT_VERSION}/token`)
      .describe('Where tokens are given'),
    budget: budget({ requestsPerMinute: 540, burst: 20 }),
  });
}

/**
 * Salesforce counts by organisation and day, 100,000 calls at least, and tells the count with each answer; the budget only keeps
 * bursts small (https://developer.salesforce.com/docs/atlas.en-us.salesforce_app_limits_cheatsheet.meta).
 */
export function salesforceClient(secrets: SecretSchemas) {
  return z.strictObject({
    loginUrl: loginAddress
      .default('https://login.salesforce.com')
      .describe(
        "Address of the login: test.salesforce.com for sandboxes; for logins by secret without a person the organisation's own (My Domain). Default: https://login.salesforce.com",
      ),
    clientId: text.describe('Id (consumer key) of the application'),
    clientSecret: secrets.text.optional().describe('Secret (consumer secret), for an application that has one'),
    clientSecretEndsOn: secretEndsOn,
    certificate: certificate(secrets)
      .optional()
      .describe('PEM with the private RSA key and its certificate, for logins without a person as a named user'),
    budget: budget({ requestsPerMinute: 600, burst: 50, requestsPerDay: 100_000 }),
  });
}

/** Parameters of an authorization request that the login itself sets, or that would change how its answer comes. */
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

/** Any authorization server by the code flow with PKCE; the budget is low, since nothing is known of it. */
export function oauthClient(secrets: SecretSchemas) {
  return z.strictObject({
    authorizationEndpoint: endpoint.describe("Where a person's browser goes to log in"),
    tokenEndpoint: endpoint.describe('Where tokens are given'),
    revocationEndpoint: endpoint
      .optional()
      .describe('Where a login is ended (RFC 7009); without it logout only forgets'),
    deviceEndpoint: endpoint.optional().describe('For logins by device code (RFC 8628)'),
    userinfoEndpoint: endpoint
      .optional()
      .describe('Tells whose a login is (OpenID Connect Core, section 5.3); without it the account is not known'),
    issuer: text
      .optional()
      .describe("How the server names itself in its answers (RFC 9207). Default: the authorizationEndpoint's origin"),
    scopes: z
      .array(z.string().regex(/^\S+$/, issueText(message('settings.scope'))))
      .default([])
      .describe('Asked for at the login'),
    loginParameters: z
      .record(
        z.string().refine((name) => !OWN_PARAMETERS.has(name), issueText(message('settings.login-parameter'))),
        text,
      )
      .default({})
      .describe('Added to the address of the login, such as audience or prompt; no secrets'),
    clientId: registrationId(),
    clientSecret: optionalClientSecret(secrets),
    clientSecretEndsOn: secretEndsOn,
    budget: budget({ requestsPerMinute: 120, burst: 20 }),
  });
}
