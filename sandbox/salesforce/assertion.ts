import { verify, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { invalidGrant, OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';

/** The vendor's login servers, which an assertion may name instead of the sandbox. */
const LOGIN_SERVERS: readonly string[] = ['https://login.salesforce.com', 'https://test.salesforce.com'];
/** An assertion may end at most so far ahead (Salesforce help, OAuth 2.0 JWT Bearer Flow: three minutes). */
const MAX_LIFETIME_S = 180;
const SKEW_S = 30;

const claimsShape = z.object({ iss: z.string(), sub: z.string(), aud: z.string(), exp: z.number() });

/**
 * The application and the user that a JWT bearer assertion names (RFC 7523 section 2.1). It must be signed with RS256 by a certificate of
 * the application, and the user must be approved. Throws OAuthError.
 */
export function readAssertion(
  settings: Settings,
  assertion: string,
  origin: string,
): { application: Application; username: string } {
  const [header = '', payload = '', signature = '', ...rest] = assertion.split('.');
  const claims = claimsShape.safeParse(decode(payload)).data;
  if (!claims || rest.length > 0) {
    throw invalidGrant('invalid assertion');
  }
  const application = settings.applications.find(({ clientId }) => clientId === claims.iss);
  if (!application) {
    throw new OAuthError('invalid_client_id', 'client identifier invalid');
  }
  const signed = Buffer.from(`${header}.${payload}`);
  const isSigned = application.certificates.some((pem) =>
    verify('RSA-SHA256', signed, new X509Certificate(pem).publicKey, Buffer.from(signature, 'base64url')),
  );
  if (!isSigned || decode(header)?.alg !== 'RS256') {
    throw invalidGrant('invalid assertion');
  }
  if (![origin, ...LOGIN_SERVERS].includes(claims.aud)) {
    throw invalidGrant('audience is invalid');
  }
  const nowS = settings.now() / 1000;
  if (claims.exp <= nowS || claims.exp > nowS + MAX_LIFETIME_S + SKEW_S) {
    throw invalidGrant('expired authorization code');
  }
  if (!application.approvedUsers.includes(claims.sub)) {
    throw invalidGrant("user hasn't approved this consumer");
  }
  return { application, username: claims.sub };
}

function decode(part: string): Record<string, unknown> | undefined {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(Buffer.from(part, 'base64url').toString()));
  } catch {
    return undefined;
  }
}
