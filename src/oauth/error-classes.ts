import type { Actor, Retry } from '../core/model/errors.ts';
import { type Message, message } from '../messages/message.ts';

/** Classification of an error: required actor, and the remedy. */
export interface ErrorClass {
  actor: Actor;
  code: string;
  retry: Retry;
  /** Used if `messages/` has no message for the code. */
  message?: Message;
  remedy?: Message;
}

const LOG_IN_AGAIN = message('log-in-again', { command: 'clinic-mirror login <tenant> <connection>' });
/** The refresh token is no longer valid. */
export const LOGIN_ENDED: ErrorClass = {
  actor: 'authorization',
  code: 'login-ended',
  retry: 'never',
  remedy: LOG_IN_AGAIN,
};
const INTERACTION_REQUIRED: ErrorClass = {
  actor: 'authorization',
  code: 'interaction-required',
  retry: 'never',
  remedy: LOG_IN_AGAIN,
};
const LOGIN_REFUSED: ErrorClass = { actor: 'authorization', code: 'login-refused', retry: 'never' };
/** The provider does not accept the client. */
export const CLIENT_REJECTED: ErrorClass = { actor: 'settings', code: 'client-rejected', retry: 'never' };
const CLIENT_NOT_ALLOWED: ErrorClass = { actor: 'settings', code: 'client-not-allowed', retry: 'never' };
const SCOPE_REJECTED: ErrorClass = { actor: 'settings', code: 'scope-rejected', retry: 'never' };
/** The provider made no decision. */
export const ENDPOINT_AWAY: ErrorClass = { actor: 'remote', code: 'token-endpoint-unavailable', retry: 'later' };

/** Reasons that an administrator must resolve before a new authorization helps. */
const SET_RIGHT_FIRST = ['account-inactive', 'address-restricted', 'application-not-approved'] as const;

function administratorFirst(code: string & (typeof SET_RIGHT_FIRST)[number]): ErrorClass {
  const remedy = message('oauth.first-then', { first: message(`oauth.${code}.first`), next: LOG_IN_AGAIN });
  return { actor: 'authorization', code, retry: 'never', remedy };
}

const ACCOUNT_INACTIVE = administratorFirst('account-inactive');
const ADDRESS_RESTRICTED = administratorFirst('address-restricted');
const APPLICATION_NOT_APPROVED = administratorFirst('application-not-approved');

/**
 * Error codes by required actor: RFC 6749 sections 4.1.2.1 and 5.2, OpenID Connect Core section 3.1.2.6, and codes of Google and Salesforce.
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
  ['admin_policy_enforced', { ...LOGIN_REFUSED, remedy: message('oauth.admin-policy.remedy') }],
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
  // Google's code, without a description: https://github.com/googleapis/google-auth-library-python/pull/368
  ['internal_failure', ENDPOINT_AWAY],
  ['server_error', ENDPOINT_AWAY],
  ['slow_down', ENDPOINT_AWAY],
]);

/**
 * Salesforce's descriptions of `invalid_grant`. In each case an administrator must resolve the cause first: only reconnecting would be
 * refused again.
 */
const GRANT_DESCRIPTIONS: readonly [RegExp, ErrorClass][] = [
  [/\binactive (user|org)|\buser (is )?inactive\b/i, ACCOUNT_INACTIVE],
  [/\bip restricted\b|\binvalid login hours\b/i, ADDRESS_RESTRICTED],
  [/\bapproved (this consumer|to access)\b/i, APPLICATION_NOT_APPROVED],
];

/**
 * Entra's numbers for temporary failures, which do not concern the connection.
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes (names and descriptions of these numbers)
 */
const PASSING_OF_ENTRA: ReadonlyMap<number, string> = new Map([
  [40010, 'OAuth2IdPRetryableServerError'],
  [50033, 'RetryableError'],
  [50087, 'SasRetryableError'],
  [50166, 'ExternalClaimsProviderThrottled'],
  // Too many identical requests in a short time.
  [50196, 'LoopDetected'],
  [70012, 'MsaServerError'],
  [80001, 'OnPremiseStoreIsNotAvailable'],
  [80002, 'OnPremisePasswordValidatorRequestTimedout'],
  [80005, 'OnPremisePasswordValidatorUnpredictableWebException'],
  [90006, 'ExternalServerRetryableError'],
  [90012, 'RequestTimeout'],
  [90024, 'RequestBudgetExceededError'],
  [90033, 'MsodsServiceUnavailable'],
  [90055, 'TenantThrottlingError'],
  [90090, 'GraphRetryableError'],
  [90091, 'GraphServiceUnreachable'],
]);

