/** An error answer of the OAuth endpoints (RFC 6749 §5.2, with the vendor's descriptions and subtypes). */
export class OAuthError extends Error {
  readonly status: number;
  readonly error: string;
  readonly subtype: string | undefined;

  constructor(status: number, error: string, description: string, subtype?: string) {
    super(description);
    this.name = 'OAuthError';
    this.status = status;
    this.error = error;
    this.subtype = subtype;
  }

  toBody(): object {
    return { error: this.error, error_description: this.message, error_subtype: this.subtype };
  }
}

/** 400: the code, token or assertion is worth nothing; a person must log in again. */
export function invalidGrant(description = 'Token has been expired or revoked.'): OAuthError {
  return new OAuthError(400, 'invalid_grant', description);
}
