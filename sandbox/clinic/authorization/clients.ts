/** A registered application. */
export interface ClientRegistration {
  clientId: string;
  /** Absent for public clients, which authenticate with PKCE only. */
  clientSecret?: string | undefined;
  /** Exact URLs. For `http` on a loopback host any port is accepted (RFC 8252 section 7.3), unless `exactPorts` is set. */
  redirectUris: readonly string[];
  /** Compares the ports too, as the specification requires for every redirect URL (section 5.3). */
  exactPorts?: boolean | undefined;
}

export interface Clients {
  /** What the authorization server knows of a client; undefined when unknown or revoked. */
  metadata(clientId: string): Record<string, unknown> | undefined;
  isActive(clientId: string): boolean;
  revoke(clientId: string): void;
  all(): ClientRegistration[];
}

export function createClients(registrations: readonly ClientRegistration[]): Clients {
  const active = new Map(registrations.map((registration) => [registration.clientId, registration]));

  function metadata(clientId: string): Record<string, unknown> | undefined {
    const client = active.get(clientId);
    if (client === undefined) return undefined;
    return {
      client_id: client.clientId,
      ...(client.clientSecret === undefined ? {} : { client_secret: client.clientSecret }),
      token_endpoint_auth_method: client.clientSecret === undefined ? 'none' : 'client_secret_post',
      redirect_uris: [...client.redirectUris],
      application_type: client.exactPorts !== true && client.redirectUris.some(isLoopback) ? 'native' : 'web',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code'],
    };
  }

  return {
    metadata,
    isActive: (clientId) => active.has(clientId),
    revoke: (clientId) => void active.delete(clientId),
    all: () => [...active.values()],
  };
}

function isLoopback(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
}
