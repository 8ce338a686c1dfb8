import type { Actor, Retry } from '../model/errors.ts';

/** What an error is to us: who must act, and what to do. */
export interface ErrorClass {
  actor: Actor;
  code: string;
  retry: Retry;
  message: string;
  remedy?: string;
}

/** The refresh token is worth nothing any more. */
export const LOGIN_ENDED: ErrorClass = {
  actor: 'authorization',
  code: 'login-ended',
  retry: 'never',
  message: 'the provider no longer accepts the login: it was revoked, has expired or was replaced',
  remedy: 'a person logs in again: clinic-mirror login',
};
const INTERACTION_REQUIRED: ErrorClass = {
  actor: 'authorization',
  code: 'interaction-required',
  retry: 'never',
  message: 'the provider wants a person to log in again or to confirm',
  remedy: 'a person logs in again: clinic-mirror login',
};
const LOGIN_REFUSED: ErrorClass = {
  actor: 'authorization',
  code: 'login-refused',
  retry: 'never',
  message: 'the person or the provider refused the access',
  remedy: 'connect again and allow the access that is asked for',
};
/** Who asks is not accepted. */
export const CLIENT_REJECTED: ErrorClass = {
  actor: 'settings',
  code: 'client-rejected',
  retry: 'never',
  message: 'the provider does not accept the client id or its secret',
  remedy: 'check clientId and clientSecret, and that the client is still registered with the provider',
};
const CLIENT_NOT_ALLOWED: ErrorClass = {
  actor: 'settings',
  code: 'client-not-allowed',
  retry: 'never',
  message: 'the provider does not allow this client what is asked for',
  remedy: 'check which grants, redirect addresses and scopes the client is registered for',
};
const SCOPE_REJECTED: ErrorClass = {
  actor: 'settings',
  code: 'scope-rejected',
  retry: 'never',
  message: 'the provider does not know or does not allow a scope that is asked for',
  remedy: 'check the scopes of the client and of the profile',
};
/** Nothing was decided. */
export const ENDPOINT_AWAY: ErrorClass = {
  actor: 'remote',
  code: 'token-endpoint-unavailable',
  retry: 'later',
  message: 'the authorization server cannot answer at present',
};

/** What an administrator must set right before a new login is of use, by code. */
const SET_RIGHT_FIRST: ReadonlyMap<string, string> = new Map([
  ['account-inactive', 'an administrator makes the user active again'],
  [
    'address-restricted',
    "an administrator admits this machine's address, at all hours, for the user and the application",
  ],
  ['application-not-approved', 'an administrator approves the application for the user'],
]);

function administratorFirst(code: string, message: string): ErrorClass {
  const remedy = `${SET_RIGHT_FIRST.get(code)}, then a person logs in again: clinic-mirror login`;
  return { actor: 'authorization', code, retry: 'never', message, remedy };
}

const ACCOUNT_INACTIVE = administratorFirst(
  'account-inactive',
  'the user or the organisation behind the login is inactive at the provider',
);
const ADDRESS_RESTRICTED = administratorFirst(
  'address-restricted',
  'the provider does not admit the login from this address or at this hour',
);
const APPLICATION_NOT_APPROVED = administratorFirst(
  'application-not-approved',
  'the organisation has not approved the application for this user',
);

/**
 * Error codes by who must act: RFC 6749 sections 4.1.2.1 and 5.2, OpenID Connect Core section 3.1.2.6, and Google's own and Salesforce's
 * own.
 * @see https://developers.google.com/identity/protocols/oauth2/web-server#authorization-errors
 * @see https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_flow_errors.htm
 */
