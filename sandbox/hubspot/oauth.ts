import { randomUUID } from 'node:crypto';
import { createOAuth, type OAuth } from '../kit/oauth/oauth.ts';
import { bearerOf } from '../kit/oauth/routes.ts';
import type { Grant as AnyGrant, LoginRules, OAuthVendor } from '../kit/oauth/vendor.ts';
import { OAuthError, type VendorWords, type Words, words } from '../kit/oauth/words.ts';
import type { Caller } from './caller.ts';
import { HubSpotError } from './errors.ts';
import type { Application, Settings } from './options.ts';
import { PrivateApps } from './private-apps.ts';
import { PLAIN_SCOPES, SENSITIVE_SCOPES } from './scopes.ts';

/** Access that an installation granted to an app. `account` is the user who installed the app. */
export interface Grant extends AnyGrant {
  account: string;
}

/** OAuth server and private apps of one HubSpot account. */
export interface HubSpotOAuth extends OAuth<Application, Grant> {
  privateApps: PrivateApps;
  /** Returns the caller behind an Authorization header; undefined if the token is unknown. */
  findCaller(authorization: string | undefined): Caller | undefined;
  /** Returns the caller behind an Authorization header. Throws HubSpotError 401. */
  requireCaller(authorization: string | undefined): Caller;
}

/** Path of the page on which a user installs an app; stands for `https://app.hubspot.com/oauth/authorize`. */
export const AUTHORIZE_PATH = '/oauth/authorize';
/** User name of the administrator for app installations. */
export const ADMINISTRATOR = 'admin@clinic.example';
/** Id of the administrator in the account. */
export const USER_ID = 9_041_277;
/** Time within which a code can be redeemed. The vendor documents "a short window". */
const CODE_LIFETIME_MS = 60_000;

const BAD_AUTH_CODE: Words = words('invalid_grant', 'missing or unknown auth code', { code: 'BAD_AUTH_CODE' });

const WORDS: VendorWords = {
  clientUnknown: words('invalid_client', 'missing or unknown client id', { code: 'BAD_CLIENT_ID' }),
  secretWrong: words('invalid_client', 'missing or invalid client secret', { code: 'BAD_CLIENT_SECRET' }),
  redirectUnknown: words('invalid_request', 'The redirect URL does not match the app.', { code: 'BAD_REDIRECT_URI' }),
  scopeUnknown: badScope('Insufficient scopes were provided, or a scope is not allowed for the app.'),
  challengeMethod: words('invalid_request', 'The code challenge method must be S256.', { code: 'BAD_REQUEST' }),
  requestOver: words('invalid_request', 'This request is over.', { code: 'BAD_REQUEST' }),
  codeUnknown: BAD_AUTH_CODE,
  codeRedirect: words('invalid_grant', 'redirect URI does not match the first one', { code: 'BAD_REDIRECT_URI' }),
  codeVerifier: BAD_AUTH_CODE,
  // The app was uninstalled, or the token never existed. An administrator must install the app again.
  refreshUnknown: words('invalid_grant', 'missing or invalid refresh token', { code: 'BAD_REFRESH_TOKEN' }),
  grantType: words('unsupported_grant_type', 'missing or unknown grant type', { code: 'BAD_GRANT_TYPE' }),
};

/** Creates the OAuth server and the private apps of the sandbox's only account. */
export function hubSpotOAuth(settings: Settings): HubSpotOAuth {
  const oauth = createOAuth(vendorOf(settings));
  const privateApps = new PrivateApps();
  const findCaller = (authorization: string | undefined): Caller | undefined => {
    const token = bearerOf(authorization);
    const ofPrivateApp = privateApps.find(token);
    if (ofPrivateApp) return ofPrivateApp;
    const grant = oauth.tokens.findAccess(token);
    return grant && { kind: 'oauth', clientId: grant.client.clientId, scopes: new Set(grant.scopes) };
  };
  return {
    ...oauth,
    privateApps,
    findCaller,
    requireCaller: (authorization) => {
      const caller = findCaller(authorization);
      if (caller) return caller;
      const endedAt = oauth.tokens.accessEndedAt(bearerOf(authorization));
      throw endedAt === undefined ? notAuthenticated() : expired(settings.now() - endedAt);
    },
  };
}

