import * as openid from 'openid-client';
import { MirrorError } from '../core/model/errors.ts';
import { type Instant, SECOND_MS } from '../core/model/time.ts';
import { message, type Text } from '../messages/message.ts';
import { requireCertificate, signedProof } from './assertion.ts';
import type { ConnectionAuthorizer } from './authorizer.ts';
import { createHeldTokenAuthorizer } from './authorizer.ts';
import { oauthErrorCode, toMirrorError } from './errors.ts';
import { isPlainHttp, type Provider } from './providers.ts';
import { type Reach, readTokens, recordingFetch, type TokenOutcome } from './token-requests.ts';

/**
 * Application that authenticates as itself, with a client secret or a certificate.
 * @see RFC 6749 section 4.4
 */
export interface ClientCredentialsSettings {
  connection: string;
  /** PEM with the private key (RSA) and its certificate, a secret; null if the client secret authenticates the application. */
  certificate: string | null;
  /** Microsoft accepts one scope, `<resource>/.default`: the scopes with an administrator's consent. Null: no scope is requested. */
  scope: string | null;
  /** Remedy if the provider refuses the application and Microsoft's administration steps do not apply. */
  remedy?: Text;
  /** Whether the provider sends the API's base URL with each token. Default false. */
  isFromFile?: boolean;
}

const CONSENT = message('oauth.application-not-allowed.consent');

const NEVER_ABORTED = new AbortController().signal;

/**
 * Creates the authorizer of an application's own access. There is no refresh token and no user for a new sign-in: an administrator corrects
 * refusals in the settings or in the organisation's directory.
 * @throws MirrorError `settings` immediately for a missing secret or an unreadable certificate, later for a refusal
 * @see https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */
export function createClientCredentialsAuthorizer(
  settings: ClientCredentialsSettings,
  reach: Reach,
): ConnectionAuthorizer {
  const proof = proofOf(settings, reach.provider);
  return createHeldTokenAuthorizer(
    (now) => requestToken(proof, settings.scope, reach, now),
    (error) => applicationError(error, settings.connection, settings.remedy ?? CONSENT),
    { clock: reach.clock, quotaUser: null, ...(settings.isFromFile ? { fileToken: settings.connection } : {}) },
  );
}

/** Creates the client authentication of one request. */
type Proof = (tokenEndpoint: string) => openid.ClientAuth;

function proofOf({ connection, certificate }: ClientCredentialsSettings, provider: Provider): Proof {
  if (certificate !== null) return signedProof(requireCertificate(certificate, connection));
  const secret = provider.clientSecret;
  if (secret !== null) return () => openid.ClientSecretPost(secret);
  throw settingsError('client-proof-missing', message('oauth.client-proof-missing', { connection }), {
    remedy: message('oauth.client-proof-missing.remedy'),
  });
}

async function requestToken(proof: Proof, scope: string | null, reach: Reach, now: Instant): Promise<TokenOutcome> {
  const { provider, clock } = reach;
  const recording = recordingFetch(reach, 'token', NEVER_ABORTED);
  const tokenEndpoint = provider.endpoints?.token ?? '';
  try {
    const configuration = new openid.Configuration(
      { issuer: provider.issuer, token_endpoint: tokenEndpoint },
      provider.clientId,
      { [openid.clockSkew]: Math.round((now - clock()) / SECOND_MS) },
      proof(tokenEndpoint),
    );
    if (isPlainHttp(tokenEndpoint)) openid.allowInsecureRequests(configuration);
    configuration[openid.customFetch] = recording.fetch;
    const answer = await openid.clientCredentialsGrant(configuration, scope === null ? {} : { scope });
    return { error: null, tokens: readTokens(answer, now), skewMs: recording.facts()?.skewMs ?? 0 };
  } catch (error) {
    const facts = recording.facts();
    return { error: toMirrorError(error, facts), skewMs: facts?.skewMs ?? 0 };
  }
}

/**
 * Converts a refusal: an application has no user for a new sign-in, so an administrator corrects the settings or the organisation's
 * directory.
 */
export function applicationError(error: MirrorError, connection: string, notAllowed: Text): MirrorError {
  const code = oauthErrorCode(error);
  if (error.code === 'client-rejected') {
    return settingsError('client-rejected', message('oauth.client-refused', { connection }), {
      remedy: message('oauth.client-refused.remedy'),
      cause: error,
    });
  }
  if (error.actor !== 'authorization' && code !== 'unauthorized_client' && code !== 'invalid_scope') return error;
  return settingsError('application-not-allowed', message('oauth.application-not-allowed', { connection }), {
    remedy: notAllowed,
    cause: error,
  });
}

function settingsError(code: string, text: Text, more: { remedy: Text; cause?: unknown }): MirrorError {
  return new MirrorError(text, { actor: 'settings', code, retry: 'never', ...more });
}
