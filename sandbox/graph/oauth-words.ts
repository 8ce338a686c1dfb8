import { randomUUID } from 'node:crypto';
import { type VendorWords, type Words, words } from '../kit/oauth/words.ts';

/** How Entra describes a refusal. */
export function describe({ code, description }: Words): string {
  return `AADSTS${code}: ${description}`;
}

/** Entra's error body. */
export function errorBody(said: Words): object {
  const traceId = randomUUID();
  return {
    error: said.error,
    error_description: `${describe(said)} Trace ID: ${traceId}`,
    error_codes: [said.code],
    timestamp: new Date().toISOString(),
    trace_id: traceId,
    correlation_id: randomUUID(),
    suberror: said.suberror,
  };
}

/** 401 `invalid_client`. */
export function invalidClient(code: number, description: string): Words {
  return words('invalid_client', description, { status: 401, code });
}

function invalidGrant(code: number, description: string, suberror?: string): Words {
  return words('invalid_grant', description, suberror === undefined ? { code } : { code, suberror });
}

const CHALLENGE = 'Proof Key for Code Exchange with S256 is required.';
const CODE_FOREIGN = invalidGrant(700_005, 'The code was issued to another client or redirect URI.');

/** Entra's message for each refusal; the code follows `AADSTS`. */
export const WORDS: VendorWords = {
  clientUnknown: words('unauthorized_client', 'The application was not found in the directory.', { code: 700_016 }),
  clientPublic: invalidClient(700_025, 'Client is public so neither an assertion nor a secret should be presented.'),
  secretMissing: invalidClient(7_000_218, "The request body must contain 'client_assertion' or 'client_secret'."),
  secretWrong: invalidClient(7_000_215, 'Invalid client secret provided.'),
  redirectUnknown: words('invalid_request', 'The redirect URI does not match the ones of the client.', {
    code: 50_011,
  }),
  responseType: words('unsupported_response_type', 'only the code flow is enabled.', { code: 700_054 }),
  scopeUnknown: words('invalid_scope', 'A scope is unknown.', { code: 70_011 }),
  challengeMethod: words('invalid_request', CHALLENGE, { code: 9_002_325 }),
  personNeeded: words('interaction_required', 'a user must answer.', { code: 50_058 }),
  requestOver: words('invalid_request', 'This request is over.', { code: 90_014 }),
  codeUnknown: invalidGrant(54_005, 'The authorization code was already redeemed, has expired or is invalid.'),
  codeForeign: CODE_FOREIGN,
  codeRedirect: CODE_FOREIGN,
  codeVerifier: invalidGrant(501_481, 'The Code_Verifier does not match the code_challenge.'),
  refreshUnknown: invalidGrant(50_173, 'The provided grant has expired due to it being revoked.', 'bad_token'),
  refreshExpired: invalidGrant(700_082, 'The refresh token has expired due to inactivity.', 'token_expired'),
  scopeWider: invalidGrant(
    65_001,
    'The user or administrator has not consented to use the application.',
    'consent_required',
  ),
  grantType: words('unsupported_grant_type', 'The app requested an unsupported grant type.', { code: 70_003 }),
  deviceUnknown: words('bad_verification_code', 'The verification code was not recognized.', { code: 70_019 }),
  deviceExpired: words('expired_token', 'The provided value for the device code has expired.', { code: 70_020 }),
  devicePending: words('authorization_pending', 'Pending end-user authorization.', { code: 70_016 }),
  deviceDeclined: words('authorization_declined', 'The user denied the request.', { code: 70_018 }),
};

/** Refusals that exist only in Entra. */
export const ENTRA_WORDS = {
  tenantUnknown: words('invalid_tenant', 'The tenant was not found.', { code: 90_002 }),
  publicForItself: invalidClient(7_000_218, 'A public client has no credentials.'),
  notDefaultScope: words('invalid_scope', "The scope must be the resource's /.default.", { code: 70_011 }),
  /** The user must use multi-factor authentication at the next sign-in. */
  interaction: invalidGrant(50_076, 'You must use multi-factor authentication to access.', 'basic_action'),
  /** The user must answer a claims challenge. */
  challenged: words('interaction_required', 'External security challenge not satisfied.', { code: 50_158 }),
  /** For a fault that names no body. */
  transient: words('temporarily_unavailable', 'A transient error has occurred.', { code: 90_033 }),
} satisfies Record<string, Words>;
