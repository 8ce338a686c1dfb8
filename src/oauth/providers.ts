import { isIP } from 'node:net';
import { message, type Text } from '../messages/message.ts';
import type { TokenSet } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import { isPublicAddress } from '../settings/outbound-schema.ts';

/** Who issues the tokens, and as which client we ask. Plain data from the settings. */
export interface Provider {
  /** Names the provider's calls in metrics: `oauth.<name>.token`. */
  name: 'clinic' | 'google' | 'microsoft' | 'hubspot' | 'salesforce' | 'oauth' | 'administrators';
  /** The issuer's address: the metadata and the authorization response must name the same (RFC 8414, RFC 9207). */
  issuer: string;
  clientId: string;
  /** Null for a client that keeps no secret and proves itself by PKCE alone. */
  clientSecret: string | null;
  /** Null: the endpoints are read from the issuer's discovery document. */
  endpoints: ProviderEndpoints | null;
  /** Goes before what the discovery document says; the clinic's specification names none. */
  deviceEndpoint: string | null;
  /** Added to the authorization request, to get a refresh token. */
  loginParameters: Readonly<Record<string, string>>;
  /** As which issuers it may name itself in id_tokens, `{tid}` for the directory that they name; else as in its metadata. */
  idTokenIssuers?: readonly string[];
}

/** Endpoints of a provider without a discovery document. */
interface ProviderEndpoints {
  authorization: string;
  token: string;
  revocation: string | null;
  /** The keys by which its id_tokens are signed; without them they go unread. */
  keys?: string;
  /** Tells whose an access token is (RFC 7662; OpenID Connect Core section 5.3). */
  introspection?: string | null;
  userinfo?: string | null;
}

/** The clinic's authorization server, from the settings. */
interface ClinicProviderSettings {
  /** Issuer and base of the endpoints, `{auth_url}` of the specification. */
  authUrl: string;
  clientId: string;
  clientSecret: string | null;
  /** Read the endpoints from the discovery document; else those of the specification are taken. Default true. */
  discovery?: boolean;
  deviceEndpoint?: string | null;
}

/** Google's authorization server, from the settings. */
interface GoogleProviderSettings {
  clientId: string;
  clientSecret: string | null;
  /** Default `https://accounts.google.com`; another for sandboxes. */
  issuer?: string;
}

/** Microsoft's authorization server (Entra ID), from the settings. */
interface MicrosoftProviderSettings {
  /** Address of the authorization server, such as `https://login.microsoftonline.com`; national clouds have others. */
  authority: string;
  /** The organisation's directory: id or domain; `organizations` for that of whoever logs in. */
  directory: string;
  clientId: string;
  /** Null for a registration as a mobile or desktop application, which keeps none. */
  clientSecret: string | null;
}

/** @see https://developers.google.com/identity/openid-connect/openid-connect#discovery */
const GOOGLE_ISSUER = 'https://accounts.google.com';

/**
 * The clinic's provider (clinic API, sections 5.3 and 5.8). `prompt=consent` makes an OpenID provider issue a refresh token
 * (OpenID Connect Core, section 11).
 * @throws MirrorError `settings` when an address is neither https nor loopback
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
    endpoints: discovery
      ? null
      : { authorization: `${base}/connect/authorize`, token: `${base}/connect/token`, revocation: null },
    deviceEndpoint: optionalSecureUrl(settings.deviceEndpoint, 'the device endpoint'),
    loginParameters: { prompt: 'consent' },
  };
}

/**
 * Google's provider. A refresh token comes only with `access_type=offline`, and for a returning person only with
 * `prompt=consent` (https://developers.google.com/identity/protocols/oauth2/web-server#offline). A login is asked for only
 * when one is needed, so the consent is asked for each time, and the account, so that it isn't by accident the one that the browser
 * knows. In id_tokens Google may leave `https://` away.
 * @see https://developers.google.com/identity/openid-connect/openid-connect#validatinganidtoken
 * @throws MirrorError `settings` when the issuer is neither https nor loopback
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
 * Microsoft's provider. Its endpoints are documented, and its discovery document for `organizations` names an issuer with a
 * gap in it, so none is read (https://learn.microsoft.com/entra/identity-platform/v2-protocols): the person's own directory, which
 * id_tokens name, fills it. A refresh token comes with the scope `offline_access`.
 * @throws MirrorError `settings` when the authority is neither https nor loopback
 */
