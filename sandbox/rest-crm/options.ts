/** The CRMs that the sandbox can speak as. */
export const DIALECT_NAMES = ['espocrm', 'dolibarr', 'twenty', 'zoho'] as const;

/** One of {@link DIALECT_NAMES}. */
export type DialectName = (typeof DIALECT_NAMES)[number];

/** What a sandbox is started with; everything but the dialect has a default. */
export interface RestCrmSandboxOptions {
  dialect: DialectName;
  /** 0 takes a free one. */
  port?: number;
  seed?: number;
  now?: () => number;
  /** Requests in a minute before 429 with Retry-After; without end by default. */
  requestsPerMinute?: number;
  /** Dolibarr: whether a list without results is 404, as in older versions. Default true. */
  emptyListIs404?: boolean;
  /** Milliseconds after which a written record is found by filters; 0 by default. Reading by id and listing all are never late. */
  searchLagMs?: number;
}

/** The options with all defaults. */
export type Settings = Required<RestCrmSandboxOptions>;

/** Puts in the defaults. */
export function toSettings(options: RestCrmSandboxOptions): Settings {
  return {
    port: 0,
    seed: 1,
    now: Date.now,
    requestsPerMinute: Number.POSITIVE_INFINITY,
    emptyListIs404: true,
    searchLagMs: 0,
    ...options,
  };
}
