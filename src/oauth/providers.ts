import { isIP } from 'node:net';
import type { TokenSet } from '../core/model/credentials.ts';
import { MirrorError } from '../core/model/errors.ts';
import { pathSegment } from '../core/model/path-segment.ts';
import { message, type Text } from '../messages/message.ts';
import { isPublicAddress } from '../settings/outbound-schema.ts';

/** Token issuer and client id. Plain data from the settings. */
export interface Provider {
  /** Name in metrics of the provider's calls: `oauth.<name>.token`. */
  name: 'clinic' | 'google' | 'microsoft' | 'hubspot' | 'salesforce' | 'oauth' | 'administrators';
  /** Issuer URL; metadata and authorization response must have the same issuer (RFC 8414, RFC 9207). */
  issuer: string;
  clientId: string;
  /** Null for a client without a secret, authenticated only by PKCE. */
  clientSecret: string | null;
  /** PEM that authenticates the client by `private_key_jwt` instead of the secret; absent or null: the secret. */
  certificate?: string | null;
  /** Null: the discovery document of the issuer names the endpoints. */
  endpoints: ProviderEndpoints | null;
  /** Overrides the discovery document; the clinic's specification names no device endpoint. */
  deviceEndpoint: string | null;
  /** Parameters of the authorization request that request a refresh token. */
  loginParameters: Readonly<Record<string, string>>;
  /** Allowed issuers in id_tokens, `{tid}` for the token's directory; default: the issuer in the metadata. */
  idTokenIssuers?: readonly string[];
}

interface ProviderEndpoints {
  authorization: string;
  token: string;
  revocation: string | null;
  /** Keys for verifying id_tokens; without keys, id_tokens are ignored. */
  keys?: string;
  /** Reports the account of an access token (RFC 7662; OpenID Connect Core section 5.3). */
  introspection?: string | null;
  userinfo?: string | null;
}

/** The clinic's authorization server, from the settings. */
interface ClinicProviderSettings {
  /** Issuer and base of the endpoints, `{auth_url}` of the specification. */
  authUrl: string;
  clientId: string;
  clientSecret: string | null;
  certificate?: string | null;
  /** Whether the discovery document names the endpoints; otherwise the endpoints of the specification are used. Default true. */
  discovery?: boolean;
  deviceEndpoint?: string | null;
}

/** Google's authorization server, from the settings. */
interface GoogleProviderSettings {
  clientId: string;
  clientSecret: string | null;
  /** Default `https://accounts.google.com`; different for sandboxes. */
  issuer?: string;
}

/** Microsoft's authorization server (Entra ID), from the settings. */
interface MicrosoftProviderSettings {
  /** URL of the authorization server, such as `https://login.microsoftonline.com`; national clouds have different URLs. */
  authority: string;
  /** Directory of the organisation: id or domain; `organizations` for the user's directory. */
  directory: string;
  clientId: string;
  /** Null for a registration as a mobile or desktop application, without a secret. */
  clientSecret: string | null;
}

/** @see https://developers.google.com/identity/openid-connect/openid-connect#discovery */
const GOOGLE_ISSUER = 'https://accounts.google.com';

/**
 * Returns the clinic's provider (clinic API, sections 5.3 and 5.8). `prompt=consent` requests a refresh token from an OpenID provider
 * (OpenID Connect Core, section 11).
 * @throws MirrorError `settings` if a URL is neither https nor loopback
 */
export function clinicProvider(settings: ClinicProviderSettings): Provider {
  const issuer = requireSecureUrl(settings.authUrl, message('oauth.server-url'));
  const base = issuer.replace(/\/+$/, '');
  const discovery = settings.discovery ?? true;
  return {
    name: 'clinic',
    issuer,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    certificate: settings.certificate ?? null,
    endpoints: discovery
      ? null
      : { authorization: `${base}/connect/authorize`, token: `${base}/connect/token`, revocation: null },
    deviceEndpoint: optionalSecureUrl(settings.deviceEndpoint, 'the device endpoint'),
    loginParameters: { prompt: 'consent' },
  };
}

/**
 * Returns Google's provider. A refresh token requires `access_type=offline`, and for a returning user `prompt=consent`
 * (https://developers.google.com/identity/protocols/oauth2/web-server#offline). An authorization only takes place if required, so each
 * authorization requests consent. Each authorization also requests the account choice, so that the browser's current account is not used by
 * accident. Google may omit `https://` in the issuer of id_tokens.
 * @see https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken
 * @throws MirrorError `settings` if the issuer is neither https nor loopback
 */
