import * as openid from 'openid-client';
import type { Account } from '../core/model/credentials.ts';
import { MirrorError } from '../core/model/errors.ts';
import { HOUR_MS, type Instant } from '../core/model/time.ts';
import { message, type Text } from '../messages/message.ts';
import { accountOfNames, type Claims } from './accounts.ts';
import { readAccount, readClaims, type SignInDemands } from './ask-account.ts';
import { requireCertificate, signedProof } from './assertion.ts';
import { type AnswerFacts, refreshError, toMirrorError } from './errors.ts';
import { isPlainHttp, isSecureUrl, mayBeNamedBy, type Provider } from './providers.ts';
import {
  type LoginAnswer,
  type Reach,
  readNames,
  readTokens,
  recordingFetch,
  type TokenAnswer,
} from './token-requests.ts';

/** Authorization server as seen by one client. Every method throws {@link MirrorError} by required actor. */
export interface AuthorizationServer {
  readonly provider: Provider;
  /** Returns the URL for the operator's browser. */
  authorizationUrl(parameters: Record<string, string>): Promise<URL>;
  /** Exchanges the code of an authorization response after checking state and issuer (RFC 6749 section 4.1.2, RFC 9207). */
  exchangeCode(
    response: URL,
    checks: { state: string; codeVerifier: string },
    signal: AbortSignal,
  ): Promise<LoginAnswer>;
  /** Returns the account of an authorization, see {@link readAccount}. */
  accountOf(answer: LoginAnswer, nonce: string | null, signal: AbortSignal): Promise<Account | null>;
  /** Returns the claims of a user, see {@link readClaims}. */
  claimsOf(
    answer: LoginAnswer,
    checks: { nonce: string; demands: SignInDemands },
    signal: AbortSignal,
  ): Promise<Claims>;
  /** Sends one refresh request without retries. */
  refresh(refreshToken: string, signal: AbortSignal): Promise<TokenAnswer>;
  /** Starts an authorization by device code (RFC 8628 section 3.1). */
  beginDevice(scopes: readonly string[], signal: AbortSignal): Promise<openid.DeviceAuthorizationResponse>;
  /** Polls once for the tokens of a device authorization (RFC 8628 section 3.4). */
  pollDevice(deviceCode: string, signal: AbortSignal): Promise<LoginAnswer>;
  /** @returns false if the server has no revocation endpoint (RFC 7009) */
  revoke(token: string, signal: AbortSignal): Promise<boolean>;
}

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface CallOptions {
  onFacts?(facts: AnswerFacts | null): unknown;
  toError?: typeof toMirrorError;
}

/** Opens an authorization server without a request. Metadata is fetched on first use and kept for an hour. */
export function createAuthorizationServer(reach: Reach): AuthorizationServer {
  const { provider, clock } = reach;
  const metadata = createMetadata(reach);
  const configured = configuring(provider, metadata);

  async function call<Result>(
    label: string,
    signal: AbortSignal,
    run: (configuration: openid.Configuration) => Promise<Result>,
    { onFacts, toError = toMirrorError }: CallOptions = {},
  ): Promise<Result> {
    const configuration = await configured();
    const recording = recordingFetch(reach, label, signal);
    configuration[openid.customFetch] = recording.fetch;
    try {
      return await run(configuration);
    } catch (error) {
      throw toError(error, recording.facts());
    } finally {
      onFacts?.(recording.facts());
    }
  }

  async function requestTokens(
    signal: AbortSignal,
    run: (configuration: openid.Configuration) => Promise<openid.TokenEndpointResponse>,
    toError = toMirrorError,
  ): Promise<LoginAnswer> {
    const sentAt = clock();
    const skews = [0];
    const onFacts = (facts: AnswerFacts | null) => skews.push(facts?.skewMs ?? 0);
    const answer = await call('token', signal, run, { onFacts, toError });
    const names = readNames(answer);
    const skewMs = skews.at(-1) ?? 0;
    return { ...readTokens(answer, sentAt), account: accountOfNames(provider, names), names, skewMs };
  }

  const asked = async (signal: AbortSignal) => ({ reach, metadata: await metadata(), call, signal });
  return {
    provider,
    accountOf: async (answer, nonce, signal) => readAccount(await asked(signal), answer, nonce),
    claimsOf: async (answer, checks, signal) => readClaims(await asked(signal), answer, checks),
    async authorizationUrl(parameters) {
      return openid.buildAuthorizationUrl(await configured(), { ...provider.loginParameters, ...parameters });
    },
    exchangeCode: (response, { state, codeVerifier }, signal) =>
      requestTokens(signal, (configuration) =>
        openid.authorizationCodeGrant(configuration, response, {
          expectedState: state,
          pkceCodeVerifier: codeVerifier,
        }),
      ),
    refresh: (refreshToken, signal) =>
      requestTokens(signal, (configuration) => openid.refreshTokenGrant(configuration, refreshToken), refreshError),
    beginDevice: (scopes, signal) =>
      call('device', signal, (configuration) =>
        openid.initiateDeviceAuthorization(configuration, { scope: scopes.join(' ') }),
      ),
    pollDevice: (deviceCode, signal) =>
      requestTokens(signal, (configuration) =>
        openid.genericGrantRequest(configuration, DEVICE_GRANT, { device_code: deviceCode }),
      ),
    async revoke(token, signal) {
      const { revocation_endpoint: endpoint } = await metadata();
      if (endpoint === undefined) return false;
      await call('revoke', signal, (configuration) => openid.tokenRevocation(configuration, token));
      return true;
    },
  };
}

