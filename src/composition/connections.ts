import {
  createBasicAuthorizer,
  createBearerAuthorizer,
  createKeyAuthorizer,
  quotaUserOf,
} from '../oauth/authorizer.ts';
import { createClientCredentialsAuthorizer } from '../oauth/client-credentials.ts';
import { clinicProvider, googleProvider, microsoftProvider } from '../oauth/providers.ts';
import { createServiceAccountAuthorizer } from '../oauth/service-account.ts';
import { SECTION_OF_KIND } from '../settings/cross-checks.ts';
import { CLINIC_CONNECTION, type ConnectionConfiguration } from '../settings/tenant-schema.ts';
import { clinicScopes } from './clinic-scopes.ts';
import { crmConnection } from './crm-connections.ts';
import {
  type ConnectionParts,
  fixedConnection,
  type OpenConnection,
  requireEntry,
  tokenConnection,
  withIdentity,
} from './open-connection.ts';
import { namingSecrets } from './refused-secrets.ts';

/** What an administrator consented to for the application (learn.microsoft.com/entra/identity-platform/scopes-oidc#the-default-scope). */
const GRAPH_DEFAULT_SCOPE = 'https://graph.microsoft.com/.default';

type GoogleConnection = Extract<ConnectionConfiguration, { kind: 'google' }>;
type MicrosoftConnection = Extract<ConnectionConfiguration, { kind: 'microsoft' | 'microsoft-app' }>;

export { type ConnectionParts, type OpenConnection, requireEntry };

/** Opens every login of a tenant, that to the clinic included. A refusal by any of them names where the refused secret is kept. */
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
      // Nobody is asked: a feed lies in our own state.
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
    discovery: client.discovery,
    deviceEndpoint: client.deviceEndpoint ?? null,
  });
  const scopes = clinicScopes(parts.tenant, requireEntry(profiles, client.profile).scopePrefix);
  const budget = parts.budget(`clinic-${client.clientId}`, client.budget);
  // What it reads is bound to the clinic's tenant of all work so far, whichever of its users logs in.
  const { account: expected } = parts.tenant.clinic;
  const login = { id: CLINIC_CONNECTION, kind: 'clinic', provider, scopes, budget, expected, takesAnyAccount: true };
  return tokenConnection(parts, login);
}

/** @see https://developers.google.com/identity/openid-connect/openid-connect#scope-param (the scope `email` brings the address) */
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
 * A person's login with tokens in our care, or the application's own, which needs none. Who it is comes with the scope `profile`
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