/** Returns the vendor's error body with the `error` and `error_description` fields of RFC 6749 added. */
export function standardErrorBody(said: Words): object {
  return { ...vendorErrorBody(said), error: said.error, error_description: said.description };
}

/** Returns the vendor's error body without the fields of RFC 6749. */
export function vendorErrorBody({ code, description }: Words): object {
  return { status: code, message: description, correlationId: randomUUID() };
}

function vendorOf(settings: Settings): OAuthVendor<Application, Grant> {
  return {
    now: () => settings.now(),
    clients: settings.applications,
    words: WORDS,
    errorBody: standardErrorBody,
    place: () => ({ origin: '', issuer: '', base: '' }),
    login: loginRules(settings),
    clientBy: ['form'],
    access: { prefix: '', chance: 210, lifetimeMs: () => settings.accessTokenLifetimeMs },
    refresh: {
      prefix: 'eu1-',
      chance: 'uuid',
      rules: () => ({ rotation: settings.rotateRefreshTokens ? 'replaced' : 'repeated' }),
    },
    answer: ({ grant, accessToken, refreshToken, expiresIn }) => ({
      token_use: 'access_token',
      token_type: 'bearer',
      access_token: accessToken,
      refresh_token: refreshToken,
      expires_in: expiresIn,
      hub_id: settings.portalId,
      user_id: USER_ID,
      scopes: grant.scopes,
    }),
  };
}

function loginRules(settings: Settings): LoginRules<Application, Grant> {
  const offers = (scope: string): boolean => settings.sensitiveData || !SENSITIVE_SCOPES.includes(scope);
  return {
    paths: { prefix: '', authorize: AUTHORIZE_PATH, answer: `${AUTHORIZE_PATH}/answer` },
    code: { prefix: 'eu1-', chance: 'uuid', lifetimeMs: CODE_LIFETIME_MS },
    allowsLoopback: () => true,
    needsChallenge: () => false,
    scopesOf: (query, application) => {
      const required = askedScopes(application, query.get('scope') ?? '');
      const optional = askedScopes(application, query.get('optional_scope') ?? '');
      if (!required || !optional) return undefined;
      if (required.length === 0 || !required.every(offers)) {
        throw new OAuthError(badScope('The account cannot give the scopes that the app requires.'));
      }
      return [...new Set([...required, ...optional.filter(offers)])];
    },
    errorPage: ({ description }) => `Couldn't complete the connection. ${description}`,
    page: {
      heading: (clientId) => `Connect ${clientId} to account ${settings.portalId}`,
      allow: 'Connect app',
      people: () => [ADMINISTRATOR],
    },
    agree: ({ client, scopes }, account) => ({ client, account, scopes, isLasting: true }),
    denied: { error: 'access_denied', error_description: 'The user did not connect the app.' },
  };
}

function badScope(description: string): Words {
  return words('invalid_scope', description, { code: 'BAD_SCOPE' });
}

/** Returns the requested scopes; undefined if a scope is unknown or not permitted for the app. */
function askedScopes({ scopes: allowed }: Application, text: string): string[] | undefined {
  const asked = text.split(/[\s,]+/).filter((scope) => scope !== '');
  const isKnown = (scope: string): boolean => PLAIN_SCOPES.includes(scope) || SENSITIVE_SCOPES.includes(scope);
  return asked.every((scope) => isKnown(scope) && (allowed === 'all' || allowed.includes(scope))) ? asked : undefined;
}

function expired(agoMs: number): HubSpotError {
  const message = `The OAuth token used to make this call expired ${Math.floor(agoMs / 1000)} second(s) ago.`;
  return new HubSpotError(401, 'EXPIRED_AUTHENTICATION', message);
}

function notAuthenticated(): HubSpotError {
  const message =
    'Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details ' +
    'at https://developers.hubspot.com/docs/methods/auth/oauth-overview';
  return new HubSpotError(401, 'INVALID_AUTHENTICATION', message);
}
