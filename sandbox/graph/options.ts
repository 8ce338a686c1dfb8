/** An app registration. With a secret or a certificate it is confidential; without either it is public and must use PKCE. */
export interface Application {
  clientId: string;
  clientSecret: string | undefined;
  /** PEM certificates whose keys may sign client assertions. */
  certificates: string[];
  /** Matched exactly; plain http on loopback is always allowed, with any port (RFC 8252 section 7.3). */
  redirectUris: string[];
  /** Application permissions that an administrator has agreed to. */
  roles: string[];
  /** The mailboxes (email addresses) that app-only tokens reach; `all` unless RBAC for Applications limits them. */
  mailboxes: string[] | 'all';
}

/** Options of a sandbox. Each default is the vendor's published behaviour. */
export interface GraphSandboxOptions {
  /** 0, the default, takes a free one. */
  port?: number;
  /** Seeds shuffled batch answers, token lives and fault rates. */
  seed?: number;
  /** Epoch ms; a test that must not wait for windows or expiry passes its own. */
  now?: () => number;
  tenantId?: string;
  /** Default: one confidential application `sandbox-client` with secret `sandbox-secret`. */
  applications?: Partial<Application>[];
  /** Requests in one batch. */
  maxBatchSize?: number;
  /** Requests at one mailbox that may run at once; more are refused. */
  mailboxConcurrency?: number;
  concurrencyStatus?: 429 | 503;
  /** How long each request at a mailbox takes, inner ones too; overlapping needs time. */
  latencyMs?: number;
  /** Requests per application and mailbox in a sliding window. */
  requestsPerWindow?: number;
  windowMs?: number;
  /** The real service answered both. The default alternates between them. */
  duplicateTransactionStatus?: 400 | 409 | 'alternating';
  /** Puts `@event.existingEventId` into the error. */
  duplicateNamesEvent?: boolean;
  /** A transactionId stays used after its event was deleted. */
  rememberTransactionIds?: boolean;
  /**
   * Answer to an equal request with a used transactionId: a refusal like for any other request, or 201 with the first event, deleted or
   * not.
   */
  repeatedTransaction?: 'refused' | 'answered';
  /** Clouds of the US Government lack `permanentDelete`. */
  permanentDelete?: boolean;
  /** Parts of a batch over the mailbox's concurrency limit: wait for each other, or are refused. */
  batchOverflow?: 'queued' | 'refused';
  /** Bodies come back as Exchange stores them: wrapped in HTML, lines ended by CRLF. */
  normalizeBodies?: boolean;
  /** originalStartTimeZone is always `tzone://Microsoft/Custom`. */
  customTimeZones?: boolean;
  /** Zones that are taken for none, by the names that clients give: the pages of the API list some IANA names and not others. */
  refusedZones?: readonly string[];
  /** How all-day events read in another zone: still at midnight there, or at the shifted instant. */
  allDayReads?: 'midnight' | 'shifted';
  /** Applied when isReminderOn is left out. */
  defaultReminderMinutes?: number;
  /** Items on a delta page when the client names no size. */
  deltaPageSize?: number;
  /** Delta pages repeat items of earlier pages. */
  deltaReplays?: boolean;
  maxSubscriptionMinutes?: number;
  handshakeTimeoutMs?: number;
  /** Default: each token lives 60 to 90 minutes, at random. */
  accessTokenLifetimeMs?: number;
  refreshTokenLifetimeMs?: number;
  deviceCodeLifetimeMs?: number;
  devicePollIntervalS?: number;
}

/** The options that cannot change after startup. */
export type FixedOption = 'port' | 'seed' | 'now' | 'tenantId' | 'applications';

/** The options with every default filled in; changes while the sandbox runs. */
export type Settings = Required<Omit<GraphSandboxOptions, 'applications' | 'accessTokenLifetimeMs'>> & {
  applications: Application[];
  accessTokenLifetimeMs: number | undefined;
};

const DAY_MS = 86_400_000;

/** The options with the vendor's published defaults filled in. */
export function toSettings(options: GraphSandboxOptions): Settings {
  const { applications, accessTokenLifetimeMs, ...given } = options;
  return {
    port: 0,
    seed: 1,
    now: Date.now,
    tenantId: '3f6c1f0e-8d5b-4c39-9a55-0b1d2c7e4f10',
    maxBatchSize: 20,
    mailboxConcurrency: 4,
    concurrencyStatus: 429,
    latencyMs: 0,
    requestsPerWindow: 10_000,
    windowMs: 600_000,
    duplicateTransactionStatus: 'alternating',
    duplicateNamesEvent: false,
    rememberTransactionIds: true,
    repeatedTransaction: 'refused',
    permanentDelete: true,
    batchOverflow: 'queued',
    normalizeBodies: true,
    customTimeZones: false,
    refusedZones: [],
    allDayReads: 'midnight',
    defaultReminderMinutes: 15,
    deltaPageSize: 10,
    deltaReplays: false,
    maxSubscriptionMinutes: 10_080,
    handshakeTimeoutMs: 10_000,
    refreshTokenLifetimeMs: 90 * DAY_MS,
    deviceCodeLifetimeMs: 900_000,
    devicePollIntervalS: 5,
    ...given,
    accessTokenLifetimeMs,
    applications: (applications ?? [{ clientSecret: 'sandbox-secret' }]).map(toApplication),
  };
}

function toApplication(application: Partial<Application>): Application {
  return {
    clientId: 'sandbox-client',
    clientSecret: undefined,
    certificates: [],
    redirectUris: [],
    roles: ['Calendars.ReadWrite'],
    mailboxes: 'all',
    ...application,
  };
}
