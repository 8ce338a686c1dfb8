import * as openid from 'openid-client';
import { MirrorError } from '../model/errors.ts';
import { HOUR_MS, type Instant } from '../model/time.ts';
import { toMirrorError } from './errors.ts';
import { isPlainHttp, isSecureUrl, mayBeNamedBy, type Provider } from './providers.ts';
import { type Reach, recordingFetch } from './recording-fetch.ts';

const METADATA_LIFE_MS = HOUR_MS;
/** What metadata name that is asked. */
const ASKED = [
  ...(['authorization_endpoint', 'token_endpoint', 'device_authorization_endpoint', 'revocation_endpoint'] as const),
  ...(['userinfo_endpoint', 'introspection_endpoint', 'jwks_uri'] as const),
];

/** Metadata from the settings, or from discovery: one request at a time, and the last good one while the server is away. */
export function createMetadata(reach: Reach): () => Promise<openid.ServerMetadata> {
  const { provider, clock } = reach;
  let known: { metadata: openid.ServerMetadata; readAt: Instant } | null = null;
  let reading: Promise<openid.ServerMetadata> | null = null;

  async function read(): Promise<openid.ServerMetadata> {
    const found =
      provider.endpoints === null ? requireLawful(await discover(reach), reach) : configuredMetadata(provider);
    const device = provider.deviceEndpoint === null ? {} : { device_authorization_endpoint: provider.deviceEndpoint };
    const metadata = { ...found, ...device };
    requireSecureEndpoints(metadata);
    known = { metadata, readAt: clock() };
    return metadata;
  }
  return async () => {
    if (known !== null && clock() - known.readAt < METADATA_LIFE_MS) return known.metadata;
    reading ??= read().finally(() => {
      reading = null;
    });
    try {
      return await reading;
    } catch (error) {
      const isAway = error instanceof MirrorError && error.actor === 'remote';
      if (known !== null && isAway) return known.metadata;
      throw error;
    }
  };
}

async function discover(reach: Reach): Promise<openid.ServerMetadata> {
  const { provider } = reach;
  // Shared by all who wait for it, so nobody's wish to stop may end it; the HTTP client's time limit does.
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

/** A wrong address shows here: an answer that is no metadata is the settings' fault, unless the server is just away. */
function discoveryError(error: MirrorError): MirrorError {
  if (error.code !== 'token-answer-unreadable' && error.code !== 'client-rejected') return error;
  return new MirrorError('the configured authorization server has no readable discovery document', {
    actor: 'settings',
    code: 'discovery-failed',
    retry: 'later',
    remedy: 'check the address of the authorization server, or switch discovery off',
    cause: error,
  });
}

/** What a document on the internet says is no reason to send secrets into our own network. */
function requireLawful(metadata: openid.ServerMetadata, { provider }: Reach): openid.ServerMetadata {
  const name = ASKED.find((each) => metadata[each] !== undefined && !mayBeNamedBy(provider.issuer, metadata[each]));
  if (name !== undefined) throw insecure(`${name} of the authorization server's metadata leads where it must not`);
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
  throw insecure("the authorization server's metadata names an endpoint that is not https");
}

function insecure(message: string): MirrorError {
  return new MirrorError(message, {
    actor: 'settings',
    code: 'insecure-address',
    retry: 'never',
    remedy: 'tokens are sent over https only, and not from the internet into an own network: ask the provider',
  });
}
