/** One error in Salesforce's list of errors: the code, a message, and the fields concerned. */
export interface ErrorLine {
  errorCode: string;
  message: string;
  fields?: string[];
}

/** Refusal of a whole request with the vendor's status and code. The body is a list, as in the vendor's answers. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: string[] | undefined;

  constructor(status: number, code: string, message: string, fields?: string[]) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.fields = fields;
  }

  toBody(): ErrorLine[] {
    const line = { message: this.message, errorCode: this.code };
    return [this.fields === undefined ? line : { ...line, fields: this.fields }];
  }
}

/**
 * Refusal of one row; the other rows of a collection are still processed. The codes are the StatusCodes of the SOAP API. Messages repeat
 * values where the vendor's messages do, so that tests detect a client that logs values.
 */
export class RowFailure extends Error {
  readonly statusCode: string;
  readonly fields: string[];

  constructor(statusCode: string, message: string, fields: string[] = []) {
    super(message);
    this.name = 'RowFailure';
    this.statusCode = statusCode;
    this.fields = fields;
  }

  /** Returns the same failure for a call with a single row. */
  toApiError(): ApiError {
    const status = GONE_CODES.has(this.statusCode) ? 404 : 400;
    return new ApiError(status, this.statusCode, this.message, this.fields);
  }
}

const GONE_CODES: ReadonlySet<string> = new Set(['ENTITY_IS_DELETED', 'NOT_FOUND']);

/** Returns a 404 for an unknown object, record or path. */
export function notFound(message = 'The requested resource does not exist'): ApiError {
  return new ApiError(404, 'NOT_FOUND', message);
}

/** 400: the field is unknown or hidden from the user's profile. The whole request is refused. */
export function noSuchField(field: string, object: string): ApiError {
  return new ApiError(400, 'INVALID_FIELD', `No such column '${field}' on sobject of type ${object}`);
}

/** 400: the body is not valid JSON for the resource. */
export function malformedBody(message: string): ApiError {
  return new ApiError(400, 'JSON_PARSER_ERROR', message);
}

/** Failure for a record in the recycle bin, deleted or merged. */
export function entityIsDeleted(): RowFailure {
  return new RowFailure('ENTITY_IS_DELETED', 'entity is deleted');
}

/** Failure of a valid row because another row of an allOrNone request failed. */
export function rolledBack(): RowFailure {
  const message = 'Record rolled back because not all records were valid and the request was using AllOrNone header';
  return new RowFailure('ALL_OR_NONE_OPERATION_ROLLED_BACK', message);
}

const CODES: Record<number, [code: string, message: string]> = {
  401: ['INVALID_SESSION_ID', 'Session expired or invalid'],
  403: ['REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.'],
  404: ['NOT_FOUND', 'The requested resource does not exist'],
  410: ['UNSUPPORTED_API_VERSION', 'The requested API version is retired.'],
  500: ['UNKNOWN_EXCEPTION', 'An unexpected error occurred.'],
  503: ['SERVER_UNAVAILABLE', 'The server is currently unavailable.'],
};

/** Returns the default body of an injected status. */
export function bodyOfStatus(status: number): ErrorLine[] {
  const [code, message] = CODES[status] ?? ['UNKNOWN_EXCEPTION', 'Fault injected by the sandbox.'];
  return new ApiError(status, code, message).toBody();
}
