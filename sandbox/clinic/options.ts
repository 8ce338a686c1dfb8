import type { ClientRegistration } from './authorization/clients.ts';
import type { AuthorizationOptions } from './authorization/server.ts';
import type { TenantPlan } from './data/seed.ts';
import type { DialectName } from './dialects/index.ts';
import type { RateLimit } from './rate-limit.ts';
import type { WireOptions } from './routes/context.ts';
import type { ClinicRules } from './rules/operations.ts';

/** How a clinic sandbox is made. Everything has a default: two clinics of 1,200 appointments each. */
export interface ClinicSandboxOptions
  extends Partial<ClinicRules>,
    Partial<WireOptions>,
    Partial<Omit<AuthorizationOptions, 'port'>> {
  /** How the API speaks; ids of `bare` are numbers. */
  dialect?: DialectName;
  /** Ports on 127.0.0.1; 0 takes a free one. */
  port?: number;
  authPort?: number;
  /** The same seed and `now` give the same data. */
  seed?: number;
  /** How many clinics, or what each is like. */
  tenants?: number | readonly Partial<TenantPlan>[];
  /** Per clinic, blocked time included. */
  appointments?: number;
  /** Per clinic; default: as many as its appointments need. */
  agendas?: number;
  /** Initial time in epoch ms; the clock of the clinics continues from this value. Default: the real time. */
  now?: number;
  /** Appointments are spread from so many days before `now` … */
  pastDays?: number;
  /** … to so many days after it. */
  futureDays?: number;
  /** IANA name. */
  timeZone?: string;
  /** A path for SQLite that does not exist yet; default: in memory. */
  databasePath?: string;
  clients?: readonly ClientRegistration[];
  /** Before the name of each of the API's scopes. */
  scopePrefix?: string;
  /** Permanent limit for each client; `{kind: 'rate-limit'}` faults apply in addition. */
  rateLimit?: RateLimit;
}

/** The client that is registered when the options name none. */
const DEFAULT_CLIENT = {
  clientId: 'clinic-mirror',
  clientSecret: 'sandbox-client-secret',
  redirectUris: ['127.0.0.1', 'localhost'].flatMap((host) => [
    `http://${host}/callback`,
    `http://${host}/oauth/callback`,
  ]),
} satisfies ClientRegistration;

const DAY_SECONDS = 86_400;

/** Dialects that refuse longer windows, and lists of appointments without one. */
const LONGEST_WINDOW_DAYS: Partial<Record<DialectName, number>> = { hostile: 30, numbers: 92 };

/** The options with every default filled in. */
export type ResolvedOptions = ReturnType<typeof resolveOptions>;

export function resolveOptions(options: ClinicSandboxOptions) {
  const dialect = options.dialect ?? 'documented';
  const rules: ClinicRules = {
    allowReopen: options.allowReopen ?? false,
    repeatedCheckIn: options.repeatedCheckIn ?? 'same',
    deleteMode: options.deleteMode ?? 'hard',
    allowDoubleBooking: options.allowDoubleBooking ?? false,
    // 25 MB in the smaller reading (specification, section 8).
    maxReportBytes: options.maxReportBytes ?? 25_000_000,
    oversizeStatus: options.oversizeStatus ?? 413,
    outOfSequenceStatus: options.outOfSequenceStatus ?? 409,
    invoiceCreationMs: options.invoiceCreationMs ?? 5,
  };
  const wire: WireOptions = {
    embedPatient: options.embedPatient ?? true,
    timestamps: options.timestamps ?? dialect !== 'bare',
    updatedSinceFilter: options.updatedSinceFilter ?? false,
    maxWindowDays: options.maxWindowDays ?? LONGEST_WINDOW_DAYS[dialect],
    linkPages: options.linkPages,
    etags: options.etags ?? 'none',
    accept: options.accept ?? 'json',
    foreignTenant: options.foreignTenant ?? (dialect === 'hostile' ? 'absent' : 'forbidden'),
  };
  const authorization: AuthorizationOptions = {
    port: options.authPort ?? 0,
    accessTokenLifetimeSeconds: options.accessTokenLifetimeSeconds ?? 3600,
    refreshTokenLifetimeSeconds: options.refreshTokenLifetimeSeconds ?? 30 * DAY_SECONDS,
    authorizationCodeLifetimeSeconds: options.authorizationCodeLifetimeSeconds ?? 120,
    deviceCodeLifetimeSeconds: options.deviceCodeLifetimeSeconds ?? 600,
    deviceIntervalSeconds: options.deviceIntervalSeconds ?? 5,
    slowDownSeconds: options.slowDownSeconds ?? 5,
    rotateRefreshTokens: options.rotateRefreshTokens ?? true,
    grantsPerClientAndUser: options.grantsPerClientAndUser ?? 10,
    pkce: options.pkce ?? 'public',
    openid: options.openid ?? 'mandatory',
  };
  return {
    dialect,
    rules,
    wire,
    authorization,
    port: options.port ?? 0,
    seed: options.seed ?? 1,
    plans: plansOf(options),
    startedAt: options.now ?? Date.now(),
    pastDays: options.pastDays ?? 30,
    futureDays: options.futureDays ?? 90,
    timeZone: options.timeZone ?? 'Europe/Rome',
    databasePath: options.databasePath ?? ':memory:',
    clients: options.clients ?? [DEFAULT_CLIENT],
    scopePrefix: options.scopePrefix ?? 'svc.',
    rateLimit: options.rateLimit,
  };
}

function plansOf({ tenants = 2, appointments = 1200, agendas }: ClinicSandboxOptions): TenantPlan[] {
  const given = typeof tenants === 'number' ? Array.from({ length: tenants }, () => ({})) : tenants;
  return given.map((plan) => ({ appointments, agendas, ...plan }));
}
