import { MINUTE_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { requestByAssertion, requireCertificate, signAssertion } from './assertion.ts';
import type { ConnectionAuthorizer } from './authorizer.ts';
import { createHeldTokenAuthorizer } from './authorizer.ts';
import { applicationError, createClientCredentialsAuthorizer } from './client-credentials.ts';
import { neededFirst } from './error-classes.ts';
import type { Reach } from './token-requests.ts';

/** Salesforce application that authenticates without a user. */
export interface SalesforceAppSettings {
  connection: string;
  /** PEM with the private key (RSA) and its certificate, a secret. */
  certificate: string | null;
  /** User name for the application's actions; null: the organisation's configured user of the application. */
  subject: string | null;
}

/** Salesforce accepts assertions that expire in at most three minutes; the local clock may differ by some seconds. */
const ASSERTION_LIFE_MS = 2 * MINUTE_MS;
const APPROVE_USER = message('oauth.application-not-allowed.approve-user');
const SWITCH_ON = message('oauth.application-not-allowed.client-credentials');

/**
 * Creates the authorizer of an application's own access: by certificate as a named user (JWT bearer), otherwise by client secret (client
 * credentials). Token and base URL exist only in this process; there is no refresh token.
 * @throws MirrorError `settings` immediately for a missing or unreadable secret or certificate, later for a refusal
 * @see RFC 7523
 * @see https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_jwt_flow.htm
 * @see https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_client_credentials_flow.htm
 */
export function createSalesforceAppAuthorizer(settings: SalesforceAppSettings, reach: Reach): ConnectionAuthorizer {
  const { connection, subject } = settings;
  if (subject === null) {
    return createClientCredentialsAuthorizer(
      { connection, certificate: null, scope: null, remedy: SWITCH_ON, isFromFile: true },
      reach,
    );
  }
  const key = keyOf(settings);
  const claims = { iss: reach.provider.clientId, sub: subject, aud: audienceOf(reach.provider.issuer) };
  return createHeldTokenAuthorizer(
    (now) => requestByAssertion(signAssertion({ key, claims, lifeMs: ASSERTION_LIFE_MS }, now), reach, now),
    (error) => applicationError(error, connection, neededFirst(error.code) ?? APPROVE_USER),
    { clock: reach.clock, quotaUser: null, fileToken: connection },
  );
}

/** Returns the audience of an assertion: the vendor's common login server for an organisation's URL; other servers unchanged. */
export function audienceOf(loginUrl: string): string {
  const { hostname, origin } = new URL(loginUrl);
  if (!hostname.endsWith('.my.salesforce.com')) return origin;
  return hostname.endsWith('.sandbox.my.salesforce.com')
    ? 'https://test.salesforce.com'
    : 'https://login.salesforce.com';
}

function keyOf({ connection, certificate }: SalesforceAppSettings) {
  return requireCertificate(certificate ?? '', connection).key;
}
