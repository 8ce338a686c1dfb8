import { MirrorError } from '../core/model/errors.ts';
import type { TriggerEvent } from '../core/model/triggers.ts';
import { compileMapping } from '../domain/mapping/compile.ts';
import {
  createBasicAuthorizer,
  createBearerAuthorizer,
  createKeyAuthorizer,
  quotaUserOf,
} from '../oauth/authorizer.ts';
import { createClientCredentialsAuthorizer } from '../oauth/client-credentials.ts';
import { clinicProvider, googleProvider, microsoftProvider } from '../oauth/providers.ts';
import { createServiceAccountAuthorizer } from '../oauth/service-account.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import { SECTION_OF_KIND } from '../settings/cross-checks.ts';
import { namingSources, Secret } from '../settings/secret-reference.ts';
import { CLINIC_CONNECTION, type ConnectionConfiguration } from '../settings/tenant-schema.ts';
import { crmConnection } from './crm-connections.ts';
import {
  type ConnectionParts,
  fixedConnection,
  type OpenConnection,
  requireEntry,
  tokenConnection,
  withIdentity,
} from './open-connection.ts';
import { channelModule, needsPatient } from './reminders.ts';

/**
 * Permissions that an administrator granted to the application (learn.microsoft.com/entra/identity-platform/scopes-oidc#the-default-scope).
 */
const GRAPH_DEFAULT_SCOPE = 'https://graph.microsoft.com/.default';

type GoogleConnection = Extract<ConnectionConfiguration, { kind: 'google' }>;
type MicrosoftConnection = Extract<ConnectionConfiguration, { kind: 'microsoft' | 'microsoft-app' }>;

/** Opens every connection of a tenant, including the clinic connection. Each refusal names the location of the refused secret. */
export function openConnections(parts: ConnectionParts): Map<string, OpenConnection> {
  const { settings } = parts.configuration;
  const connections = new Map<string, OpenConnection>();
  const clinicClient = settings.clinicClients.get(parts.tenant.clinic.client);
  const clinic = namingSecrets([clinicClient], () => clinicConnection(parts));
  connections.set(CLINIC_CONNECTION, clinic);
  for (const [id, connection] of parts.tenant.connections) {
    const section = SECTION_OF_KIND.get(connection.kind);
    const client =
      section === undefined || !('client' in connection) ? undefined : settings[section].get(connection.client);
    connections.set(
      id,
      namingSecrets([connection, client], () => openConnection(parts, id, connection)),
    );
  }
  return connections;
}

function openConnection(parts: ConnectionParts, id: string, connection: ConnectionConfiguration): OpenConnection {
  switch (connection.kind) {
    case 'google':
      return googleConnection(parts, id, connection);
    case 'google-service-account':
      return serviceAccount(parts, id, connection.keyFile.reveal(), connection.subject);
    case 'microsoft':
    case 'microsoft-app':
      return microsoftConnection(parts, id, connection);
    case 'feed':
      // A feed needs no vendor: its content is in the daemon's state.
      return fixedConnection(id, connection.kind, createKeyAuthorizer(id, 'x-none', ''));
    case 'bearer':
      return fixedConnection(id, connection.kind, createBearerAuthorizer(id, connection.token.reveal()));
    case 'api-key':
      return fixedConnection(id, connection.kind, createKeyAuthorizer(id, connection.header, connection.key.reveal()));
    case 'basic':
    case 'caldav': {
      const { kind, username, password } = connection;
      return fixedConnection(id, kind, createBasicAuthorizer(id, username, password.reveal()), username);
    }
    default:
      return crmConnection(parts, id, connection);
  }
}

