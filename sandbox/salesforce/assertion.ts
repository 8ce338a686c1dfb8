import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { readJwt } from '../kit/oauth/jwt.ts';
import { OAuthError } from '../kit/oauth/words.ts';
import type { Application, Settings } from './options.ts';

/** The vendor's OAuth servers. The audience of an assertion is one of these URLs or the sandbox. */
const LOGIN_SERVERS: readonly string[] = ['https://login.salesforce.com', 'https://test.salesforce.com'];
/** Maximum time until an assertion expires (Salesforce help, OAuth 2.0 JWT Bearer Flow: three minutes). */
const MAX_LIFETIME_S = 180;
const SKEW_S = 30;

const claimsShape = z.object({ iss: z.string(), sub: z.string(), aud: z.string(), exp: z.number() });

/**
 * Returns the application and the user of a JWT bearer assertion (RFC 7523 section 2.1). A certificate of the application must have signed
 * the assertion with RS256, and the user must be approved. Throws OAuthError.
 */
export function readAssertion(
  settings: Settings,
  assertion: string,
  origin: string,
): { application: Application; username: string } {
  const jwt = readJwt(assertion);
  const claims = claimsShape.safeParse(jwt?.claims).data;
  if (!jwt || !claims) throw invalidGrant('invalid assertion');
  const application = settings.applications.find(({ clientId }) => clientId === claims.iss);
  if (!application) throw new OAuthError({ error: 'invalid_client_id', description: 'client identifier invalid' });
  const keys = application.certificates.map((pem) => new X509Certificate(pem).publicKey);
  if (!keys.some((key) => jwt.isSignedBy(key))) throw invalidGrant('invalid assertion');
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

function invalidGrant(description: string): OAuthError {
  return new OAuthError({ error: 'invalid_grant', description });
}
