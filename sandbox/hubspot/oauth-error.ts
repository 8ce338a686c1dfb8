import { randomUUID } from 'node:crypto';

/** An error of the OAuth endpoints: RFC 6749 section 5.2, with the vendor's own `status` and `message` beside it. */
export class OAuthError extends Error {
  readonly error: string;
  /** The vendor's word, as `BAD_REFRESH_TOKEN`. */
  readonly code: string;
  readonly status: number;

  constructor(status: number, error: string, code: string, description: string) {
    super(description);
    this.name = 'OAuthError';
    this.status = status;
    this.error = error;
    this.code = code;
  }

  /** The body, with RFC 6749's words or without. */
  toBody(isStandard = true): object {
    const standard = isStandard ? { error: this.error, error_description: this.message } : {};
    return { status: this.code, message: this.message, correlationId: randomUUID(), ...standard };
  }
}

/** 400: the app was uninstalled, or the token never existed; a person must install it again. */
export function badRefreshToken(): OAuthError {
  return new OAuthError(400, 'invalid_grant', 'BAD_REFRESH_TOKEN', 'missing or invalid refresh token');
}

/** 400: the code is worth nothing. */
export function badAuthCode(): OAuthError {
  return new OAuthError(400, 'invalid_grant', 'BAD_AUTH_CODE', 'missing or unknown auth code');
}
