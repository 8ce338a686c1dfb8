/** A public app that accounts install by OAuth. */
export interface Application {
  clientId: string;
  clientSecret: string;
  /** Matched exactly; plain http on loopback is always allowed. */
  redirectUris: string[];
  /** Scopes that the app can request; `all` unless the app's settings limit them. */
  scopes: string[] | 'all';
}

/** Behaviour of a sandbox. The defaults are the values that the vendor publishes. */
export interface HubSpotSandboxOptions {
  /** The default 0 selects a free port. */
  port?: number;
  /** Seeds shuffled rows and fault rates. */
  seed?: number;
  /** Returns epoch ms. A test passes a fake clock to avoid waiting for limits or expiry. */
  now?: () => number;
  /** Id of the sandbox's only account (portal). */
  portalId?: number;
  /** Default: one app `sandbox-client` with secret `sandbox-secret`. */
  applications?: Partial<Application>[];
  /** IANA time zone of the account; the daily limit restarts at midnight in this zone. */
  timeZone?: string;
  /** Calls per ten seconds of an app installed by OAuth. */
  tenSecondlyOAuth?: number;
  /** Calls per ten seconds of a private app: 100 (Free, Starter) or 190. */
  tenSecondlyPrivate?: number;
  /** Calls per day of all private apps together. The vendor publishes no such limit for apps installed by OAuth. */
  dailyPrivate?: number;
  /** Calls per day of all apps installed by OAuth. The vendor publishes no limit. */
  dailyOAuth?: number;
  /** Search calls per second of the whole account. */
  searchesPerSecond?: number;
  /** Whether a 429 carries Retry-After, which the vendor does not document. */
  retryAfterOn429?: boolean;
  /** Rows per second that can be upserted before an object type is locked for two seconds. The vendor publishes no limit. */
  rowsBeforeLock?: number;
  /** Time for which a write is invisible to search. */
  searchLagMs?: number;
  /** Maximum number of results of one query over all pages. */
  searchDepth?: number;
  /**
   * Selects the batches that answer 207 for a bad row if every input carries objectWriteTraceId: all writes (as in the reference of the
   * calls), only creates (as in the guide to errors), or none.
   */
  rowErrors?: 'traced' | 'created' | 'never';
  /**
   * Behaviour of a unique property of meetings, which the vendor does not document: the property is refused, is created without enforcing
   * uniqueness, or works as for contacts.
   */
  meetingKeys?: 'refused' | 'unenforced' | 'unique';
  /** Whether a user with an OAuth connection is allowed to associate records; version 2026-09 requires this permission. */
  editAssociations?: boolean;
  /** The account has switched on data privacy: each subscription status requires a legal basis and an explanation. */
  dataPrivacy?: boolean;
  /** Rows of an answer are in a different order from the request. */
  shuffleRows?: boolean;
  /** Result of a search by the unique value of a merged contact: nothing, or the winner. */
  mergedKeys?: 'nothing' | 'winner';
  /** The account has switched on sensitive data (Enterprise). */
  sensitiveData?: boolean;
  accessTokenLifetimeMs?: number;
  /** Each refresh issues a new refresh token and revokes the old one. */
  rotateRefreshTokens?: boolean;
  /** Whether the new token endpoints add RFC 6749's `error` to the vendor's error body. The old endpoint never does. */
  oauthErrors?: 'standard' | 'vendor';
}

/** Options that cannot change after startup. */
export type FixedOption = 'port' | 'seed' | 'now' | 'portalId' | 'applications';

/** The options with every default filled in; changes while the sandbox runs. */
export type Settings = Required<Omit<HubSpotSandboxOptions, 'applications'>> & { applications: Application[] };

/** The options with the vendor's published defaults filled in (developers.hubspot.com, usage guidelines). */
export function toSettings({ applications, ...given }: HubSpotSandboxOptions): Settings {
  return {
    port: 0,
    seed: 1,
    now: Date.now,
    portalId: 48_250_713,
    timeZone: 'Europe/Zurich',
    tenSecondlyOAuth: 110,
    tenSecondlyPrivate: 100,
    dailyPrivate: 250_000,
    dailyOAuth: Number.POSITIVE_INFINITY,
    searchesPerSecond: 5,
    retryAfterOn429: false,
    rowsBeforeLock: Number.POSITIVE_INFINITY,
    searchLagMs: 3000,
    searchDepth: 10_000,
    rowErrors: 'traced',
    meetingKeys: 'refused',
    editAssociations: true,
    dataPrivacy: true,
    shuffleRows: true,
    mergedKeys: 'nothing',
    sensitiveData: false,
    accessTokenLifetimeMs: 1_800_000,
    rotateRefreshTokens: false,
    oauthErrors: 'standard',
    ...given,
    applications: (applications ?? [{}]).map(toApplication),
  };
}

function toApplication(application: Partial<Application>): Application {
  return {
    clientId: 'sandbox-client',
    clientSecret: 'sandbox-secret',
    redirectUris: [],
    scopes: 'all',
    ...application,
  };
}
