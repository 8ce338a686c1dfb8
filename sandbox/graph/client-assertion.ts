import { createHash, X509Certificate } from 'node:crypto';
import type { ReadJwt } from '../kit/oauth/jwt.ts';
import type { TokenRequest } from '../kit/oauth/vendor.ts';
import { OAuthError } from '../kit/oauth/words.ts';
import { invalidClient } from './oauth-words.ts';
import type { Application } from './options.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const SKEW_S = 300;

/**
 * Checks a client assertion: its header must name a registered certificate by the thumbprint, and that one's key must have signed.
 * @param nowS epoch seconds
 * Throws OAuthError 401 invalid_client.
 */
export function checkAssertion(
  application: Application,
  jwt: ReadJwt | undefined,
  { form, place }: TokenRequest,
  nowS: number,
): void {
  if (form.get('client_assertion_type') !== JWT_BEARER || !jwt) {
    throw refused(50_027, 'JWT token is invalid or malformed.');
  }
  const certificates = application.certificates.map((pem) => new X509Certificate(pem));
  const certificate = certificates.find((each) => thumbprints(each).some((print) => names(jwt, print)));
  if (!certificate || !jwt.isSignedBy(certificate.publicKey)) {
    throw refused(700_027, 'The certificate used to sign the client assertion is not registered.');
  }
  const { iss, sub, aud, exp, nbf, jti } = jwt.claims;
  if (iss !== application.clientId || sub !== application.clientId || typeof jti !== 'string') {
    throw refused(700_021, 'Client assertion application identifier does not match.');
  }
  if (![`${place.base}/oauth2/v2.0/token`, place.issuer].includes(String(aud))) {
    throw refused(700_023, 'Client assertion audience claim does not match the realm issuer.');
  }
  if (!(Number(exp) > nowS - SKEW_S) || Number(nbf ?? 0) > nowS + SKEW_S) {
    throw refused(700_024, 'Client assertion is not within its valid time range.');
  }
}

function names({ header }: ReadJwt, thumbprint: string): boolean {
  return [header['x5t#S256'], header.x5t, header.kid].includes(thumbprint);
}

function thumbprints({ raw }: X509Certificate): string[] {
  return ['sha256', 'sha1'].map((algorithm) => createHash(algorithm).update(raw).digest('base64url'));
}

function refused(code: number, description: string): OAuthError {
  return new OAuthError(invalidClient(code, description));
}
