/** One field that was wrong, for 400 and 422 answers. */
export interface FieldError {
  field: string;
  message: string;
}

/** An answer that refuses: its HTTP status and the body `{error, message, details?}`. */
export class ClinicError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { details?: FieldError[]; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.name = 'ClinicError';
    this.status = status;
    this.code = code;
    this.details = more.details;
    this.headers = more.headers ?? {};
  }

  /** The body as it goes over the wire. */
  toBody(): { error: string; message: string; details?: readonly FieldError[] } {
    const body = { error: this.code, message: this.message };
    return this.details === undefined ? body : { ...body, details: this.details };
  }
}

/** 404: absent, or another tenant's. */
export function notFound(what: string): ClinicError {
  return new ClinicError(404, 'not_found', `No such ${what}`);
}

/** 409: the state changed meanwhile, or does not allow this. */
export function conflict(code: string, message: string): ClinicError {
  return new ClinicError(409, code, message);
}

/** 400: the shape is wrong. */
export function badRequest(details: FieldError[]): ClinicError {
  return new ClinicError(400, 'invalid_request', 'The request is malformed', { details });
}

/** 422: the shape is right, a business rule says no. */
export function ruleBroken(field: string, message: string): ClinicError {
  return new ClinicError(422, 'rule_violated', message, { details: [{ field, message }] });
}
