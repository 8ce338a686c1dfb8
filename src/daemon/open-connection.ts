import { WRONG_USER } from '../clinic/read/users.ts';
import type { HttpClient } from '../core/http/client.ts';
import type { Logger } from '../core/log/logger.ts';
import type { Credential } from '../core/model/credentials.ts';
import { asMirrorError, MirrorError } from '../core/model/errors.ts';
import { type Clock, DAY_MS, HOUR_MS, type Instant, SECOND_MS } from '../core/model/time.ts';
import type { RunReport } from '../domain/runs.ts';
import { type AccountObjection, accountText, type ExpectedAccount, objectionTo } from '../oauth/accounts.ts';
import { type ConnectionAuthorizer, createTokenAuthorizer, type TokenAuthorizer } from '../oauth/authorizer.ts';
import type { LeaseTaker } from '../oauth/credential.ts';
import { spreadOf } from '../oauth/due.ts';
import type { LoginTarget } from '../oauth/login.ts';
import { missingScopes, type Provider } from '../oauth/providers.ts';
import { createRefresher, type Refresher } from '../oauth/refresh.ts';
import { createAuthorizationServer } from '../oauth/server.ts';
import type { ConnectionPause, ConnectionStatus } from '../operator/control/status-schemas.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { BudgetShare } from '../state/budget.ts';
import type { OpenTenant } from '../tenant/tenant.ts';
import type { CredentialStore } from './credentials.ts';

/** A tenant's connection with its maintenance. */
export interface OpenConnection {
  id: string;
  kind: string;
  /** Required scopes; empty without scopes. */
  scopes: readonly string[];
  /** Request budget of the application at the vendor, over all tenants; null if unknown. */
  budget: BudgetShare | null;
  /** Configured user of a connection without tokens; null if none, or if tokens identify the user. */
  user: string | null;
  /** Null for a connection without stored tokens. */
  tokens: { authorizer: TokenAuthorizer; refresher: Refresher; login: LoginTarget } | null;
  /** Decides whether closing loses no data in memory. */
  mayClose(): boolean;
  /** @param purpose the target to which a shared quota is charged */
  authorizer(purpose: string): ConnectionAuthorizer;
}

/** Dependencies of connections. */
export interface ConnectionParts {
  configuration: Configuration;
  tenant: TenantConfiguration;
  credentials: CredentialStore;
  leases: LeaseTaker;
  http: HttpClient;
  /** Returns a share of a provider's budget, by client. */
  budget(client: string, limits: { requestsPerMinute: number; burst: number }): BudgetShare;
  /** Returns the required scopes of a connection's targets. */
  targetScopes(connection: string): readonly string[];
  clock: Clock;
  log: Logger;
}

/** A user's connection with stored tokens. */
interface TokenLogin {
  id: string;
  kind: string;
  provider: Provider;
  /** Requested scopes. */
  scopes: readonly string[];
  budget: BudgetShare;
  /** Required account; absent: any. */
  expected?: ExpectedAccount | undefined;
  /** See `LoginTarget`. */
  takesAnyAccount?: boolean;
  /** The provider returns the API URL with each token. */
  isFromFile?: boolean;
}

/**
 * Longest time between refreshes, whatever the settings say. Salesforce expires a refresh token after 30 idle days in applications of
 * several organisations (from 2026-05-11), and a stopped daemon needs time to return.
 */
const LONGEST_REST_MS = 14 * DAY_MS;

/** Opens a connection with tokens: server, refreshes and authorizer. */
export function tokenConnection(parts: ConnectionParts, options: TokenLogin): OpenConnection {
  const { id, kind, provider, scopes, budget, isFromFile = false, takesAnyAccount = false } = options;
  const expected = options.expected ?? null;
  const { credentials, leases, clock, log, http } = parts;
  const { tokens } = parts.configuration.settings;
  const server = createAuthorizationServer({ provider, http, budget, clock });
  const credentialLocation = { tenant: parts.tenant.id, connection: id, credentials, leases };
  const pause = (durationMs: number) => new Promise<void>((resolve) => setTimeout(resolve, durationMs));
  const confirmAfterMs = tokens.confirmRefusalAfterSeconds * SECOND_MS;
  const refresher = createRefresher({ context: credentialLocation, server, scopes, clock, log, pause, confirmAfterMs });
  const rules = {
    marginMs: tokens.refreshMarginSeconds * SECOND_MS,
    keepAliveMs: Math.min(tokens.keepAliveAfterHours * HOUR_MS, LONGEST_REST_MS),
    spread: spreadOf(`${parts.tenant.id}/${id}`),
  };
  const authorizer = createTokenAuthorizer({
    connection: id,
    credentials,
    refresher,
    rules,
    clock,
    expected,
    isFromFile,
  });
  const login = { context: credentialLocation, server, scopes, clock, expected, takesAnyAccount };
  return {
    ...{ id, kind, scopes, budget, user: null },
    tokens: { authorizer, refresher, login },
    authorizer: () => authorizer,
    mayClose: () => refresher.isAtRest() && authorizer.isAtRest(),
  };
}

/** Opens a permanent connection by its header value; its permissions are unknown. */
export function fixedConnection(
  id: string,
  kind: string,
  authorizer: ConnectionAuthorizer,
  user: string | null = null,
): OpenConnection {
  return {
    ...{ id, kind, scopes: [], budget: null, user, tokens: null },
    authorizer: () => authorizer,
    mayClose: () => true,
  };
}

