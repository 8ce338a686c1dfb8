import { createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { MirrorError } from '../core/model/errors.ts';
import { type Instant, MINUTE_MS } from '../core/model/time.ts';
import { message, type Text } from '../messages/message.ts';
import { requestByAssertion, signAssertion } from './assertion.ts';
import type { ConnectionAuthorizer } from './authorizer.ts';
import { createHeldTokenAuthorizer } from './authorizer.ts';
import { oauthErrorCode } from './errors.ts';
import { isSecureUrl, type Provider } from './providers.ts';
import type { Reach, TokenOutcome } from './token-requests.ts';

/** Google service account that acts for a user of its organisation (domain-wide delegation). */
export interface ServiceAccountSettings {
  connection: string;
  /** Content of the account's key file (JSON), a secret. */
  keyFile: string;
  /** Represented user. */
  subject: string;
  scopes: readonly string[];
  /** See {@link quotaUserOf}: otherwise all targets of an account would share one user's quota. */
  quotaUser: string;
}

/** @see https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests (at most one hour) */
const ASSERTION_LIFE_MS = 60 * MINUTE_MS;

const keyFileSchema = z.object({
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().optional(),
  token_uri: z.string().refine(isSecureUrl).default('https://oauth2.googleapis.com/token'),
});

interface ServiceKey {
  clientEmail: string;
  keyId: string | undefined;
  key: KeyObject;
  tokenUri: string;
}

/**
 * Creates the authorizer of a service account with a JWT signed by RS256. Tokens are valid for an hour and exist only in this process.
 * There is no refresh token, and a second process safely requests its own token.
 * @throws MirrorError `settings` immediately for an unreadable key file, later if the account lacks the scopes
 * @see RFC 7523
 */
export function createServiceAccountAuthorizer(
  settings: ServiceAccountSettings,
  reach: Omit<Reach, 'provider'>,
): ConnectionAuthorizer {
  const account = readKeyFile(settings);
  return createHeldTokenAuthorizer(
    (now) => requestToken(account, settings, reach, now),
    (error) => accountError(error, settings),
    { clock: reach.clock, quotaUser: settings.quotaUser },
  );
}

function requestToken(
  account: ServiceKey,
  { subject, scopes }: ServiceAccountSettings,
  reach: Omit<Reach, 'provider'>,
  now: Instant,
): Promise<TokenOutcome> {
  const { clientEmail, keyId, key, tokenUri } = account;
  const claims = { iss: clientEmail, sub: subject, scope: scopes.join(' '), aud: tokenUri };
  const assertion = signAssertion({ key, keyId, claims, lifeMs: ASSERTION_LIFE_MS }, now);
  return requestByAssertion(assertion, { ...reach, provider: providerOf(account) }, now);
}

function providerOf(account: ServiceKey): Provider {
  return {
    name: 'google',
    issuer: new URL(account.tokenUri).origin,
    clientId: account.clientEmail,
    clientSecret: null,
    endpoints: { authorization: '', token: account.tokenUri, revocation: null },
    deviceEndpoint: null,
    loginParameters: {},
  };
}

function readKeyFile({ connection, keyFile }: ServiceAccountSettings): ServiceKey {
  try {
    const content = keyFileSchema.parse(JSON.parse(keyFile));
    return {
      clientEmail: content.client_email,
      keyId: content.private_key_id,
      key: createPrivateKey(content.private_key),
      tokenUri: content.token_uri,
    };
  } catch {
    // The error may quote the key.
    throw settingsError('service-account-key', message('oauth.service-account-key', { connection }), {
      remedy: message('oauth.service-account-key.remedy'),
    });
  }
}

/**
 * Converts a refusal: a service account has no user for a new sign-in, so an administrator corrects the settings or the organisation's
 * directory.
 */
function accountError(error: MirrorError, { connection, scopes }: ServiceAccountSettings): MirrorError {
  const code = oauthErrorCode(error);
  if (code === 'unauthorized_client' || code === 'access_denied' || code === 'invalid_scope') {
    return settingsError('delegation-missing', message('oauth.delegation-missing', { connection }), {
      remedy: message('oauth.delegation-missing.remedy', { scopes: scopes.join(', ') }),
      cause: error,
    });
  }
  if (error.actor !== 'authorization') return error;
  return settingsError('service-account-refused', message('oauth.service-account-refused', { connection }), {
    remedy: message('oauth.service-account-refused.remedy'),
    cause: error,
  });
}

function settingsError(code: string, text: Text, more: { remedy: Text; cause?: unknown }): MirrorError {
  return new MirrorError(text, { actor: 'settings', code, retry: 'never', ...more });
}
