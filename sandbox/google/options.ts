/** How list pages come: `empty` puts an empty page before each full one, `short` fills each only by half. */
export type PageShape = 'full' | 'empty' | 'short';

/** An OAuth client of the sandbox. `web` needs its exact redirect URIs; `desktop` takes any loopback port (RFC 8252). */
export interface OAuthClient {
  clientId: string;
  clientSecret: string;
  type: 'desktop' | 'web';
  redirectUris: string[];
  /** Shares the per-project quota, and the calendars of the scope calendar.app.created. */
  project: string;
}

/** Options of a sandbox. Each default is the vendor's published behaviour. */
export interface GoogleSandboxOptions {
  /** 0, the default, takes a free one. */
  port?: number;
  /** Seeds shuffled batch answers and fault rates. */
  seed?: number;
  /** Epoch ms; a test that must not wait for quota windows or expiry passes its own. */
  now?: () => number;
  /** OAuth clients; default: one desktop client `sandbox-client` with secret `sandbox-secret`. */
  clients?: Partial<OAuthClient>[];
  /** Zone of new accounts' primary calendars. */
  timeZone?: string;
  /** Calls in one batch; the guide said 50, later copies 1,000. */
  maxBatchSize?: number;
  /** Units per sliding minute; the real defaults of projects created since May 2026 are 10,000 and 600. */
  quotaPerProjectPerMinute?: number;
  quotaPerUserPerMinute?: number;
  /** The status of rate errors. */
  rateLimitStatus?: 403 | 429;
  /** The unpublished limit on quick successive writes to one calendar; off by default. */
  calendarWritesPerSecond?: number;
  /** New calendars per account and day before the use limit. */
  newCalendarsPerDay?: number;
  pageShape?: PageShape;
  /** What a PUT without `sequence` says: the stored number, or 0, which is refused after a move. Practitioners report both. */
  absentSequence?: 'kept' | 'zero';
  accessTokenLifetimeMs?: number;
  /** When set, refresh tokens die after it and token answers carry refresh_token_expires_in. */
  refreshTokenLifetimeMs?: number;
  syncTokenLifetimeMs?: number;
  /** How far back updatedMin may lie. */
  updatedMinHorizonMs?: number;
  /** Domains of Google Workspace: id tokens of their accounts carry `hd`. Accounts of other domains are private ones. */
  workspaceDomains?: string[];
  /** The OpenID documents contain Google's own URLs, for clients behind a proxy to the sandbox. */
  namesGoogle?: boolean;
}

/** The options with every default filled in; changes while the sandbox runs. */
export type Settings = Required<Omit<GoogleSandboxOptions, 'clients' | 'refreshTokenLifetimeMs'>> & {
  clients: OAuthClient[];
  refreshTokenLifetimeMs: number | undefined;
};

const DAY_MS = 86_400_000;

/** The Cloud project of clients that name none, and of service accounts. */
export const DEFAULT_PROJECT = 'sandbox-project';

/** The options with the vendor's published defaults filled in. */
export function toSettings(options: GoogleSandboxOptions): Settings {
  const { clients, refreshTokenLifetimeMs, ...given } = options;
  return {
    port: 0,
    seed: 1,
    now: Date.now,
    timeZone: 'UTC',
    maxBatchSize: 50,
    quotaPerProjectPerMinute: 10_000,
    quotaPerUserPerMinute: 600,
    rateLimitStatus: 403,
    calendarWritesPerSecond: Number.POSITIVE_INFINITY,
    newCalendarsPerDay: 60,
    pageShape: 'full',
    absentSequence: 'kept',
    accessTokenLifetimeMs: 3_599_000,
    syncTokenLifetimeMs: 28 * DAY_MS,
    updatedMinHorizonMs: 28 * DAY_MS,
    workspaceDomains: [],
    namesGoogle: false,
    ...given,
    refreshTokenLifetimeMs,
    clients: (clients ?? [{}]).map(toClient),
  };
}

function toClient(client: Partial<OAuthClient>): OAuthClient {
  return {
    clientId: 'sandbox-client',
    clientSecret: 'sandbox-secret',
    type: 'desktop',
    redirectUris: [],
    project: DEFAULT_PROJECT,
    ...client,
  };
}