/** Adds the OpenID Connect scopes that identify the user; none if no scopes are required. */
export function withIdentity(identity: readonly string[], scopes: readonly string[]): string[] {
  return scopes.length === 0 ? [] : [...identity, ...scopes];
}

/** Returns an object that configuration checks guarantee. */
export function requireEntry<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined) throw new Error(`the configuration names "${name}" and does not have it`);
  return value;
}

/** Returns the state of each connection of a tenant; empty for a tenant that does not run. */
export async function connectionStatuses(
  composed:
    | {
        connections: ReadonlyMap<string, OpenConnection>;
        credentials: CredentialStore;
        tenant: { runs: OpenTenant['runs'] };
      }
    | undefined,
  confirmRefusalAfterMs: number,
  clock: Clock,
): Promise<ConnectionStatus[]> {
  if (composed === undefined) return [];
  const [lastRun] = await composed.tenant.runs.list(1);
  const runs = tenantCodeOf(lastRun) === null ? [] : await composed.tenant.runs.list(RUNS_LOOKED_AT);
  return Promise.all(
    [...composed.connections.values()].map(async ({ id, kind, scopes, tokens, user, budget }) => {
      const untouched = tokens === null ? ('static' as const) : ('never' as const);
      const read = tokens === null ? null : await composed.credentials.read(id).catch(asMirrorError);
      // An unreadable connection (missing encryption key) must not hide the states of the others.
      const unreadable = read instanceof MirrorError ? read : null;
      const credential = read instanceof MirrorError ? null : read;
      const tenantless = id === CLINIC_CONNECTION ? tenantFailure(runs, credential) : null;
      const objection = credential === null ? null : objectionTo(credential.tokens, tokens?.login.expected ?? null);
      const credentialState =
        tenantless === null ? credentialStateOf(credential, untouched, objection) : ('no-tenant' as const);
      return {
        connection: id,
        kind,
        state: unreadable === null ? credentialState : ('needs-login' as const),
        reason: unreadable?.code ?? tenantless?.code ?? reasonOf(credential, objection),
        account: credential === null ? user : accountText(credential.tokens.account ?? null),
        sinceAt: tenantless?.sinceAt ?? credential?.since ?? null,
        nextTryAt: nextTryOf(credential, confirmRefusalAfterMs, clock()),
        pause: await pauseOf(budget, clock),
        accessExpiresAt: credential?.accessExpiresAt ?? null,
        refreshExpiresAt: credential?.refreshExpiresAt ?? null,
        isEndFixed: credential?.isEndFixed ?? false,
        obtainedAt: credential?.obtainedAt ?? null,
        usedAt: credential === null ? null : (credential.refreshedAt ?? credential.obtainedAt),
        missingScopes: credential === null ? [] : missingScopes(scopes, credential.grantedScopes),
      };
    }),
  );
}

/** Returns the time of the next attempt after a refusal; null if none is required, or if the attempt is due. */
function nextTryOf(credential: Credential | null, afterMs: number, now: Instant): Instant | null {
  const { refusedAt = null } = credential ?? {};
  return refusedAt !== null && refusedAt + afterMs > now ? refusedAt + afterMs : null;
}

async function pauseOf(budget: BudgetShare | null, clock: Clock): Promise<ConnectionPause | null> {
  const pause = (await budget?.pause()) ?? null;
  if (pause === null) return null;
  const now = clock();
  const code = pause.isOfAll ? 'client-rate-limited' : 'rate-limited';
  return { code, sinceAt: now - pause.lastedMs, untilAt: now + pause.remainingMs };
}

/** A connection that works but must not be used shows the obstacle as its state. */
function credentialStateOf<Untouched extends string>(
  credential: Credential | null,
  untouched: Untouched,
  objection: AccountObjection | null,
) {
  if (credential === null) return untouched;
  if (credential.state === 'connected' && objection === null && isRetried(credential)) return 'retrying' as const;
  if (credential.state === 'needs-login' || objection === null) return credential.state;
  return objection === 'account-unconfirmed' ? ('unconfirmed' as const) : ('needs-login' as const);
}

/** The provider refused the connection once, and a retry follows. */
function isRetried({ refusedAt = null }: Credential): boolean {
  return refusedAt !== null;
}

function reasonOf(credential: Credential | null, objection: AccountObjection | null): string | null {
  return credential?.state === 'connected' ? (objection ?? credential.reason) : (credential?.reason ?? null);
}

/** Returns the code of a cycle that found no usable tenant of the clinic; null for other cycles. */
function tenantCodeOf(run: RunReport | undefined): string | null {
  const code = run?.error?.code;
  return code !== undefined && (WRONG_USER.has(code) || code === 'tenant-choice') ? code : null;
}

/** Cycles in which the begin of a failure is searched; a longer failure began at the latest with the oldest of them. */
const RUNS_LOOKED_AT = 50;

/**
 * Returns why the accepted clinic connection is useless, by the last cycle since the connection was made, and since which cycle; null if
 * useful.
 * @param runs newest first
 */
function tenantFailure(
  runs: readonly RunReport[],
  credential: Credential | null,
): { code: string; sinceAt: Instant } | null {
  if (credential === null) return null;
  const ofConnection = runs.filter(({ startedAt }) => startedAt >= credential.obtainedAt);
  const code = tenantCodeOf(ofConnection[0]);
  if (code === null) return null;
  const other = ofConnection.findIndex(({ error }) => error?.code !== code);
  const first = ofConnection.at(other === -1 ? -1 : other - 1);
  return { code, sinceAt: first?.startedAt ?? credential.since };
}
