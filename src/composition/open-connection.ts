import { WRONG_USER } from '../clinic/read/users.ts';
import type { ConnectionPause, ConnectionStatus } from '../control/installation.ts';
import type { HttpClient } from '../http/client.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import type { Logger } from '../log/logger.ts';
import type { Credential } from '../model/credentials.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import { type Clock, DAY_MS, HOUR_MS, SECOND_MS } from '../model/time.ts';
import { type AccountObjection, accountText, type ExpectedAccount, objectionTo } from '../oauth/accounts.ts';
import { type ConnectionAuthorizer, createTokenAuthorizer, type TokenAuthorizer } from '../oauth/authorizer.ts';
import type { LeaseTaker } from '../oauth/credential.ts';
import { spreadOf } from '../oauth/due.ts';
import type { LoginTarget } from '../oauth/login.ts';
import { missingScopes, type Provider } from '../oauth/providers.ts';
import { createRefresher, type Refresher } from '../oauth/refresh.ts';
import { createAuthorizationServer } from '../oauth/server.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import type { BudgetShare } from '../state/budget.ts';
import type { CredentialStore } from '../state/credentials.ts';
import type { RunReport } from '../state/runs.ts';

/** A login of a tenant with its upkeep. */
export interface OpenConnection {
  id: string;
  kind: string;
  /** Scopes that it should have been granted; empty where there are none. */
  scopes: readonly string[];
  /** What the application may ask of this side, over all tenants; null when nothing is known of it. */
  budget: BudgetShare | null;
  /** The user that a login without tokens acts for, as configured; null where it has none, or has tokens that tell. */
  user: string | null;
  /** Null for a login without tokens in our care. */
  tokens: { authorizer: TokenAuthorizer; refresher: Refresher; login: LoginTarget } | null;
  /** Whether nothing is under way or held that would be lost. */
  mayClose(): boolean;
  /** @param purpose the target that it serves, which a shared quota is charged to */
  authorizer(purpose: string): ConnectionAuthorizer;
}

/** What connections are built from. */
export interface ConnectionParts {
  configuration: Configuration;
  tenant: TenantConfiguration;
  credentials: CredentialStore;
  leases: LeaseTaker;
  http: HttpClient;
  /** A share of a provider's budget, by client. */
  budget(client: string, limits: { requestsPerMinute: number; burst: number }): BudgetShare;
  /** Scopes that the targets on a connection need. */
  targetScopes(connection: string): readonly string[];
  clock: Clock;
  log: Logger;
}

/** One login of a person, with tokens in our care. */
interface TokenLogin {
  id: string;
  kind: string;
  provider: Provider;
  /** Scopes to ask for. */
  scopes: readonly string[];
  budget: BudgetShare;
  /** Whose login it must be; absent: anybody's. */
  expected?: ExpectedAccount | undefined;
  /** As of a login's target. */
  takesAnyAccount?: boolean;
  /** The provider tells with each token where its API is. */
  isFromFile?: boolean;
}

/**
 * No login rests longer than this, whatever the settings say: Salesforce ends a refresh token that rests for 30 days in
 * applications of several organisations (from 2026-05-11), and a daemon that was away needs time to come back.
 */
const LONGEST_REST_MS = 14 * DAY_MS;

/** Opens a login with tokens: its server, its refreshes and its authorizer. */
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

/** Opens a login that never changes, by what its header takes; nothing is known of what it is allowed. */
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

/** Scopes by which a provider of OpenID Connect tells whose login it is, beside those that are needed; none where none are. */
export function withIdentity(identity: readonly string[], scopes: readonly string[]): string[] {
  return scopes.length === 0 ? [] : [...identity, ...scopes];
}

/** What the configuration's own checks have made sure of. */
export function requireEntry<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined) throw new Error(`the configuration names "${name}" and does not have it`);
  return value;
}

/** Where each login of a tenant stands; none for a tenant that is not run. */
export async function connectionStatuses(
  composed:
    | {
        connections: ReadonlyMap<string, OpenConnection>;
        credentials: CredentialStore;
        tenant: Pick<OpenTenant, 'runs'>;
      }
    | undefined,
  confirmRefusalAfterMs: number,
  clock: Clock,
): Promise<ConnectionStatus[]> {
  if (composed === undefined) return [];
  const [lastRun] = await composed.tenant.runs.list(1);
  return Promise.all(
    [...composed.connections.values()].map(async ({ id, kind, scopes, tokens, user, budget }) => {
      const untouched = tokens === null ? ('static' as const) : ('never' as const);
      const read = tokens === null ? null : await composed.credentials.read(id).catch(asMirrorError);
      // One login that can't be read (its sealing key is gone) must not hide how all the others stand.
      const unreadable = read instanceof MirrorError ? read : null;
      const credential = read instanceof MirrorError ? null : read;
      const tenantless = id === CLINIC_CONNECTION ? tenantFailure(lastRun, credential) : null;
      const objection = credential === null ? null : objectionTo(credential.tokens, tokens?.login.expected ?? null);
      const credentialState =
        tenantless === null ? credentialStateOf(credential, untouched, objection) : ('no-tenant' as const);
      return {
        connection: id,
        kind,
        state: unreadable === null ? credentialState : ('needs-login' as const),
        reason: unreadable?.code ?? tenantless ?? reasonOf(credential, objection),
        account: credential === null ? user : accountText(credential.tokens.account ?? null),
        sinceAt: credential?.since ?? null,
        nextTryAt: credential?.refusedAt == null ? null : credential.refusedAt + confirmRefusalAfterMs,
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

async function pauseOf(budget: BudgetShare | null, clock: Clock): Promise<ConnectionPause | null> {
  const pause = (await budget?.pause()) ?? null;
  if (pause === null) return null;
  const now = clock();
  const code = pause.isOfAll ? 'client-rate-limited' : 'rate-limited';
  return { code, sinceAt: now - pause.lastedMs, untilAt: now + pause.remainingMs };
}

/** A login that works and may not be used is told by what stands against it. */
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

/** The provider refused the login once, and is asked again. */
function isRetried({ refusedAt = null }: Credential): boolean {
  return refusedAt !== null;
}

function reasonOf(credential: Credential | null, objection: AccountObjection | null): string | null {
  return credential?.state === 'connected' ? (objection ?? credential.reason) : (credential?.reason ?? null);
}

/** Why the clinic's login is of no use although the clinic takes it, by the last cycle since it was made; null when it is. */
function tenantFailure(lastRun: RunReport | undefined, credential: Credential | null): string | null {
  if (lastRun?.error == null || credential === null || lastRun.startedAt < credential.obtainedAt) return null;
  const { code } = lastRun.error;
  return WRONG_USER.has(code) || code === 'tenant-choice' ? code : null;
}