/**
 * Entra's numbers that require an action of a user or administrator: a retry changes nothing. Numbers with several causes, such as 70000 or
 * 50053, are in neither table.
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes
 */
const FINAL_OF_ENTRA: ReadonlyMap<number, string> = new Map([
  [50055, 'InvalidPasswordExpiredPassword'],
  [50057, 'UserDisabled'],
  [50072, 'UserStrongAuthEnrollmentRequiredInterrupt'],
  [50074, 'UserStrongAuthClientAuthNRequiredInterrupt'],
  [50076, 'UserStrongAuthClientAuthNRequired'],
  [50078, 'UserStrongAuthExpired'],
  [50079, 'UserStrongAuthEnrollmentRequired'],
  [50105, 'EntitlementGrantsNotFound'],
  [50132, 'SsoArtifactInvalidOrExpired'],
  [50133, 'SsoArtifactRevoked'],
  [50135, 'PasswordChangeCompromisedPassword'],
  [50144, 'InvalidPasswordExpiredOnPremPassword'],
  [50158, 'ExternalSecurityChallenge'],
  [50173, 'FreshTokenNeeded'],
  [53000, 'DeviceNotCompliant'],
  [53001, 'DeviceNotDomainJoined'],
  [53002, 'ApplicationUsedIsNotAnApprovedApp'],
  [53003, 'BlockedByConditionalAccess'],
  [53004, 'ProofUpBlockedDueToRisk'],
  [65001, 'DelegationDoesNotExist'],
  [65004, 'UserDeclinedConsent'],
  [70008, 'ExpiredOrRevokedGrant'],
  [70043, 'BadTokenDueToSignInFrequency'],
  [90094, 'AdminConsentRequired'],
  [530032, 'BlockedByConditionalAccessOnSecurityPolicy'],
  [700020, 'InteractionRequired'],
  [700082, 'ExpiredOrRevokedGrantInactiveToken'],
  // Token of a single-page application, at the end of its fixed lifetime: the name is our own.
  [700084, 'ExpiredSinglePageAppToken'],
]);

/** Descriptions of temporary refusals by other vendors, with any error code. */
const PASSING: readonly RegExp[] = [
  /**
   * Salesforce, while the previous refresh is still in progress.
   * @see https://help.salesforce.com/s/articleView?id=release-notes.rn_security_refresh_token_requests.htm&release=250
   */
  /\btoken request is already being processed\b/i,
  // Older wording of Salesforce: the page on OAuth errors lists the text only for codes, which a refresh does not send.
  /^expired authorization code$/i,
  /**
   * Google, with the same retries as Google's client library.
   * @see https://github.com/googleapis/google-auth-library-python/blob/main/google/oauth2/_client.py
   */
  /\b(internal[ _](error|failure)|server[ _]error|temporarily[ _]unavailable)\b/i,
  // Common wording of servers: neither HubSpot nor other vendors list the descriptions of a failed refresh.
  /\b(backend error|try again later|rate limit|too many requests)\b/i,
];

/** Decides by the description whether a refused refresh is a temporary failure. */
export function isPassing(description: string): boolean {
  return numbersOfEntra(description).some((number) => PASSING_OF_ENTRA.has(number)) || said(PASSING, description);
}

/** Decides whether the description clearly requires an action of a user or administrator. */
export function isFinal(description: string): boolean {
  return numbersOfEntra(description).some((number) => FINAL_OF_ENTRA.has(number));
}

function numbersOfEntra(description: string): number[] {
  return [...description.matchAll(/\bAADSTS(\d+)\b/g)].map(([, number]) => Number(number));
}

function said(words: readonly RegExp[], description: string): boolean {
  return words.some((each) => each.test(description));
}

/** Classifies an OAuth error code, with the description for ambiguous codes; null for an unknown code. */
export function classOfError(code: string, description: string): ErrorClass | null {
  const described =
    code === 'invalid_grant' ? GRANT_DESCRIPTIONS.find(([words]) => words.test(description)) : undefined;
  return described?.[1] ?? CLASSES.get(code) ?? null;
}

/** Returns the step for an administrator before a new authorization helps, or null. */
export function neededFirst(reason: string | null): Message | null {
  const first = SET_RIGHT_FIRST.find((code) => code === reason);
  return first === undefined ? null : message(`oauth.${first}.first`);
}