/** Returns a function that configures one request. @throws MirrorError `settings`, code `client-certificate` */
function configuring(provider: Provider, metadata: () => Promise<openid.ServerMetadata>) {
  const { certificate = null, clientSecret } = provider;
  const prove = certificate === null ? null : signedProof(requireCertificate(certificate, provider.name));
  return async () => {
    const server = await metadata();
    const { token_endpoint: tokenEndpoint = provider.issuer } = server;
    const secret = clientSecret === null ? openid.None() : openid.ClientSecretPost(clientSecret);
    const authentication = prove?.(tokenEndpoint) ?? secret;
    const configuration = new openid.Configuration(server, provider.clientId, undefined, authentication);
    // Plain http endpoints were checked to be on this host.
    if (isPlainHttp(provider.issuer) || isPlainHttp(tokenEndpoint)) openid.allowInsecureRequests(configuration);
    return configuration;
  };
}

const METADATA_LIFE_MS = HOUR_MS;
/** Metadata members with endpoints that receive requests. */
const ASKED = [
  ...(['authorization_endpoint', 'token_endpoint', 'device_authorization_endpoint', 'revocation_endpoint'] as const),
  ...(['userinfo_endpoint', 'introspection_endpoint', 'jwks_uri'] as const),
];

/**
 * Returns metadata from the settings or from discovery: one request at a time, and the last valid document while the server is unavailable.
 */
export function createMetadata(reach: Reach): () => Promise<openid.ServerMetadata> {
  const { provider, clock } = reach;
  let cachedMetadata: { metadata: openid.ServerMetadata; readAt: Instant } | null = null;
  let reading: Promise<openid.ServerMetadata> | null = null;

  async function read(): Promise<openid.ServerMetadata> {
    const found =
      provider.endpoints === null ? requireLawful(await discover(reach), reach) : configuredMetadata(provider);
    const device = provider.deviceEndpoint === null ? {} : { device_authorization_endpoint: provider.deviceEndpoint };
    const metadata = { ...found, ...device };
    requireSecureEndpoints(metadata);
    cachedMetadata = { metadata, readAt: clock() };
    return metadata;
  }
  return async () => {
    if (cachedMetadata !== null && clock() - cachedMetadata.readAt < METADATA_LIFE_MS) return cachedMetadata.metadata;
    reading ??= read().finally(() => {
      reading = null;
    });
    try {
      return await reading;
    } catch (error) {
      const isAway = error instanceof MirrorError && error.actor === 'remote';
      if (cachedMetadata !== null && isAway) return cachedMetadata.metadata;
      throw error;
    }
  };
}

async function discover(reach: Reach): Promise<openid.ServerMetadata> {
  const { provider } = reach;
  // Callers share the request, so no caller's signal may abort the request; the HTTP client's time limit applies.
  const recording = recordingFetch(reach, 'discovery', new AbortController().signal);
  try {
    const configuration = await openid.discovery(
      new URL(provider.issuer),
      provider.clientId,
      undefined,
      openid.None(),
      {
        [openid.customFetch]: recording.fetch,
        ...(isPlainHttp(provider.issuer) ? { execute: [openid.allowInsecureRequests] } : {}),
      },
    );
    return configuration.serverMetadata();
  } catch (error) {
    throw discoveryError(toMirrorError(error, recording.facts()));
  }
}

/** A wrong URL appears here: an answer without metadata is a mistake in the settings, unless the server is temporarily unavailable. */
function discoveryError(error: MirrorError): MirrorError {
  if (error.code !== 'token-answer-unreadable' && error.code !== 'client-rejected') return error;
  return new MirrorError(message('discovery-failed'), {
    actor: 'settings',
    code: 'discovery-failed',
    retry: 'later',
    remedy: message('discovery-failed.remedy'),
    cause: error,
  });
}

/** A public document must not direct secrets into the internal network. */
function requireLawful(metadata: openid.ServerMetadata, { provider }: Reach): openid.ServerMetadata {
  const name = ASKED.find((each) => metadata[each] !== undefined && !mayBeNamedBy(provider.issuer, metadata[each]));
  if (name !== undefined) throw insecure(message('oauth.metadata-foreign', { name }));
  return metadata;
}

function configuredMetadata(provider: Provider): openid.ServerMetadata {
  const { endpoints } = provider;
  return {
    issuer: provider.issuer,
    ...(endpoints === null ? {} : { authorization_endpoint: endpoints.authorization, token_endpoint: endpoints.token }),
    ...(endpoints?.revocation ? { revocation_endpoint: endpoints.revocation } : {}),
    ...(endpoints?.keys ? { jwks_uri: endpoints.keys } : {}),
    ...(endpoints?.introspection ? { introspection_endpoint: endpoints.introspection } : {}),
    ...(endpoints?.userinfo ? { userinfo_endpoint: endpoints.userinfo } : {}),
  };
}

function requireSecureEndpoints(metadata: openid.ServerMetadata): void {
  if (ASKED.every((name) => metadata[name] === undefined || isSecureUrl(metadata[name]))) return;
  throw insecure(message('oauth.metadata-insecure'));
}

function insecure(text: Text): MirrorError {
  return new MirrorError(text, {
    actor: 'settings',
    code: 'insecure-address',
    retry: 'never',
    remedy: message('insecure-token-address.remedy'),
  });
}
