import { createHash, X509Certificate } from 'node:crypto';
import { OAuthError } from './oauth-error.ts';
import type { Application, Settings } from './options.ts';
import { type ReadJwt, readJwt } from './signing.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const SKEW_S = 300;

/**
 * The application behind a token request: by its secret (in the form or by Basic), or by an assertion that one of its
 * certificates signed (RFC 7523 section 2.2). A public one must send neither. Throws OAuthError 401 invalid_client.
 */
export function authenticateClient(
  settings: Settings,
  form: URLSearchParams,
  authorization: string | undefined,
  audiences: readonly string[],
): Application {
  const basic = readBasic(authorization);
  const assertion = form.get('client_assertion');
  const jwt = assertion === null ? undefined : readJwt(assertion);
  const application = findApplication(settings, form.get('client_id') ?? basic?.id ?? String(jwt?.claims.sub ?? ''));
  const secret = basic?.secret ?? form.get('client_secret') ?? undefined;
  const isPublic = application.clientSecret === undefined && application.certificates.length === 0;
  if (isPublic) {
    if (secret !== undefined || assertion !== null) {
      throw invalidClient(700_025, 'Client is public so neither an assertion nor a secret should be presented.');
    }
    return application;
  }
  if (assertion !== null) {
    if (form.get('client_assertion_type') !== JWT_BEARER || !jwt) {
      throw invalidClient(50_027, 'JWT token is invalid or malformed.');
    }
    checkAssertion(application, jwt, audiences, settings.now() / 1000);
    return application;
  }
  if (secret === undefined) {
    throw invalidClient(7_000_218, "The request body must contain 'client_assertion' or 'client_secret'.");
  }
  if (secret !== application.clientSecret) {
    throw invalidClient(7_000_215, 'Invalid client secret provided.');
  }
  return application;
}

/** The application of a client id. Throws OAuthError 400 unauthorized_client. */
export function findApplication(settings: Settings, clientId: string): Application {
  const application = settings.applications.find((known) => known.clientId === clientId);
  if (!application) {
    throw new OAuthError(400, 'unauthorized_client', 700_016, 'The application was not found in the directory.');
  }
  return application;
}

/** The header must name a registered certificate by its thumbprint, and that one's key must have signed. */
function checkAssertion(application: Application, jwt: ReadJwt, audiences: readonly string[], nowS: number): void {
  const certificates = application.certificates.map((pem) => new X509Certificate(pem));
  const certificate = certificates.find((each) => thumbprints(each).some((print) => names(jwt, print)));
  if (!certificate || !jwt.isSignedBy(certificate.publicKey)) {
    throw invalidClient(700_027, 'The certificate used to sign the client assertion is not registered.');
  }
  const { iss, sub, aud, exp, nbf, jti } = jwt.claims;
  if (iss !== application.clientId || sub !== application.clientId || typeof jti !== 'string') {
    throw invalidClient(700_021, 'Client assertion application identifier does not match.');
  }
  if (!audiences.includes(String(aud))) {
    throw invalidClient(700_023, 'Client assertion audience claim does not match the realm issuer.');
  }
  if (!(Number(exp) > nowS - SKEW_S) || Number(nbf ?? 0) > nowS + SKEW_S) {
    throw invalidClient(700_024, 'Client assertion is not within its valid time range.');
  }
}

function names({ header }: ReadJwt, thumbprint: string): boolean {
  return [header['x5t#S256'], header.x5t, header.kid].includes(thumbprint);
}

function thumbprints({ raw }: X509Certificate): string[] {
  return ['sha256', 'sha1'].map((algorithm) => createHash(algorithm).update(raw).digest('base64url'));
}

function readBasic(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^Basic (\S+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) {
    return undefined;
  }
  const [id = '', secret = ''] = Buffer.from(encoded, 'base64').toString().split(':').map(decodeURIComponent);
  return { id, secret };
}

function invalidClient(code: number, description: string): OAuthError {
  return new OAuthError(401, 'invalid_client', code, description);
}