function clinicConnection(parts: ConnectionParts): OpenConnection {
  const { settings, profiles } = parts.configuration;
  const client = requireEntry(settings.clinicClients, parts.tenant.clinic.client);
  const provider = clinicProvider({
    authUrl: client.authUrl,
    clientId: client.clientId,
    clientSecret: client.clientSecret?.reveal() ?? null,
    certificate: client.certificate?.reveal() ?? null,
    discovery: client.discovery,
    deviceEndpoint: client.deviceEndpoint ?? null,
  });
  const scopes = clinicScopes(parts.tenant, requireEntry(profiles, client.profile).scopePrefix);
  const budget = parts.budget(`clinic-${client.clientId}`, client.budget);
  // The connection is bound to the clinic tenant of all earlier work, for any connected user.
  const { account: expected } = parts.tenant.clinic;
  const login = { id: CLINIC_CONNECTION, kind: 'clinic', provider, scopes, budget, expected, takesAnyAccount: true };
  return tokenConnection(parts, login);
}

/** @see https://developers.google.com/identity/openid-connect/openid-connect#scope-param (the scope `email` adds the e-mail address) */
function googleConnection(
  parts: ConnectionParts,
  id: string,
  { client: clientName, account: expected }: GoogleConnection,
): OpenConnection {
  const client = requireEntry(parts.configuration.settings.googleClients, clientName);
  const provider = googleProvider({
    issuer: client.issuer,
    clientId: client.clientId,
    clientSecret: client.clientSecret.reveal(),
  });
  const budget = parts.budget(`google-${client.clientId}`, client.budget);
  const scopes = withIdentity(['openid', 'email'], parts.targetScopes(id));
  return tokenConnection(parts, { id, kind: 'google', provider, scopes, budget, expected });
}

/**
 * Opens a user's connection with stored tokens, or an application connection without user. The scope `profile` identifies the user
 * (https://learn.microsoft.com/entra/identity-platform/scopes-oidc#the-profile-scope).
 */
function microsoftConnection(parts: ConnectionParts, id: string, connection: MicrosoftConnection): OpenConnection {
  const { client: clientName, directory } = connection;
  const client = requireEntry(parts.configuration.settings.microsoftClients, clientName);
  const provider = microsoftProvider({
    authority: client.authority,
    directory,
    clientId: client.clientId,
    clientSecret: client.clientSecret?.reveal() ?? null,
  });
  const budget = parts.budget(`microsoft-${client.clientId}`, client.budget);
  if (connection.kind === 'microsoft') {
    const { kind, account: expected } = connection;
    const scopes = ['openid', 'profile', ...parts.targetScopes(id), 'offline_access'];
    return tokenConnection(parts, { id, kind, provider, scopes, budget, expected });
  }
  const certificate = client.certificate?.reveal() ?? null;
  const { http, clock } = parts;
  const authorizer = createClientCredentialsAuthorizer(
    { connection: id, certificate, scope: GRAPH_DEFAULT_SCOPE },
    { provider, http, budget, clock },
  );
  return {
    ...{ id, kind: connection.kind, scopes: [], budget, user: null, tokens: null },
    authorizer: () => authorizer,
    mayClose: () => false,
  };
}

function serviceAccount(parts: ConnectionParts, id: string, keyFile: string, subject: string): OpenConnection {
  const { http, clock } = parts;
  const scopes = parts.targetScopes(id);
  return {
    id,
    kind: 'google-service-account',
    scopes,
    budget: null,
    user: subject,
    tokens: null,
    mayClose: () => false,
    authorizer: (purpose) =>
      createServiceAccountAuthorizer(
        { connection: id, keyFile, subject, scopes, quotaUser: quotaUserOf(parts.tenant.id, purpose) },
        { http, clock },
      ),
  };
}

/** Codes for a secret that a vendor or the clinic refused, or that is unusable. */
const REFUSALS: ReadonlySet<string> = new Set([
  'application-not-allowed',
  'client-certificate',
  'client-rejected',
  'key-refused',
  'password-refused',
  'service-account-key',
  'service-account-refused',
]);

/**
 * Opens a connection whose refusals name the files and variables of its secrets, in every command and job.
 * @param holders configuration of the connection and of its client
 */