export function microsoftProvider(settings: MicrosoftProviderSettings): Provider {
  const authority = requireSecureUrl(settings.authority, 'the authority').replace(/\/+$/, '');
  const base = `${authority}/${encodeURIComponent(settings.directory)}`;
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

/** The provider at which administrators sign in. @throws MirrorError `settings` when the issuer is neither https nor on this machine */
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

/** Whether secrets may be sent there: https anywhere, http on this machine alone (RFC 8252 section 8.3). */
export function isSecureUrl(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/**
 * Whether an address may be gone to that was read at another one: over https, and into this machine or its own network only where that one
 * lies there too. Else whoever answers there could have our secrets sent to a server that nobody outside reaches.
 */
export function mayBeNamedBy(issuer: string, address: string): boolean {
  return isSecureUrl(address) && (!isOwnHost(new URL(address).hostname) || isOwnHost(new URL(issuer).hostname));
}

/** An address that is not of the public internet, or a name that stands for one (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal). */
function isOwnHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return !isPublicAddress(host);
  return !host.includes('.') || /\.(localhost|local|internal|home\.arpa)$/.test(host);
}

/** Whether plain http is spoken there, as with a sandbox on this machine. */
export function isPlainHttp(address: string): boolean {
  return new URL(address).protocol === 'http:';
}

/**
 * @param what names the address in the error
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

/** A directory that is named by its id is the only one whose persons may log in; by a domain it can't be told from its id. */
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
 * Scopes of the protocol itself. Providers leave them out of their answers or write them otherwise, and what they bring is
 * seen elsewhere: `offline_access` in the refresh token, and Salesforce's `refresh_token`, another name of it.
 */
const PROTOCOL_SCOPES: ReadonlySet<string> = new Set(['openid', 'offline_access', 'refresh_token', 'profile', 'email']);

const GRAPH = 'https://graph.microsoft.com/';

/**
 * The needed scopes that were not granted, in the order in which they are needed. A person may untick scopes (clinic API
 * section 5.1; Google's granular consent), and a provider may take some away at any refresh.
 */
export function missingScopes(needed: readonly string[], granted: readonly string[]): string[] {
  const held = new Set(granted);
  return needed.filter((scope) => !PROTOCOL_SCOPES.has(scope) && !held.has(scope) && !isHeldAtGraph(scope, granted));
}

/** Microsoft answers with the permissions of Graph with or without their address, in any case of letters. */
function isHeldAtGraph(scope: string, granted: readonly string[]): boolean {
  if (!scope.startsWith(GRAPH)) return false;
  const names = new Set([scope.toLowerCase(), scope.slice(GRAPH.length).toLowerCase()]);
  return granted.some((each) => names.has(each.toLowerCase()));
}

/** The place of stored tokens; null when none was told, or a login from before knew none. */
export function baseUrlOf(tokens: TokenSet): string | null {
  return tokens.baseUrl ?? null;
}

/**
 * The origin in Salesforce's `instance_url`; null when it is none, or not one that tokens may be sent to.
 * @see https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_web_server_flow.htm
 */
export function readBaseUrl(instanceUrl: unknown): string | null {
  return typeof instanceUrl === 'string' && isSecureUrl(instanceUrl) ? new URL(instanceUrl).origin : null;
}

/** @throws MirrorError `authorization`, code `instance-unknown`: a new login brings it */
export function requireBaseUrl(baseUrl: string | null, connection: string): string {
  if (baseUrl !== null) return baseUrl;
  throw new MirrorError(message('instance-unknown', { connection }), {
    actor: 'authorization',
    code: 'instance-unknown',
    retry: 'never',
    remedy: message('instance-unknown.remedy', { command: `clinic-mirror login <tenant> ${connection}` }),
  });
}
