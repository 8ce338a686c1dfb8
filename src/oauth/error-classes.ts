import { type Message, message } from '../messages/message.ts';
import type { Actor, Retry } from '../model/errors.ts';

/** What an error is to us: who must act, and what to do. */
export interface ErrorClass {
  actor: Actor;
  code: string;
  retry: Retry;
  /** Where `messages/` has none by the code. */
  message?: Message;
  remedy?: Message;
}

const LOG_IN_AGAIN = message('log-in-again', { command: 'clinic-mirror login' });
/** The refresh token is worth nothing any more. */
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
/** Who asks is not accepted. */
export const CLIENT_REJECTED: ErrorClass = { actor: 'settings', code: 'client-rejected', retry: 'never' };
const CLIENT_NOT_ALLOWED: ErrorClass = { actor: 'settings', code: 'client-not-allowed', retry: 'never' };
const SCOPE_REJECTED: ErrorClass = { actor: 'settings', code: 'scope-rejected', retry: 'never' };
/** Nothing was decided. */
export const ENDPOINT_AWAY: ErrorClass = { actor: 'remote', code: 'token-endpoint-unavailable', retry: 'later' };

/** Reasons that an administrator must set right before a new login is of use. */
const SET_RIGHT_FIRST = ['account-inactive', 'address-restricted', 'application-not-approved'] as const;

function administratorFirst(code: string & (typeof SET_RIGHT_FIRST)[number]): ErrorClass {
  const remedy = message('oauth.first-then', { first: message(`oauth.${code}.first`), next: LOG_IN_AGAIN });
  return { actor: 'authorization', code, retry: 'never', remedy };
}

const ACCOUNT_INACTIVE = administratorFirst('account-inactive');
const ADDRESS_RESTRICTED = administratorFirst('address-restricted');
const APPLICATION_NOT_APPROVED = administratorFirst('application-not-approved');

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
  // Google's, without a description: https://github.com/googleapis/google-auth-library-python/pull/368
  ['internal_failure', ENDPOINT_AWAY],
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
 * Numbers of Entra for failures that pass: the answer says nothing of the login.
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes (names and descriptions of these numbers)
 */
const PASSING_OF_ENTRA: ReadonlyMap<number, string> = new Map([
  [40010, 'OAuth2IdPRetryableServerError'],
  [50033, 'RetryableError'],
  [50087, 'SasRetryableError'],
  [50166, 'ExternalClaimsProviderThrottled'],
  // Too many of the same request in a short time.
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
 * Numbers of Entra that name what a person must do: a second try changes nothing. A number with several causes, such as 70000 or 50053,
 * is in neither table.
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
  // A token of a single-page application, at the end of its fixed life: the name is our own.
  [700084, 'ExpiredSinglePageAppToken'],
]);

/** Descriptions of other vendors with which a refresh is refused for a reason that passes, whatever the error code. */
const PASSING: readonly RegExp[] = [
  /**
   * Salesforce, while the refresh before is still carried out.
   * @see https://help.salesforce.com/s/articleView?id=release-notes.rn_security_refresh_token_requests.htm&release=250
   */
  /\btoken request is already being processed\b/i,
  // The same in the older words of Salesforce: its page on errors of OAuth has them for codes alone, and a refresh sends none.
  /^expired authorization code$/i,
  /**
   * Google, as its own client library tries again.
   * @see https://github.com/googleapis/google-auth-library-python/blob/main/google/oauth2/_client.py
   */
  /\b(internal[ _](error|failure)|server[ _]error|temporarily[ _]unavailable)\b/i,
  // Words of servers in general: neither HubSpot nor any other vendor lists those of a failed refresh.
  /\b(backend error|try again later|rate limit|too many requests)\b/i,
];

/** Whether a refused refresh says by its description that the refusal passes. */
export function isPassing(description: string): boolean {
  return numbersOfEntra(description).some((number) => PASSING_OF_ENTRA.has(number)) || said(PASSING, description);
}

/** Whether the words of a refusal leave no doubt that a person must act. */
export function isFinal(description: string): boolean {
  return numbersOfEntra(description).some((number) => FINAL_OF_ENTRA.has(number));
}

function numbersOfEntra(description: string): number[] {
  return [...description.matchAll(/\bAADSTS(\d+)\b/g)].map(([, number]) => Number(number));
}

function said(words: readonly RegExp[], description: string): boolean {
  return words.some((each) => each.test(description));
}

/** What an OAuth error code is to us, told apart by its description where the code says too little; null when it is unknown. */
export function classOfError(code: string, description: string): ErrorClass | null {
  const described =
    code === 'invalid_grant' ? GRANT_DESCRIPTIONS.find(([words]) => words.test(description)) : undefined;
  return described?.[1] ?? CLASSES.get(code) ?? null;
}

/** What an administrator must do before a new login is of use; null when the reason needs none. */
export function neededFirst(reason: string | null): Message | null {
  const first = SET_RIGHT_FIRST.find((code) => code === reason);
  return first === undefined ? null : message(`oauth.${first}.first`);
}
