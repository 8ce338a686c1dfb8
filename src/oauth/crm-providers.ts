import { type Provider, requireSecureUrl } from './providers.ts';

/** HubSpot's authorization server, from the settings. */
export interface HubSpotProviderSettings {
  clientId: string;
  clientSecret: string;
  /** URL for installing the application. */
  authorizeUrl: string;
  tokenUrl: string;
}

/** Salesforce's authorization server, from the settings. */
export interface SalesforceProviderSettings {
  /** `https://login.salesforce.com`, `https://test.salesforce.com`, or the organisation's URL. */
  loginUrl: string;
  clientId: string;
  clientSecret: string | null;
}

/** Any authorization server, from the settings. */
export interface OAuthProviderSettings {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  revocationEndpoint: string | null;
  deviceEndpoint: string | null;
  /** Endpoint for the account of an access token (OpenID Connect Core section 5.3); null: not used. */
  userinfoEndpoint: string | null;
  /**
   * Issuer name of the server; null: the origin of its authorization endpoint.
   * @see RFC 9207
   */
  issuer: string | null;
  clientId: string;
  clientSecret: string | null;
  certificate?: string | null;
  loginParameters: Readonly<Record<string, string>>;
}

/**
 * Returns HubSpot's provider. Id and secret are sent in the body. The current token endpoint has sibling endpoints for revocation and
 * introspection. The old endpoint, `/oauth/v1/token`, has no RFC 7009 revocation, and reports the account only with the token in the URL.
 * @throws MirrorError `settings` if a URL is neither https nor loopback
 * @see https://developers.hubspot.com/docs/api-reference/latest/authentication
 */
export function hubSpotProvider(settings: HubSpotProviderSettings): Provider {
  const authorization = requireSecureUrl(settings.authorizeUrl, 'the authorizeUrl');
  const token = requireSecureUrl(settings.tokenUrl, 'the tokenUrl');
  const isOld = token.endsWith('/oauth/v1/token');
  return {
    name: 'hubspot',
    issuer: new URL(authorization).origin,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    endpoints: {
      authorization,
      token,
      revocation: isOld ? null : `${token}/revoke`,
      introspection: isOld ? null : `${token}/introspect`,
    },
    deviceEndpoint: null,
    loginParameters: {},
  };
}

/**
 * Returns Salesforce's provider. The scope `refresh_token` requests a refresh token. The operator chooses the account explicitly, so that
 * the browser's current account is not used by accident. Salesforce no longer supports device codes.
 * @throws MirrorError `settings` if the URL is neither https nor loopback
 * @see https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_endpoints.htm
 */
export function salesforceProvider(settings: SalesforceProviderSettings): Provider {
  const issuer = requireSecureUrl(settings.loginUrl, 'the loginUrl').replace(/\/+$/, '');
  const base = `${issuer}/services/oauth2`;
  return {
    name: 'salesforce',
    issuer,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    endpoints: {
      authorization: `${base}/authorize`,
      token: `${base}/token`,
      revocation: `${base}/revoke`,
      userinfo: `${base}/userinfo`,
    },
    deviceEndpoint: null,
    loginParameters: { prompt: 'select_account' },
  };
}

/**
 * Returns a provider with all endpoints from the settings.
 * @throws MirrorError `settings` if a URL is neither https nor loopback
 */
export function oauthProvider(settings: OAuthProviderSettings): Provider {
  const { clientId, clientSecret, loginParameters, issuer, revocationEndpoint, deviceEndpoint } = settings;
  const authorization = requireSecureUrl(settings.authorizationEndpoint, 'the authorizationEndpoint');
  const secure = (address: string | null, what: string) => (address === null ? null : requireSecureUrl(address, what));
  return {
    name: 'oauth',
    issuer: issuer ?? new URL(authorization).origin,
    clientId,
    clientSecret,
    certificate: settings.certificate ?? null,
    endpoints: {
      authorization,
      token: requireSecureUrl(settings.tokenEndpoint, 'the tokenEndpoint'),
      revocation: secure(revocationEndpoint, 'the revocationEndpoint'),
      userinfo: secure(settings.userinfoEndpoint, 'the userinfoEndpoint'),
    },
    deviceEndpoint: secure(deviceEndpoint, 'the deviceEndpoint'),
    loginParameters,
  };
}
