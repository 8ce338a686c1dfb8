import { randomUUID } from 'node:crypto';

/** One line of `errors` in an error body (developers.hubspot.com, error handling). */
export interface ErrorDetail {
  message: string;
  code?: string;
  context?: Record<string, string[]>;
}

/** Further content of an error body, in addition to status, category and message. */
export interface ErrorDetails {
  errors?: ErrorDetail[];
  context?: Record<string, string[]>;
  subCategory?: string;
  headers?: Record<string, string>;
  /** Further fields of the body, for example of a 429. */
  fields?: Record<string, unknown>;
}

/** Error of a call or of a row in a batch. `category` is undefined if the vendor's body has no category. */
export class HubSpotError extends Error {
  readonly status: number;
  readonly category: string | undefined;
  readonly details: ErrorDetails;

  constructor(status: number, category: string | undefined, message: string, details: ErrorDetails = {}) {
    super(message);
    this.name = 'HubSpotError';
    this.status = status;
    this.category = category;
    this.details = details;
  }

  /** Returns the body of an answer that consists of this error. */
  toBody(): Record<string, unknown> {
    return { ...this.#common(), correlationId: randomUUID(), ...this.details.fields };
  }

  /** Returns one element of `errors` in a 207; `context` identifies the row. */
  toRow(context: Record<string, string[]>): Record<string, unknown> {
    return { ...this.#common(), context: { ...context, ...this.details.context } };
  }

  #common(): Record<string, unknown> {
    const { errors, context, subCategory } = this.details;
    return {
      status: 'error',
      message: this.message,
      ...(errors === undefined ? {} : { errors }),
      ...(context === undefined ? {} : { context }),
      ...(subCategory === undefined ? {} : { subCategory }),
      ...(this.category === undefined ? {} : { category: this.category }),
    };
  }
}

/** 400: the endpoint does not accept the request. */
export function invalidInput(message: string, details: ErrorDetails = {}): HubSpotError {
  return new HubSpotError(400, 'VALIDATION_ERROR', message, details);
}

/** 404 for an id that names no record. */
export function notFound(): HubSpotError {
  return new HubSpotError(404, undefined, 'resource not found');
}

/** Error of a batch row with an unknown id; the batch answers 207. */
export function rowNotFound(label: string): HubSpotError {
  const message = `Could not get some ${label} objects, they may be deleted or not exist. Check that ids are valid.`;
  return new HubSpotError(404, 'OBJECT_NOT_FOUND', message);
}

/** 409: an e-mail address belongs to another contact. Integrations read the contact's id from the message. */
export function contactExists(id: string): HubSpotError {
  const context = { existingId: [id] };
  return new HubSpotError(409, 'CONFLICT', `Contact already exists. Existing ID: ${id}`, { context });
}

/** 403: the token lacks a scope. */
export function missingScopes(scopes: readonly string[]): HubSpotError {
  const message =
    "This app hasn't been granted all required scopes to make this call. Read more about required scopes here: " +
    'https://developers.hubspot.com/scopes.';
  const context = { requiredGranularScopes: [...scopes] };
  return new HubSpotError(403, 'MISSING_SCOPES', message, {
    errors: [{ message: 'One or more of the following scopes are required.', context }],
    fields: { links: { scopes: 'https://developers.hubspot.com/scopes' } },
  });
}

const CATEGORIES: Record<number, string> = {
  400: 'VALIDATION_ERROR',
  401: 'INVALID_AUTHENTICATION',
  403: 'MISSING_SCOPES',
  404: 'OBJECT_NOT_FOUND',
  409: 'CONFLICT',
  429: 'RATE_LIMITS',
};

/** Returns the default body of an injected status. */
export function bodyOfStatus(status: number): Record<string, unknown> {
  return new HubSpotError(status, CATEGORIES[status], 'Fault injected by the sandbox.').toBody();
}
