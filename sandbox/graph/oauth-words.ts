import { randomUUID } from 'node:crypto';
import type { VendorWords, Words } from '../kit/oauth/words.ts';

/** How Entra describes a refusal. */
export function describe({ code, description }: Words): string {
  return `AADSTS${code}: ${description}`;
}

/** Entra's error body. */
export function errorBody(words: Words): object {
  const traceId = randomUUID();
  return {
    error: words.error,
    error_description: `${describe(words)} Trace ID: ${traceId}`,
    error_codes: [words.code],
    timestamp: new Date().toISOString(),
    trace_id: traceId,
    correlation_id: randomUUID(),
    suberror: words.suberror,
  };
}

/** 401 `invalid_client`. */
export function invalidClient(code: number, description: string): Words {
  return { status: 401, error: 'invalid_client', code, description };
}

function invalidGrant(code: number, description: string, suberror?: string): Words {
  return { error: 'invalid_grant', code, description, ...(suberror === undefined ? {} : { suberror }) };
}

const CHALLENGE = 'Proof Key for Code Exchange with S256 is required.';
const CODE_FOREIGN = invalidGrant(700_005, 'The code was issued to another client or redirect URI.');

/** What Entra says to each refusal; the number goes after `AADSTS`. */
export const WORDS: VendorWords = {
  clientUnknown: {
    error: 'unauthorized_client',
    code: 700_016,
    description: 'The application was not found in the directory.',
  },
  clientPublic: invalidClient(700_025, 'Client is public so neither an assertion nor a secret should be presented.'),
  secretMissing: invalidClient(7_000_218, "The request body must contain 'client_assertion' or 'client_secret'."),
  secretWrong: invalidClient(7_000_215, 'Invalid client secret provided.'),
  redirectUnknown: {
    error: 'invalid_request',
    code: 50_011,
    description: 'The redirect URI does not match the ones of the client.',
  },
  responseType: { error: 'unsupported_response_type', code: 700_054, description: 'only the code flow is enabled.' },
  scopeUnknown: { error: 'invalid_scope', code: 70_011, description: 'A scope is unknown.' },
  challengeMethod: { error: 'invalid_request', code: 9_002_325, description: CHALLENGE },
  personNeeded: { error: 'interaction_required', code: 50_058, description: 'a person has to answer.' },
  requestOver: { error: 'invalid_request', code: 90_014, description: 'This request is over.' },
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
  grantType: {
    error: 'unsupported_grant_type',
    code: 70_003,
    description: 'The app requested an unsupported grant type.',
  },
  deviceUnknown: {
    error: 'bad_verification_code',
    code: 70_019,
    description: 'The verification code was not recognized.',
  },
  deviceExpired: {
    error: 'expired_token',
    code: 70_020,
    description: 'The provided value for the device code has expired.',
  },
  devicePending: { error: 'authorization_pending', code: 70_016, description: 'Pending end-user authorization.' },
  deviceDeclined: { error: 'authorization_declined', code: 70_018, description: 'The user denied the request.' },
};

/** Refusals that Entra alone knows. */
export const ENTRA_WORDS = {
  tenantUnknown: { error: 'invalid_tenant', code: 90_002, description: 'The tenant was not found.' },
  publicForItself: invalidClient(7_000_218, 'A public client has no credentials of its own.'),
  notDefaultScope: {
    error: 'invalid_scope',
    code: 70_011,
    description: "The scope must be the resource's /.default.",
  },
  /** A person must answer, at the next login. */
  interaction: invalidGrant(50_076, 'You must use multi-factor authentication to access.', 'basic_action'),
  /** A person must answer a claims challenge. */
  challenged: {
    error: 'interaction_required',
    code: 50_158,
    description: 'External security challenge not satisfied.',
  },
  /** For a fault that names no body. */
  transient: {
    error: 'temporarily_unavailable',
    code: 90_033,
    description: 'A transient error has occurred.',
  },
} satisfies Record<string, Words>;
