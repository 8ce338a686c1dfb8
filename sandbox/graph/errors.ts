import { randomUUID } from 'node:crypto';

/** The error body of Microsoft Graph (learn.microsoft.com/graph/errors). */
export interface GraphErrorBody {
  error: {
    code: string;
    message: string;
    innerError: { date: string; 'request-id': string; 'client-request-id': string };
    [annotation: `@${string}`]: string;
  };
}

/** What is wrong with a call: status and code as the vendor words them. Becomes a GraphErrorBody on the wire. */
export class GraphError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;
  readonly annotations: Record<`@${string}`, string>;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { headers?: Record<string, string>; annotations?: Record<`@${string}`, string> } = {},
  ) {
    super(message);
    this.name = 'GraphError';
    this.status = status;
    this.code = code;
    this.headers = more.headers ?? {};
    this.annotations = more.annotations ?? {};
  }

  toBody(): GraphErrorBody {
    const id = randomUUID();
    const innerError = { date: new Date().toISOString().slice(0, 19), 'request-id': id, 'client-request-id': id };
    return { error: { code: this.code, message: this.message, innerError, ...this.annotations } };
  }
}

/** 400: the request can't be read: unknown field, wrong type, bad query. The message never repeats a value. */
export function invalidRequest(message: string): GraphError {
  return new GraphError(400, 'ErrorInvalidRequest', message);
}

/** 400: a value is none of the allowed ones, or values contradict each other. */
export function invalidProperty(message: string): GraphError {
  return new GraphError(400, 'ErrorPropertyValidationFailure', `At least one property failed validation. ${message}`);
}

/** Returns the error for a request that the real API may accept and the sandbox does not imitate. The message names the missing feature. */
export function notInSandbox(what: string): GraphError {
  return new GraphError(400, 'SandboxNotImplemented', `The sandbox does not do ${what}.`);
}

/** 404: the mailbox has no event or calendar with this id, or the event is in Deleted Items. */
export function itemNotFound(): GraphError {
  return new GraphError(404, 'ErrorItemNotFound', 'The specified object was not found in the store.');
}

/** 404: the user or the path does not exist. */
export function resourceNotFound(): GraphError {
  return new GraphError(404, 'ResourceNotFound', 'Resource could not be discovered.');
}

/** 400: the id isn't one that this server makes. */
export function malformedId(): GraphError {
  return new GraphError(400, 'ErrorInvalidIdMalformed', 'Id is malformed.');
}

/** 403: the token doesn't reach this mailbox, or not for writing. */
export function accessDenied(): GraphError {
  return new GraphError(403, 'ErrorAccessDenied', 'Access is denied. Check credentials and try again.');
}

/** 412: the item was changed meanwhile. */
export function irresolvableConflict(): GraphError {
  const message =
    'The send or update operation could not be performed because the change key passed in the request does not match ' +
    'the current change key for the item.';
  return new GraphError(412, 'ErrorIrresolvableConflict', message);
}

/** 429 (or 503): too much; `retryAfterS` goes into Retry-After. */
export function throttled(message: string, retryAfterS: number, status: 429 | 503 = 429): GraphError {
  return new GraphError(status, 'ApplicationThrottled', message, { headers: { 'retry-after': String(retryAfterS) } });
}

const CODES: Record<number, string> = {
  400: 'ErrorInvalidRequest',
  401: 'InvalidAuthenticationToken',
  403: 'ErrorAccessDenied',
  404: 'ErrorItemNotFound',
  409: 'Conflict',
  410: 'ResyncRequired',
  412: 'ErrorIrresolvableConflict',
  423: 'ResourceLocked',
  424: 'FailedDependency',
  429: 'ApplicationThrottled',
  500: 'InternalServerError',
  503: 'ServerBusy',
  504: 'GatewayTimeout',
  507: 'InsufficientStorage',
};

/** Returns the body of an injected status for a fault without a body. */
export function bodyOfStatus(status: number): GraphErrorBody {
  return new GraphError(status, CODES[status] ?? 'UnknownError', 'Fault injected by the sandbox.').toBody();
}