const CLASSES: ReadonlyMap<string, ErrorClass> = new Map([
  ['invalid_grant', LOGIN_ENDED],
  ['interaction_required', INTERACTION_REQUIRED],
  ['login_required', INTERACTION_REQUIRED],
  ['consent_required', INTERACTION_REQUIRED],
  ['account_selection_required', INTERACTION_REQUIRED],
  ['access_denied', LOGIN_REFUSED],
  ['admin_policy_enforced', { ...LOGIN_REFUSED, remedy: "the organisation's administrator allows the access" }],
  ['invalid_client', CLIENT_REJECTED],
  ['deleted_client', CLIENT_REJECTED],
  ['disabled_client', CLIENT_REJECTED],
  ['invalid_client_id', CLIENT_REJECTED],
  ['invalid_client_credentials', CLIENT_REJECTED],
  ['inactive_user', ACCOUNT_INACTIVE],
  ['inactive_org', ACCOUNT_INACTIVE],
  ['invalid_app_access', APPLICATION_NOT_APPROVED],
  ['rate_limit_exceeded', ENDPOINT_AWAY],
  ['unauthorized_client', CLIENT_NOT_ALLOWED],
  ['org_internal', CLIENT_NOT_ALLOWED],
  ['redirect_uri_mismatch', CLIENT_NOT_ALLOWED],
  ['unsupported_grant_type', CLIENT_NOT_ALLOWED],
  ['unsupported_response_type', CLIENT_NOT_ALLOWED],
  ['invalid_scope', SCOPE_REJECTED],
  ['temporarily_unavailable', ENDPOINT_AWAY],
  ['server_error', ENDPOINT_AWAY],
  ['slow_down', ENDPOINT_AWAY],
]);

/**
 * What Salesforce tells in the description of `invalid_grant`. Each needs a person, and other things done first than a login that
 * has just ended: logging in again alone would be refused.
 */
const GRANT_DESCRIPTIONS: readonly [RegExp, ErrorClass][] = [
  [/\binactive (user|org)|\buser (is )?inactive\b/i, ACCOUNT_INACTIVE],
  [/\bip restricted\b|\binvalid login hours\b/i, ADDRESS_RESTRICTED],
  [/\bapproved (this consumer|to access)\b/i, APPLICATION_NOT_APPROVED],
];

/**
 * Descriptions with which vendors refuse a refresh for a reason that passes, whatever the error code: the answer says nothing of the login.
 * @see https://learn.microsoft.com/entra/identity-platform/reference-error-codes for Entra's numbers
 */
const PASSING: readonly RegExp[] = [
  // Entra: a retryable failure, loop protection, an application out of reach, retryable failures and time-outs of others, throttling.
  /\bAADSTS(50033|50196|1000031|90006|90012|90024|90025|90033|90055)\b/,
  // Salesforce, while the refresh before is still carried out.
  /^expired authorization code$/i,
  /\btoken request is already being processed\b/i,
  // Google, HubSpot and servers of clinics that report a failure of their own in this way.
  /\b(internal[ _](error|failure)|backend error|temporarily unavailable|try again later|rate limit|too many requests)\b/i,
];

/** Whether a refused refresh says by its description that the refusal passes. */
export function isPassing(description: string): boolean {
  return PASSING.some((words) => words.test(description));
}

/**
 * Refusals with the code of an ended login whose description names what a person must do: a second try changes nothing.
 * Numbers of Entra: consent is missing, further factors or a new sign-in are wanted, the password was changed or the grant revoked, the
 * token was not used in time, the account is disabled, a policy forbids the access.
 */
const FINAL = /\bAADSTS(65001|50076|50078|50079|50173|50057|50158|53000|53001|53003|700082|700084|70043)\b/;

/** Whether the words of a refusal leave no doubt that a person must act. */
export function isFinal(description: string): boolean {
  return FINAL.test(description);
}

/** What an OAuth error code is to us, told apart by its description where the code says too little; null when it is unknown. */
export function classOfError(code: string, description: string): ErrorClass | null {
  const told = code === 'invalid_grant' ? GRANT_DESCRIPTIONS.find(([words]) => words.test(description)) : undefined;
  return told?.[1] ?? CLASSES.get(code) ?? null;
}

/** What an administrator must do before a new login is of use; null when the reason needs none. */
export function neededFirst(reason: string | null): string | null {
  return SET_RIGHT_FIRST.get(reason ?? '') ?? null;
}
