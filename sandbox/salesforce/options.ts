import type { FieldOptions } from './fields.ts';

/** An external client app. */
export interface Application {
  clientId: string;
  /** Undefined for a public app. */
  clientSecret: string | undefined;
  /** PEM certificates whose keys are allowed to sign JWT bearer assertions. */
  certificates: string[];
  /** Matched exactly; plain http on loopback is allowed too. */
  redirectUris: string[];
  requirePkce: boolean;
  /** Each refresh issues a new refresh token and revokes the old one immediately. */
  rotateRefreshTokens: boolean;
  /** Time without use after which a refresh token expires; undefined: valid until revoked. */
  refreshTokenIdleMs: number | undefined;
  /** Time after sign-in at which a refresh token expires; 0: immediately. Undefined: valid until revoked. */
  refreshTokenLifetimeMs: number | undefined;
  /** The user of the client credentials flow; undefined: the flow is off. */
  runAs: string | undefined;
  /** Users that an administrator has approved, for JWT bearer. */
  approvedUsers: string[];
}

/** Behaviour of a sandbox. The defaults are the values that the vendor publishes. */
export interface SalesforceSandboxOptions {
  /** The default 0 selects a free port. */
  port?: number;
  /** Seeds fault rates. */
  seed?: number;
  /** Returns epoch ms. A test passes a fake clock to avoid waiting. */
  now?: () => number;
  /** Default: one application `sandbox-client` with secret `sandbox-secret`. */
  applications?: Partial<Application>[];
  /** By object; default: a unique external id `Clinic_Key__c` for each of the four objects. */
  customFields?: Record<string, FieldOptions[]>;
  /** Stores patients as Person Accounts. */
  personAccounts?: boolean;
  /** Whole numbers. */
  oldestVersion?: number;
  newestVersion?: number;
  retiredStatus?: 404 | 410;
  /** API calls of the whole org in 24 hours. */
  dailyApiCalls?: number;
  /** Number of long calls that can still start; 0: other integrations use all concurrent calls of the org. */
  concurrentCalls?: number;
  /** Duration of a write. Two overlapping writes block each other by locks, or create the same key twice. */
  writeMs?: number;
  /** Default page size of a query, in records. */
  queryPageSize?: number;
  /** An upsert by the key of a record in the recycle bin is refused instead of creating another record. */
  binKeepsKeys?: boolean;
  /** The API call `emptyRecycleBin` is refused, as for a user without this permission. */
  keepsBin?: boolean;
  lowercaseEmails?: boolean;
  /** Whether the default duplicate rule of a new org for contacts is active with the action `alert`; on by default. */
  standardDuplicateRules?: boolean;
  /** Time after the last use at which a session expires. */
  sessionTimeoutMs?: number;
  grantsPerUser?: number;
}

/** Options that cannot change after startup. */
export type FixedOption =
  | 'port'
  | 'seed'
  | 'now'
  | 'applications'
  | 'customFields'
  | 'personAccounts'
  | 'standardDuplicateRules';

/** The options with all defaults filled in; can change while the sandbox runs. */
export type Settings = Required<Omit<SalesforceSandboxOptions, 'applications'>> & { applications: Application[] };

const KEY: FieldOptions = { name: 'Clinic_Key__c', type: 'string', length: 64, externalId: true, unique: true };

/** Returns the options with the vendor's published defaults filled in. */
export function toSettings({ applications, ...given }: SalesforceSandboxOptions): Settings {
  return {
    port: 0,
    seed: 1,
    now: Date.now,
    customFields: { Contact: [KEY], Account: [KEY], Event: [KEY], Opportunity: [KEY] },
    personAccounts: false,
    oldestVersion: 31,
    newestVersion: 68,
    retiredStatus: 410,
    dailyApiCalls: 100_000,
    concurrentCalls: 25,
    writeMs: 0,
    queryPageSize: 2000,
    keepsBin: false,
    binKeepsKeys: false,
    lowercaseEmails: true,
    standardDuplicateRules: true,
    sessionTimeoutMs: 2 * 3_600_000,
    grantsPerUser: 5,
    ...given,
    applications: (applications ?? [{ clientSecret: 'sandbox-secret' }]).map((application) => ({
      clientId: 'sandbox-client',
      clientSecret: undefined,
      certificates: [],
      redirectUris: [],
      requirePkce: true,
      rotateRefreshTokens: false,
      refreshTokenIdleMs: undefined,
      refreshTokenLifetimeMs: undefined,
      runAs: undefined,
      approvedUsers: [],
      ...application,
    })),
  };
}
