import type { FieldOptions } from './fields.ts';

/** An external client app. */
export interface Application {
  clientId: string;
  /** A public one has none. */
  clientSecret: string | undefined;
  /** PEM certificates whose keys may sign JWT bearer assertions. */
  certificates: string[];
  /** Matched exactly; plain http on loopback is allowed too. */
  redirectUris: string[];
  requirePkce: boolean;
  /** Each refresh brings a new refresh token, and the old one is dead at once. */
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
  /** 0, the default, takes a free one. */
  port?: number;
  /** Seeds fault rates. */
  seed?: number;
  /** Epoch ms; a test that must not wait passes its own. */
  now?: () => number;
  /** Default: one application `sandbox-client` with secret `sandbox-secret`. */
  applications?: Partial<Application>[];
  /** By object; default: a unique external id `Clinic_Key__c` for each of the four objects. */
  customFields?: Record<string, FieldOptions[]>;
  /** Patients as accounts of one person. */
  personAccounts?: boolean;
  /** Whole numbers. */
  oldestVersion?: number;
  newestVersion?: number;
  retiredStatus?: 404 | 410;
  /** API calls of the whole org in 24 hours. */
  dailyApiCalls?: number;
  /** Number of long calls that can still start; 0: other integrations use all concurrent calls of the org. */
  concurrentCalls?: number;
  /** How long a write takes; two that overlap lock each other out, or create the same key twice. */
  writeMs?: number;
  /** Default page size of a query, in records. */
  queryPageSize?: number;
  /** An upsert by the key of a record in the recycle bin is refused instead of creating another record. */
  binKeepsKeys?: boolean;
  /** The API call `emptyRecycleBin` is refused, as for a user without this permission. */
  keepsBin?: boolean;
  lowercaseEmails?: boolean;
  /** The duplicate rule that a new org has for contacts is on, and alerts; on by default. */
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

/** The options with every default filled in; changes while the sandbox runs. */
export type Settings = Required<Omit<SalesforceSandboxOptions, 'applications'>> & { applications: Application[] };

const KEY: FieldOptions = { name: 'Clinic_Key__c', type: 'string', length: 64, externalId: true, unique: true };

/** The options with the vendor's published defaults filled in. */
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
