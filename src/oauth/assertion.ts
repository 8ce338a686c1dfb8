import { createPrivateKey, type KeyObject, sign, X509Certificate } from 'node:crypto';
import * as openid from 'openid-client';
import { MirrorError } from '../core/model/errors.ts';
import { type Instant, SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { toMirrorError } from './errors.ts';
import { isPlainHttp } from './providers.ts';
import { type Reach, readTokens, recordingFetch, type TokenOutcome } from './token-requests.ts';

/** Key and certificate that authenticate an application. */
export interface Certificate {
  key: KeyObject;
  /** SHA-1 of the certificate, base64url: Microsoft uses the thumbprint to find the registered certificate. */
  thumbprint: string;
  /** Validity period. */
  beganAt: Instant;
  endsAt: Instant;
}

/** Parses one PEM with a private RSA key and its certificate; null if invalid. */
export function readCertificate(pem: string): Certificate | null {
  try {
    const key = createPrivateKey(pem);
    const certificate = new X509Certificate(pem);
    if (key.asymmetricKeyType !== 'rsa' || !certificate.checkPrivateKey(key)) return null;
    const thumbprint = Buffer.from(certificate.fingerprint.replaceAll(':', ''), 'hex').toString('base64url');
    const [beganAt, endsAt] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
    return { key, thumbprint, beganAt, endsAt };
  } catch {
    // The error may quote the key.
    return null;
  }
}

/** Parses as {@link readCertificate}. @param connection names the certificate in the error. @throws MirrorError `settings`, code `client-certificate` */
export function requireCertificate(pem: string, connection: string): Certificate {
  const read = readCertificate(pem);
  if (read !== null) return read;
  throw new MirrorError(message('client-certificate', { connection }), {
    ...{ actor: 'settings', code: 'client-certificate', retry: 'never' },
    remedy: message('client-certificate.remedy'),
  });
}

/**
 * Creates the authentication `private_key_jwt` of a client (RFC 7523, OpenID Connect Core section 9), with a new assertion per request.
 * Microsoft finds the registered certificate by `x5t`.
 * @see https://learn.microsoft.com/entra/identity-platform/certificate-credentials
 */
export function signedProof({ key, thumbprint }: Certificate): (tokenEndpoint: string) => openid.ClientAuth {
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const signingKey = key.toCryptoKey(algorithm, false, ['sign']);
  return (tokenEndpoint) =>
    openid.PrivateKeyJwt(signingKey, {
      [openid.modifyAssertion]: (header, payload) => {
        header.x5t = thumbprint;
        payload.aud = tokenEndpoint;
      },
    });
}

/** Content of an assertion with its signing key. */
interface Assertion {
  /** RSA. */
  key: KeyObject;
  /** Identifies the key for the provider; undefined if the provider tries its known keys. */
  keyId?: string | undefined;
  claims: Readonly<Record<string, string>>;
  lifeMs: number;
}

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const NEVER_ABORTED = new AbortController().signal;

/**
 * Signs an assertion with RS256, issued at `now`.
 * @see RFC 7523 section 3
 */
export function signAssertion({ key, keyId, claims, lifeMs }: Assertion, now: Instant): string {
  const issuedAt = Math.floor(now / SECOND_MS);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const payload = { ...claims, iat: issuedAt, exp: issuedAt + lifeMs / SECOND_MS };
  const signed = [header, payload].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
}

/** Requests a token from the provider once, authenticated only by an assertion. Never throws. */
export async function requestByAssertion(assertion: string, reach: Reach, now: Instant): Promise<TokenOutcome> {
  const { provider } = reach;
  const recording = recordingFetch(reach, 'token', NEVER_ABORTED);
  const tokenEndpoint = provider.endpoints?.token ?? '';
  try {
    const metadata = { issuer: provider.issuer, token_endpoint: tokenEndpoint };
    // The assertion is the only authentication.
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