export function googleProvider(settings: GoogleProviderSettings): Provider {
  const issuer = requireSecureUrl(settings.issuer ?? GOOGLE_ISSUER, 'the issuer');
  return {
    name: 'google',
    issuer,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    endpoints: null,
    deviceEndpoint: null,
    loginParameters: { access_type: 'offline', prompt: 'consent select_account' },
    idTokenIssuers: [issuer, issuer.replace(/^https:\/\//, '')],
  };
}

/**
 * Returns Microsoft's provider. The endpoints are documented. The discovery document for `organizations` contains an issuer with a
 * placeholder, so the document is not used (https://learn.microsoft.com/entra/identity-platform/v2-protocols): the user's directory in the
 * id_token replaces the placeholder. The scope `offline_access` requests a refresh token.
 * @throws MirrorError `settings` if the authority is neither https nor loopback
 */
export function microsoftProvider(settings: MicrosoftProviderSettings): Provider {
  const authority = requireSecureUrl(settings.authority, 'the authority').replace(/\/+$/, '');
  const base = `${authority}/${pathSegment(settings.directory)}`;
  return {
    name: 'microsoft',
    issuer: `${base}/v2.0`,
    clientId: settings.clientId,
    clientSecret: settings.clientSecret,
    endpoints: {
      authorization: `${base}/oauth2/v2.0/authorize`,
      token: `${base}/oauth2/v2.0/token`,
      revocation: null,
      keys: `${base}/discovery/v2.0/keys`,
    },
    deviceEndpoint: `${base}/oauth2/v2.0/devicecode`,
    loginParameters: { prompt: 'select_account' },
    idTokenIssuers: [
      isDirectoryId(settings.directory)
        ? `${authority}/${settings.directory.toLowerCase()}/v2.0`
        : `${authority}/{tid}/v2.0`,
    ],
  };
}

/**
 * Returns the provider for the sign-in of administrators. @throws MirrorError `settings` if the issuer is neither https nor on this host
 */
export function administratorsProvider(settings: {
  issuer: string;
  clientId: string;
  clientSecret: string | null;
}): Provider {
  const issuer = requireSecureUrl(settings.issuer, 'the issuer');
  const { clientId, clientSecret } = settings;
  const endpoints = { endpoints: null, deviceEndpoint: null, loginParameters: {} };
  return { name: 'administrators', issuer, clientId, clientSecret, ...endpoints };
}

/** Decides whether secrets may be sent to a URL: https to any host, http only to this host (RFC 8252 section 8.3). */
export function isSecureUrl(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/**
 * Decides whether a URL from a server's document may be used: only https, and this host or a private network only if the issuer is there
 * too. Otherwise a public server could direct secrets to an internal server.
 */
export function mayBeNamedBy(issuer: string, address: string): boolean {
  return isSecureUrl(address) && (!isOwnHost(new URL(address).hostname) || isOwnHost(new URL(issuer).hostname));
}

/**
 * Decides whether a host is not on the public internet, by IP range or by reserved name (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal).
 */
function isOwnHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return !host.includes('.') || /\.(localhost|local|internal|home\.arpa)$/.test(host);
}

/** Decides whether a URL uses plain http, as for a sandbox on this host. */
export function isPlainHttp(address: string): boolean {
  return new URL(address).protocol === 'http:';
}

/**
 * @param what names the URL in the error
 * @throws MirrorError `settings`, code `insecure-address`
 */
export function requireSecureUrl(address: string, what: Text): string {
  if (isSecureUrl(address)) return address;
  throw new MirrorError(message('insecure-address', { what }), {
    actor: 'settings',
    code: 'insecure-address',
    retry: 'never',
    remedy: message('insecure-address.remedy'),
  });
}

/** A directory id admits only users of the directory; a domain cannot be compared with the id. */
function isDirectoryId(directory: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(directory);
}

function optionalSecureUrl(address: string | null | undefined, what: string): string | null {
  return address === null || address === undefined ? null : requireSecureUrl(address, what);
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Scopes of the protocol. Providers omit these scopes in answers or change their spelling, and their effect is visible elsewhere:
 * `offline_access` in the refresh token, as Salesforce's equivalent `refresh_token`.
 */
const PROTOCOL_SCOPES: ReadonlySet<string> = new Set(['openid', 'offline_access', 'refresh_token', 'profile', 'email']);

const GRAPH = 'https://graph.microsoft.com/';

/**
 * Returns the required scopes that were not granted, in the required order. A user may deselect scopes (clinic API section 5.1; Google's
 * granular consent), and a provider may remove scopes at any refresh.
 */
export function missingScopes(needed: readonly string[], granted: readonly string[]): string[] {
  const held = new Set(granted);
  return needed.filter((scope) => !PROTOCOL_SCOPES.has(scope) && !held.has(scope) && !isHeldAtGraph(scope, granted));
}

/** Microsoft returns Graph permissions with or without the URL, in any case. */
function isHeldAtGraph(scope: string, granted: readonly string[]): boolean {
  if (!scope.startsWith(GRAPH)) return false;
  const names = new Set([scope.toLowerCase(), scope.slice(GRAPH.length).toLowerCase()]);
  return granted.some((each) => names.has(each.toLowerCase()));
}

/** Returns the base URL of stored tokens, or null. */
export function baseUrlOf(tokens: TokenSet): string | null {
  return tokens.baseUrl ?? null;
}

/**
 * Returns the origin in Salesforce's `instance_url`; null if invalid or insecure.
 * @see https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_web_server_flow.htm
 */
export function readBaseUrl(instanceUrl: unknown): string | null {
  return typeof instanceUrl === 'string' && isSecureUrl(instanceUrl) ? new URL(instanceUrl).origin : null;
}

/** @throws MirrorError `authorization`, code `instance-unknown`: a new authorization sets the base URL */
export function requireBaseUrl(baseUrl: string | null, connection: string): string {
  if (baseUrl !== null) return baseUrl;
  throw new MirrorError(message('instance-unknown', { connection }), {
    actor: 'authorization',
    code: 'instance-unknown',
    retry: 'never',
    remedy: message('instance-unknown.remedy', { command: `clinic-mirror login <tenant> ${connection}` }),
  });
}
