import { randomUUID } from 'node:crypto';

/** An error answer of the token endpoint (RFC 6749 section 5.2, with Entra's code and suberror). */
export class OAuthError extends Error {
  readonly status: number;
  readonly error: string;
  /** The number after AADSTS. */
  readonly code: number;
  readonly suberror: string | undefined;

  constructor(status: number, error: string, code: number, description: string, suberror?: string) {
    super(description);
    this.name = 'OAuthError';
    this.status = status;
    this.error = error;
    this.code = code;
    this.suberror = suberror;
  }

  toBody(): object {
    const traceId = randomUUID();
    return {
      error: this.error,
      error_description: `AADSTS${this.code}: ${this.message} Trace ID: ${traceId}`,
      error_codes: [this.code],
      timestamp: new Date().toISOString(),
      trace_id: traceId,
      correlation_id: randomUUID(),
      ...(this.suberror === undefined ? {} : { suberror: this.suberror }),
    };
  }
}

/** 400: the code or token is worth nothing; a person must log in again. */
export function invalidGrant(code: number, description: string, suberror?: string): OAuthError {
  return new OAuthError(400, 'invalid_grant', code, description, suberror);
}
