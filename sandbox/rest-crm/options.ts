/** The CRMs that the sandbox can imitate. */
export const DIALECT_NAMES = ['espocrm', 'dolibarr', 'twenty', 'zoho'] as const;

/** One of {@link DIALECT_NAMES}. */
export type DialectName = (typeof DIALECT_NAMES)[number];

/** Options of a sandbox. All except the dialect have a default. */
export interface RestCrmSandboxOptions {
  dialect: DialectName;
  /** 0 selects a free port. */
  port?: number;
  seed?: number;
  now?: () => number;
  /** Requests in a minute before 429 with Retry-After; unlimited by default. */
  requestsPerMinute?: number;
  /** Dolibarr: whether a list without results is 404, as in older versions. Default true. */
  emptyListIs404?: boolean;
  /** Milliseconds until filters find a written record; 0 by default. A read by id and a list of all records have no delay. */
  searchLagMs?: number;
  /** Fields that the user of the connection may not write: values are passed over, as with EspoCRM's field-level permissions. None by default. */
  notWritable?: readonly string[];
}

/** The options with all defaults. */
export type Settings = Required<RestCrmSandboxOptions>;

/** Adds the defaults. */
export function toSettings(options: RestCrmSandboxOptions): Settings {
  return {
    port: 0,
    seed: 1,
    now: Date.now,
    requestsPerMinute: Number.POSITIVE_INFINITY,
    emptyListIs404: true,
    searchLagMs: 0,
    notWritable: [],
    ...options,
  };
}
