/** An error answer of the OAuth endpoints (RFC 6749 section 5.2), in the vendor's words. */
export class OAuthError extends Error {
  readonly error: string;

  constructor(error: string, description: string) {
    super(description);
    this.name = 'OAuthError';
    this.error = error;
  }

  toBody(): { error: string; error_description: string } {
    return { error: this.error, error_description: this.message };
  }
}

/** The code, token or assertion is worth nothing; a person must look. */
export function invalidGrant(description = 'expired access/refresh token'): OAuthError {
  return new OAuthError('invalid_grant', description);
}
