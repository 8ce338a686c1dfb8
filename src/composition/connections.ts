import type { Budget } from '../http/budget.ts';
import type { HttpDoor } from '../http/door.ts';
import type { Logger } from '../log/logger.ts';
import type { Clock } from '../model/time.ts';
import { HOUR_MS, SECOND_MS } from '../model/time.ts';
import {
  type ConnectionAuthorizer,
  createTokenAuthorizer,
  quotaUserOf,
  type TokenAuthorizer,
} from '../oauth/authorizer.ts';
import { createClientCredentialsAuthorizer } from '../oauth/client-credentials.ts';
import { spreadOf } from '../oauth/due.ts';
import { createBasicAuthorizer } from '../oauth/fixed-login.ts';
import type { LoginTarget } from '../oauth/login.ts';
import { clinicProvider, googleProvider, microsoftProvider, type Provider } from '../oauth/providers.ts';
import { createRefresher, type Refresher } from '../oauth/refresh.ts';
import { createAuthorizationServer } from '../oauth/server.ts';
import { createServiceAccountAuthorizer } from '../oauth/service-account.ts';
import type { LeaseTaker } from '../oauth/store.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { CLINIC_CONNECTION, type ConnectionConfiguration } from '../settings/tenant-schema.ts';
import type { CredentialStore } from '../state/credentials.ts';
import { channelModule, needsPatient } from './reminders.ts';

/** What an administrator consented to for the application (learn.microsoft.com/entra/identity-platform/scopes-oidc#the-default-scope). */
const GRAPH_DEFAULT_SCOPE = 'https://graph.microsoft.com/.default';

type MicrosoftConnection = Extract<ConnectionConfiguration, { kind: 'microsoft' | 'microsoft-app' }>;

/** A login of a tenant with its upkeep. */
export interface OpenConnection {
  id: string;
  kind: string;
  /** Scopes that it should have been granted; empty where there are none. */
  scopes: readonly string[];
  /** What the application may ask of this side, over all tenants; null when nothing is known of it. */
  budget: Budget | null;
  /** Null for a login without tokens in our care. */
  tokens: { authorizer: TokenAuthorizer; refresher: Refresher; login: LoginTarget } | null;
  /** @param purpose the target that it serves, which a shared quota is charged to */
  authorizer(purpose: string): ConnectionAuthorizer;
}

/** What connections are built from. */
export interface ConnectionParts {
  configuration: Configuration;
  tenant: TenantConfiguration;
  credentials: CredentialStore;
  leases: LeaseTaker;
  http: HttpDoor;
  /** A share of a provider's budget, by client. */
  budget(client: string, limits: { requestsPerMinute: number; burst: number }): Budget;
  /** Scopes that the targets on a connection need. */
  targetScopes(connection: string): readonly string[];
  clock: Clock;
  log: Logger;
}

/** Opens every login of a tenant, that to the clinic included. */
export function openConnections(parts: ConnectionParts): Map<string, OpenConnection> {
  const connections = new Map<string, OpenConnection>();
  connections.set(CLINIC_CONNECTION, clinicConnection(parts));
  for (const [id, connection] of parts.tenant.connections) {
    if (connection.kind === 'google') {
      const client = requireEntry(parts.configuration.settings.googleClients, connection.client);
      const provider = googleProvider({
        issuer: client.issuer,
        clientId: client.clientId,
        clientSecret: client.clientSecret.reveal(),
      });
      const budget = parts.budget(`google-${client.clientId}`, client.budget);
      connections.set(id, tokenConnection(parts, id, 'google', provider, parts.targetScopes(id), budget));
    } else if (connection.kind === 'google-service-account') {
      connections.set(id, serviceAccount(parts, id, connection.keyFile.reveal(), connection.subject));
    } else if (connection.kind === 'microsoft' || connection.kind === 'microsoft-app') {
      connections.set(id, microsoftConnection(parts, id, connection));
    } else {
      const { username, password } = connection;
      const authorizer = () => createBasicAuthorizer(id, username, password.reveal());
      connections.set(id, { id, kind: connection.kind, scopes: [], budget: null, tokens: null, authorizer });
    }
  }
  return connections;
}

