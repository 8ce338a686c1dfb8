import { type KeyObject, sign } from 'node:crypto';
import * as openid from 'openid-client';
import { type Instant, SECOND_MS } from '../model/time.ts';
import { toMirrorError } from './errors.ts';
import type { TokenOutcome } from './held-token.ts';
import { isPlainHttp } from './providers.ts';
import { type Reach, recordingFetch } from './recording-fetch.ts';
import { readTokens } from './server.ts';

/** What an assertion says, and the key that signs it. */
export interface Assertion {
  /** RSA. */
  key: KeyObject;
  /** Tells the provider which of its keys it is; undefined where it tries those that it has. */
  keyId?: string | undefined;
  claims: Readonly<Record<string, string>>;
  lifeMs: number;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const NEVER_ABORTED = new AbortController().signal;

/**
 * Signs an assertion with RS256, dated by `now`.
 * @see RFC 7523 section 3
 */
export function signAssertion({ key, keyId, claims, lifeMs }: Assertion, now: Instant): string {
  const issuedAt = Math.floor(now / SECOND_MS);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const payload = { ...claims, iat: issuedAt, exp: issuedAt + lifeMs / SECOND_MS };
  const signed = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
}

/** Asks the provider's token endpoint once for a token, for an assertion alone. Never throws. */
export async function requestByAssertion(assertion: string, reach: Reach, now: Instant): Promise<TokenOutcome> {
  const { provider } = reach;
  const recording = recordingFetch(reach, 'token', NEVER_ABORTED);
  const tokenEndpoint = provider.endpoints?.token ?? '';
  try {
    const metadata = { issuer: provider.issuer, token_endpoint: tokenEndpoint };
    // The assertion is all the authentication there is.
    const configuration = new openid.Configuration(metadata, provider.clientId, undefined, () => {});
    if (isPlainHttp(tokenEndpoint)) openid.allowInsecureRequests(configuration);
    configuration[openid.customFetch] = recording.fetch;
    const answer = await openid.genericGrantRequest(configuration, JWT_BEARER, { assertion });
    return { error: null, tokens: readTokens(answer, now), skewMs: recording.facts()?.skewMs ?? 0 };
  } catch (error) {
    const facts = recording.facts();
    return { error: toMirrorError(error, facts), skewMs: facts?.skewMs ?? 0 };
  }
}
