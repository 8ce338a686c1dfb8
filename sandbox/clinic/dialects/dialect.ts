import type { Account } from '../authorization/accounts.ts';
import type { ListPage } from '../routes/list-page.ts';
import type { ClinicError } from '../rules/errors.ts';

/** The ways in which the sandbox can speak. */
export const DIALECT_NAMES = ['documented', 'bare', 'pages', 'hostile', 'numbers'] as const;

export type DialectName = (typeof DIALECT_NAMES)[number];

/** What a dialect takes: how the file comes and where its metadata are. */
export interface UploadStyle {
  multipart: boolean;
  base64: boolean;
  /** Name of the form's part or of the JSON's member that holds the file. */
  filePart: string;
  /** `part`: one part `metadata` with JSON; `fields`: one part per field. */
  metadata: 'part' | 'fields';
}

/** Parameters of a page: where it begins, and how many rows it has. */
export interface LinkNames {
  position: string;
  size: string;
}

/** An error as it goes over the wire; `html` is a page, no body at all is undefined. */
export interface ErrorAnswer {
  body: object | string | undefined;
  contentType: 'application/json' | 'application/problem+json' | 'text/html';
  headers: Readonly<Record<string, string>>;
}

/**
 * Translates between the routes, which use only the documented names, and the wire format. `resource` is the part of the path after the
 * tenant, or `availabilities` for both of its forms.
 */
export interface Dialect {
  name: DialectName;
  upload: UploadStyle;
  /** Appointment lists leave out cancelled ones. */
  hidesCancelled: boolean;
  /** Windows show the appointments that start in them; otherwise those that overlap them. */
  listsByStart: boolean;
  /** Lists link to further pages with a `Link` header (RFC 8288) and these parameters; undefined: the list contains its paging. */
  links: LinkNames | undefined;
  /** Writes answer without a body: 201 with Location for a new record, otherwise 204. */
  emptyWrites: boolean;
  /** Overrides how userinfo says that there are no tenants. */
  withoutTenants: Account['withoutTenants'] | undefined;
  /** A query in documented names. Throws ClinicError 400. */
  query(query: URLSearchParams, resource: string): URLSearchParams;
  /** Returns the requested rows. Throws ClinicError 400. */
  paging(query: URLSearchParams): { offset: number; limit: number };
  /** Whether to repeat the previous page in this page of a list; `list` identifies the list and its filters. */
  repeats(list: string): boolean;
  /** A page around rows that are already in this dialect's words. */
  list(page: ListPage, resource: string): unknown;
  /** A record, or anything else that a route answers, in this dialect's words. */
  record(value: unknown, resource: string): unknown;
  /** Wraps an answer that is not a list; `value` is already in the format of this dialect. */
  single(value: unknown, resource: string): unknown;
  /** A body in documented words; what is wrong in it is left for the routes to refuse. */
  body(value: unknown, resource: string): unknown;
  error(error: ClinicError): ErrorAnswer;
}