/** Scopes that the clinic login needs: for what the tenant's targets show, for its reminders, and what the operator wants. */
export function clinicScopes(tenant: TenantConfiguration, prefix: string): string[] {
  const targets = [...tenant.targets.values()];
  const scopes = ['openid', 'offline_access', `${prefix}agenda`];
  if (targets.some(({ fields }) => fields.includes('treatment'))) scopes.push(`${prefix}treatments`);
  const showsNames = targets.some(({ title }) => title === 'initials' || title === 'full');
  if (showsNames || remindsPatients(tenant)) scopes.push(`${prefix}patients`);
  scopes.push(...tenant.clinic.scopes.map((scope) => `${prefix}${scope}`));
  return [...new Set(scopes)];
}

/** Whether a channel of reminders needs what stands with the patient. */
function remindsPatients({ reminders }: TenantConfiguration): boolean {
  const channels = [...(reminders?.channels.values() ?? [])];
  return channels.some((channel) => needsPatient(channelModule(channel.kind), channel));
}

function clinicConnection(parts: ConnectionParts): OpenConnection {
  const { settings, profiles } = parts.configuration;
  const client = requireEntry(settings.clinicClients, parts.tenant.clinic.client);
  const provider = clinicProvider({
    authUrl: client.authUrl,
    clientId: client.clientId,
    clientSecret: client.clientSecret?.reveal() ?? null,
    discovery: client.discovery,
    deviceEndpoint: client.deviceEndpoint ?? null,
  });
  const scopes = clinicScopes(parts.tenant, requireEntry(profiles, client.profile).scopePrefix);
  const budget = parts.budget(`clinic-${client.clientId}`, client.budget);
  return tokenConnection(parts, CLINIC_CONNECTION, 'clinic', provider, scopes, budget);
}

function tokenConnection(
  parts: ConnectionParts,
  id: string,
  kind: string,
  provider: Provider,
  scopes: readonly string[],
  budget: Budget,
): OpenConnection {
  const { credentials, leases, clock, log, http } = parts;
  const { tokens } = parts.configuration.settings;
  const server = createAuthorizationServer({ provider, http, budget, clock });
  const place = { tenant: parts.tenant.id, connection: id, credentials, leases };
  const pause = (durationMs: number) => new Promise<void>((resolve) => setTimeout(resolve, durationMs));
  const refresher = createRefresher({ place, server, scopes, clock, log, pause });
  const rules = {
    marginMs: tokens.refreshMarginSeconds * SECOND_MS,
    keepAliveMs: tokens.keepAliveAfterHours * HOUR_MS,
    spread: spreadOf(`${parts.tenant.id}/${id}`),
  };
  const authorizer = createTokenAuthorizer({ connection: id, credentials, refresher, rules, clock });
  const login = { place, server, scopes, clock };
  return { id, kind, scopes, budget, tokens: { authorizer, refresher, login }, authorizer: () => authorizer };
}

/** A person's login with tokens in our care, or the application's own, which needs none. */
function microsoftConnection(
  parts: ConnectionParts,
  id: string,
  { kind, client: clientName, directory }: MicrosoftConnection,
): OpenConnection {
  const client = requireEntry(parts.configuration.settings.microsoftClients, clientName);
  const provider = microsoftProvider({
    authority: client.authority,
    directory,
    clientId: client.clientId,
    clientSecret: client.clientSecret?.reveal() ?? null,
  });
  const budget = parts.budget(`microsoft-${client.clientId}`, client.budget);
  if (kind === 'microsoft') {
    return tokenConnection(parts, id, kind, provider, [...parts.targetScopes(id), 'offline_access'], budget);
  }
  const certificate = client.certificate?.reveal() ?? null;
  const { http, clock } = parts;
  const authorizer = createClientCredentialsAuthorizer(
    { connection: id, certificate, scope: GRAPH_DEFAULT_SCOPE },
    { provider, http, budget, clock },
  );
  return { id, kind, scopes: [], budget, tokens: null, authorizer: () => authorizer };
}

function serviceAccount(parts: ConnectionParts, id: string, keyFile: string, subject: string): OpenConnection {
  const { http, clock } = parts;
  const scopes = parts.targetScopes(id);
  return {
    id,
    kind: 'google-service-account',
    scopes,
    budget: null,
    tokens: null,
    authorizer: (purpose) =>
      createServiceAccountAuthorizer(
        { connection: id, keyFile, subject, scopes, quotaUser: quotaUserOf(parts.tenant.id, purpose) },
        { http, clock },
      ),
  };
}

/** What the configuration's own checks have made sure of. */
export function requireEntry<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value === undefined) throw new Error(`the configuration names "${name}" and does not have it`);
  return value;
}
