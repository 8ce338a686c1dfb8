import { type Provider, requireSecureUrl } from './providers.ts';

/** HubSpot's authorization server, from the settings. */
export interface HubSpotProviderSettings {
  clientId: string;
  clientSecret: string;
  /** Where a person installs the application. */
  authorizeUrl: string;
  tokenUrl: string;
}

/** Salesforce's authorization server, from the settings. */
export interface SalesforceProviderSettings {
  /** `https://login.salesforce.com`, `https://test.salesforce.com`, or the organisation's own address. */
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
  /** Where it tells whose an access token is (OpenID Connect Core section 5.3); null: it is not asked. */
  userinfoEndpoint: string | null;
  /**
   * How the server names itself; null: the origin of its authorization endpoint.
   * @see RFC 9207
   */
  issuer: string | null;
  clientId: string;
  clientSecret: string | null;
  loginParameters: Readonly<Record<string, string>>;
}

/**
 * HubSpot's provider. Id and secret go into the body. Its current token endpoint has those for revoking and for introspection beside it;
 * the old one, `/oauth/v1/token`, has none that RFC 7009 describes, and tells whose a token is only with the token in the address.
 * @throws MirrorError `settings` when an address is neither https nor loopback
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
 * Salesforce's provider. A refresh token comes with the scope `refresh_token`. The person chooses the account, so that
 * it isn't by accident the one that the browser knows. There is no login by device code any more.
 * @throws MirrorError `settings` when the address is neither https nor loopback
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
 * A provider whose endpoints are all in the settings.
 * @throws MirrorError `settings` when an address is neither https nor loopback
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
