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
  /** 0, the default, takes a free one. */
  port?: number;
  /** Seeds shuffled rows and fault rates. */
  seed?: number;
  /** Epoch ms; a test that must not wait for windows or expiry passes its own. */
  now?: () => number;
  /** The one account (portal) that the sandbox is. */
  portalId?: number;
  /** Default: one app `sandbox-client` with secret `sandbox-secret`. */
  applications?: Partial<Application>[];
  /** IANA zone of the account; the daily limit begins again at its midnight. */
  timeZone?: string;
  /** Calls in ten seconds of an app that was installed by OAuth. */
  tenSecondlyOAuth?: number;
  /** Calls in ten seconds of a private app: 100 (Free, Starter) or 190. */
  tenSecondlyPrivate?: number;
  /** Calls in a day of all private apps together; apps by OAuth have no published one. */
  dailyPrivate?: number;
  /** Calls in a day of all apps by OAuth; none is published. */
  dailyOAuth?: number;
  /** Search calls in a second, of the whole account. */
  searchesPerSecond?: number;
  /** Sends Retry-After with 429, which the vendor doesn't document. */
  retryAfterOn429?: boolean;
  /** Rows that may be upserted in a second before an object type is locked for two; the vendor publishes none. */
  rowsBeforeLock?: number;
  /** How long a write is invisible to search. */
  searchLagMs?: number;
  /** Most results that one query can be paged through. */
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
  /** Whether users who connect an app by OAuth are allowed to associate records; version 2026-09 requires this permission. */
  editAssociations?: boolean;
  /** The account has switched on data privacy: a legal basis and its explanation are needed for each status of a subscription. */
  dataPrivacy?: boolean;
  /** Rows are answered in another order than they were sent. */
  shuffleRows?: boolean;
  /** What the unique value of a contact that was merged away finds: nothing any more, or the winner. */
  mergedKeys?: 'nothing' | 'winner';
  /** The account has switched on sensitive data (Enterprise). */
  sensitiveData?: boolean;
  accessTokenLifetimeMs?: number;
  /** Each refresh brings a new refresh token and ends the old one. */
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
