import { hubSpotProvider, oauthProvider, salesforceProvider } from '../oauth/crm-providers.ts';
import { createSalesforceAppAuthorizer } from '../oauth/salesforce-app.ts';
import type { SalesforceClient } from '../settings/settings-schema.ts';
import type { ConnectionConfiguration } from '../settings/tenant-schema.ts';
import { type ConnectionParts, type OpenConnection, requireEntry, tokenConnection } from './open-connection.ts';

/** CRM connections with a registration in the settings. */
export type CrmConnection = Extract<
  ConnectionConfiguration,
  { kind: 'hubspot' | 'salesforce' | 'salesforce-app' | 'oauth' }
>;

type PersonsLogin = Extract<CrmConnection, { kind: 'hubspot' | 'salesforce' | 'oauth' }>;

/** Opens a CRM connection of a user or an application. */
export function crmConnection(parts: ConnectionParts, id: string, connection: CrmConnection): OpenConnection {
  switch (connection.kind) {
    case 'hubspot':
      return hubSpotConnection(parts, id, connection);
    case 'salesforce':
      return salesforceConnection(parts, id, connection);
    case 'salesforce-app':
      return salesforceApp(parts, id, connection.client, connection.subject ?? null);
    case 'oauth':
      return oauthConnection(parts, id, connection);
  }
}

/** HubSpot requires the scope `oauth` with all others, and refuses a connection without scopes. */
function hubSpotConnection(parts: ConnectionParts, id: string, connection: PersonsLogin): OpenConnection {
  const { client: clientName, account: expected } = connection;
  const client = requireEntry(parts.configuration.settings.hubspotClients, clientName);
  const { clientId, clientSecret, authorizeUrl, tokenUrl } = client;
  const provider = hubSpotProvider({ clientId, clientSecret: clientSecret.reveal(), authorizeUrl, tokenUrl });
  const scopes = unique(['oauth', ...parts.targetScopes(id)]);
  const budget = parts.budget(`hubspot-${clientId}`, client.budget);
  return tokenConnection(parts, { id, kind: 'hubspot', provider, scopes, budget, expected });
}

function salesforceConnection(parts: ConnectionParts, id: string, connection: PersonsLogin): OpenConnection {
  const { client: clientName, account: expected } = connection;
  const client = requireEntry(parts.configuration.settings.salesforceClients, clientName);
  const scopes = unique(['api', 'refresh_token', ...parts.targetScopes(id)]);
  const budget = salesforceBudget(parts, client);
  return tokenConnection(parts, {
    id,
    kind: 'salesforce',
    provider: salesforceProviderOf(client),
    scopes,
    budget,
    expected,
    isFromFile: true,
  });
}

/** Scopes of the application are set in its organisation. */
function salesforceApp(parts: ConnectionParts, id: string, clientName: string, subject: string | null): OpenConnection {
  const client = requireEntry(parts.configuration.settings.salesforceClients, clientName);
  const { http, clock } = parts;
  const budget = salesforceBudget(parts, client);
  const authorizer = createSalesforceAppAuthorizer(
    { connection: id, certificate: client.certificate?.reveal() ?? null, subject },
    { provider: salesforceProviderOf(client), http, budget, clock },
  );
  return {
    id,
    kind: 'salesforce-app',
    scopes: [],
    budget,
    user: subject,
    tokens: null,
    authorizer: () => authorizer,
    mayClose: () => false,
  };
}

function salesforceProviderOf({ loginUrl, clientId, clientSecret }: SalesforceClient) {
  return salesforceProvider({ loginUrl, clientId, clientSecret: clientSecret?.reveal() ?? null });
}

function salesforceBudget(parts: ConnectionParts, client: SalesforceClient) {
  return parts.budget(`salesforce-${client.clientId}`, client.budget);
}

function oauthConnection(parts: ConnectionParts, id: string, connection: PersonsLogin): OpenConnection {
  const { client: clientName, account: expected } = connection;
  const client = requireEntry(parts.configuration.settings.oauthClients, clientName);
  const provider = oauthProvider({
    authorizationEndpoint: client.authorizationEndpoint,
    tokenEndpoint: client.tokenEndpoint,
    revocationEndpoint: client.revocationEndpoint ?? null,
    deviceEndpoint: client.deviceEndpoint ?? null,
    userinfoEndpoint: client.userinfoEndpoint ?? null,
    issuer: client.issuer ?? null,
    clientId: client.clientId,
    clientSecret: client.clientSecret?.reveal() ?? null,
    certificate: client.certificate?.reveal() ?? null,
    loginParameters: client.loginParameters,
  });
  const scopes = unique([...client.scopes, ...parts.targetScopes(id)]);
  const budget = parts.budget(`oauth-${client.clientId}`, client.budget);
  return tokenConnection(parts, { id, kind: 'oauth', provider, scopes, budget, expected });
}

function unique(scopes: readonly string[]): string[] {
  return [...new Set(scopes)];
}
