/** The error body of Google's JSON APIs (developers.google.com/workspace/calendar/api/guides/errors). */
export interface GoogleErrorBody {
  error: {
    errors: { domain: string; reason: string; message: string; locationType?: string; location?: string }[];
    code: number;
    message: string;
  };
}

/** What is wrong with a call: status, domain and reason as the vendor words them. Becomes a GoogleErrorBody on the wire. */
export class ApiError extends Error {
  readonly status: number;
  readonly domain: string;
  readonly reason: string;
  readonly location: string | undefined;
  readonly locationType: string | undefined;

  constructor(
    status: number,
    reason: string,
    message: string,
    detail: { domain?: string; location?: string; locationType?: 'header' | 'parameter' } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    this.domain = detail.domain ?? 'global';
    this.location = detail.location;
    this.locationType = detail.locationType;
  }

  toBody(): GoogleErrorBody {
    const { domain, reason, message, location, locationType } = this;
    const place = location === undefined || locationType === undefined ? {} : { locationType, location };
    return { error: { errors: [{ domain, reason, message, ...place }], code: this.status, message } };
  }
}

/** 400: a value is wrong. The message never repeats it. */
export function invalid(message: string, location?: string): ApiError {
  return new ApiError(400, 'invalid', message, location === undefined ? {} : { location, locationType: 'parameter' });
}

/** Returns the error for a request that the real API may accept and the sandbox does not imitate. The message names the missing feature. */
export function notInSandbox(what: string): ApiError {
  return new ApiError(400, 'notImplemented', `The sandbox does not do ${what}.`, { domain: 'sandbox' });
}

/** 400: something is missing. */
export function required(message: string): ApiError {
  return new ApiError(400, 'required', message);
}

/** 404: the object never existed, or the caller has no permission to learn of its existence. */
export function notFound(): ApiError {
  return new ApiError(404, 'notFound', 'Not Found');
}

/** 401: the token is unknown, expired or revoked. */
export function authError(): ApiError {
  return new ApiError(401, 'authError', 'Invalid Credentials', { location: 'Authorization', locationType: 'header' });
}

/** 403: the token's scopes don't reach. */
export function insufficientPermissions(): ApiError {
  return new ApiError(403, 'insufficientPermissions', 'Request had insufficient authentication scopes.');
}

/** 403: the caller's role in the calendar is too low. */
export function requiredAccessLevel(role: 'reader' | 'writer' | 'owner'): ApiError {
  const message = `You need to have ${role} access to this calendar.`;
  return new ApiError(403, 'requiredAccessLevel', message, { domain: 'calendar' });
}

/** 409: the id is taken, perhaps by a deleted event. */
export function duplicate(): ApiError {
  return new ApiError(409, 'duplicate', 'The requested identifier already exists.');
}

/** 412: If-Match names another version. */
export function conditionNotMet(): ApiError {
  return new ApiError(412, 'conditionNotMet', 'Precondition Failed', { location: 'If-Match', locationType: 'header' });
}

/** 410: the sync token is dead. */
export function fullSyncRequired(): ApiError {
  const message = 'Sync token is no longer valid, a full sync is required.';
  return new ApiError(410, 'fullSyncRequired', message, {
    domain: 'calendar',
    location: 'syncToken',
    locationType: 'parameter',
  });
}

/** 403 or 429 with the same reason: the vendor uses both. */
export function rateLimited(reason: 'rateLimitExceeded' | 'userRateLimitExceeded', status: 403 | 429): ApiError {
  const message = reason === 'rateLimitExceeded' ? 'Rate Limit Exceeded' : 'User Rate Limit Exceeded';
  return new ApiError(status, reason, message, { domain: 'usageLimits' });
}

/** A calendar use limit, which is not an API quota and lasts for hours or longer. */
export function quotaExceeded(): ApiError {
  return new ApiError(403, 'quotaExceeded', 'Calendar usage limits exceeded.', { domain: 'usageLimits' });
}

/** Returns the body of an injected status for a fault without a body. */
export function bodyOfStatus(status: number): GoogleErrorBody {
  const reasons: Record<number, [reason: string, message: string, domain?: string]> = {
    400: ['badRequest', 'Bad Request'],
    401: ['authError', 'Invalid Credentials'],
    403: ['forbidden', 'Forbidden'],
    404: ['notFound', 'Not Found'],
    409: ['conflict', 'Conflict'],
    410: ['deleted', 'Resource has been deleted'],
    412: ['conditionNotMet', 'Precondition Failed'],
    429: ['rateLimitExceeded', 'Rate Limit Exceeded', 'usageLimits'],
  };
  const [reason, message, domain] = reasons[status] ?? ['backendError', 'Backend Error'];
  return new ApiError(status, reason, message, domain === undefined ? {} : { domain }).toBody();
}