function namingSecrets(holders: readonly (object | undefined)[], open: () => OpenConnection): OpenConnection {
  const secrets = holders.flatMap((holder) => Object.values(holder ?? {})).filter((value) => value instanceof Secret);
  if (secrets.every(({ readFrom }) => readFrom === null)) return open();
  const explain = (error: unknown) => explained(error, secrets);
  const opened = explaining({ open }, explain).open();
  const wrapped = new WeakMap<object, object>();
  // Targets of one connection must continue to share one authorizer.
  const once = <Part extends object>(part: Part): Part => {
    const made = (wrapped.get(part) as Part | undefined) ?? explaining(part, explain);
    wrapped.set(part, made);
    return made;
  };
  const { tokens } = opened;
  const login = tokens && { ...tokens.login, server: once(tokens.login.server) };
  return {
    ...opened,
    authorizer: (purpose) => once(once(opened).authorizer(purpose)),
    tokens: tokens && login && { ...tokens, authorizer: once(tokens.authorizer), login },
  };
}

/** Adds the location of the secrets to a refusal; other errors remain unchanged. */
function explained(error: unknown, secrets: readonly Secret<unknown>[]): unknown {
  if (!(error instanceof MirrorError) || !REFUSALS.has(error.code)) return error;
  return error.reworded(error.texts.message, namingSources(error.texts.remedy ?? 'correct the secret', secrets));
}

/** Wraps an object so that each error of its methods is explained, thrown or rejected. */
function explaining<Wrapped extends object>(wrapped: Wrapped, explain: (error: unknown) => unknown): Wrapped {
  const rethrow = (error: unknown): never => {
    throw explain(error);
  };
  return new Proxy(wrapped, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => {
        try {
          const result: unknown = Reflect.apply(value, target, parameters);
          return result instanceof Promise ? result.catch(rethrow) : result;
        } catch (error) {
          return rethrow(error);
        }
      };
    },
  });
}

/** Returns the scopes for the clinic connection: for targets, reminders and triggers, plus the operator's own. */
export function clinicScopes(tenant: TenantConfiguration, prefix: string): string[] {
  const targets = [...tenant.targets.values()];
  const scopes = ['openid', 'offline_access', `${prefix}agenda`];
  const rules = [...(tenant.reminders?.rules.values() ?? [])];
  const namesTreatments = [...targets, ...rules].some(({ treatments }) => treatments !== 'all');
  if (namesTreatments || targets.some(({ fields }) => fields.includes('treatment'))) scopes.push(`${prefix}treatments`);
  const showsNames = targets.some(({ title }) => title === 'initials' || title === 'full');
  if (showsNames || remindsPatients(tenant)) scopes.push(`${prefix}patients`);
  const ofCrms = targets.flatMap((target) => scopesOfCrm(target, tenant.zone));
  scopes.push(...[...ofCrms, ...scopesOfTriggers(tenant), ...tenant.clinic.scopes].map((scope) => `${prefix}${scope}`));
  return [...new Set(scopes)];
}

/** Returns the scopes of a CRM target other than appointments. */
function scopesOfCrm({ crm }: TargetConfiguration, zone: string): string[] {
  if (crm === undefined) return [];
  const { needs } = compileMapping(crm, zone);
  const scopes = ['patients'];
  if (crm.stream === 'invoices' || needs.invoices) scopes.push('invoices');
  if (needs.doctors) scopes.push('episodes');
  if (needs.treatment) scopes.push('treatments');
  return scopes;
}

const SCOPE_OF_EVENT: Readonly<Record<TriggerEvent, string>> = {
  'report.available': 'medicalreports',
  'invoice.issued': 'invoices',
  'appointment.booked': 'agenda',
  'appointment.moved': 'agenda',
  'appointment.cancelled': 'agenda',
};

/** Returns the scopes for the lists of trigger events. */
function scopesOfTriggers({ triggers }: TenantConfiguration): string[] {
  const endpoints = [...(triggers?.endpoints.values() ?? [])];
  return endpoints.flatMap(({ events }) => events.map((event) => SCOPE_OF_EVENT[event]));
}

/** Decides whether a reminder channel requires patient data. */
function remindsPatients({ reminders }: TenantConfiguration): boolean {
  const channels = [...(reminders?.channels.values() ?? [])];
  return channels.some((channel) => needsPatient(channelModule(channel.kind), channel));
}
