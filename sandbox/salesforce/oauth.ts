import { createHash, randomBytes } from 'node:crypto';
import { createOAuth, type OAuth } from '../kit/oauth/oauth.ts';
import { bearerOf, originOf } from '../kit/oauth/routes.ts';
import type { Grant as AnyGrant, LoginRules, OAuthVendor } from '../kit/oauth/vendor.ts';
import { OAuthError, type VendorWords, type Words, words } from '../kit/oauth/words.ts';
import { readAssertion } from './assertion.ts';
import { ApiError } from './errors.ts';
import { ORG_ID } from './ids.ts';
import type { Instance } from './instance.ts';
import type { Application } from './options.ts';
import type { World } from './world.ts';

/** Access granted by a user, or by an administrator for flows without a user. */
export interface Grant extends AnyGrant {
  account: string;
  client: Application;
}

/** OAuth server of one org. An access token is a session. */
export interface SalesforceOAuth extends OAuth<Application, Grant> {
  /** Refuses the user's sign-ins and refreshes with this description, e.g. `inactive user`; undefined permits both again. */
  refuse(username: string, description: string | undefined): void;
  /** Returns the grant behind an Authorization header. Using a session extends the session. */
  findSession(authorization: string | string[] | undefined): Grant | undefined;
  /** Returns the grant behind an Authorization header. Throws ApiError 401 INVALID_SESSION_ID. */
  requireSession(authorization: string | string[] | undefined): Grant;
}

const OAUTH_PATH = '/services/oauth2';
/** Paths of the endpoints on the OAuth server. */
export const PATHS = {
  authorize: `${OAUTH_PATH}/authorize`,
  token: `${OAUTH_PATH}/token`,
  revoke: `${OAUTH_PATH}/revoke`,
  userinfo: `${OAUTH_PATH}/userinfo`,
} as const;

const SCOPES: readonly string[] = [
  'api',
  'full',
  'id',
  'openid',
  'profile',
  'email',
  'web',
  'refresh_token',
  'offline_access',
];

const REDIRECT: Words = words('redirect_uri_mismatch', 'redirect_uri must match configuration');

const WORDS: VendorWords = {
  clientUnknown: words('invalid_client_id', 'client identifier invalid'),
  secretWrong: words('invalid_client', 'invalid client credentials'),
  redirectUnknown: REDIRECT,
  responseType: words('unsupported_response_type', 'response type must be code'),
  scopeUnknown: words('invalid_scope', 'the requested scope is not allowed'),
  challengeMissing: words('invalid_request', 'missing required code challenge'),
  challengeMethod: words('invalid_request', 'unsupported code challenge method'),
  requestOver: words('invalid_request', 'This request is over.'),
  codeUnknown: words('invalid_grant', 'expired authorization code'),
  codeRedirect: REDIRECT,
  codeVerifier: words('invalid_grant', 'invalid code verifier'),
  // An administrator must connect the app again.
  refreshUnknown: words('invalid_grant', 'expired access/refresh token'),
  grantType: words('unsupported_grant_type', 'grant type not supported'),
};

/** Creates the OAuth server of the sandbox's org; `instance` is the host of the org's API. */
export function salesforceOAuth(world: World, instance: Instance): SalesforceOAuth {
  const refusals = new Map<string, string>();
  const oauth = createOAuth(vendorOf(world, instance, refusals));
  const findSession = (authorization: string | string[] | undefined): Grant | undefined =>
    oauth.tokens.findAccess(bearerOf(authorization, 'Bearer|OAuth'));
  return {
    ...oauth,
    findSession,
    requireSession: (authorization) => {
      const grant = findSession(authorization);
      if (!grant) throw invalidSession('Session expired or invalid');
      if (!grant.scopes.includes('api') && !grant.scopes.includes('full')) {
        throw invalidSession('This session is not valid for use with the REST API');
      }
      return grant;
    },
    refuse: (username, description) => {
      if (description === undefined) refusals.delete(username);
      else refusals.set(username, description);
    },
  };
}

/** Returns the OAuth error body in the vendor's words. */
export function oauthErrorBody({ error, description }: Words): object {
  return { error, error_description: description };
}

/** Returns the grant of a user to an application. */
export function grantOf(account: string, client: Application, scopes: readonly string[]): Grant {
  const isLasting = scopes.includes('refresh_token') || scopes.includes('offline_access');
  return { account, client, scopes, isLasting };
}

function vendorOf(
  world: World,
  instance: Instance,
  refusals: ReadonlyMap<string, string>,
): OAuthVendor<Application, Grant> {
  const { settings } = world;
  return {
    now: () => settings.now(),
    clients: settings.applications,
    words: WORDS,
    errorBody: oauthErrorBody,
    place: (request) => ({ origin: originOf(request), issuer: originOf(request), base: '' }),
    login: loginRules(world),
    clientBy: ['basic', 'form'],
    access: { prefix: '00D5g!AQ', chance: 60, lifetimeMs: () => settings.sessionTimeoutMs, isProlonged: true },
    refresh: {
      prefix: '5Aep',
      chance: 60,
      rules: ({ client }) => ({
        rotation: client.rotateRefreshTokens ? 'replaced' : 'kept',
        idleMs: client.refreshTokenIdleMs,
        lifetimeMs: client.refreshTokenLifetimeMs,
        most: { count: settings.grantsPerUser, ends: 'grant' },
      }),
    },
    assertedGrant: (assertion, { origin }) => {
      const { application, username } = readAssertion(settings, assertion, origin);
      return grantOf(username, application, ['api']);
    },
    clientGrant: (application) => {
      if (application.runAs === undefined || application.clientSecret === undefined) {
        throw new OAuthError({ error: 'invalid_grant', description: 'no client credentials user enabled' });
      }
      return grantOf(application.runAs, application, ['api']);
    },
    admit: (grant) => {
      const description = refusals.get(grant.account);
      if (description !== undefined) throw new OAuthError({ error: 'invalid_grant', description });
      return grant;
    },
    // The answer has no expires_in, as in the vendor's answers.
    answer: ({ grant, accessToken, refreshToken, place }) => ({
      access_token: accessToken,
      refresh_token: refreshToken,
      signature: createHash('sha256').update(randomBytes(16)).digest('base64'),
      scope: grant.scopes.join(' '),
      instance_url: instance.url ?? place.origin,
      id: `${place.origin}/id/${ORG_ID}/${world.user(grant.account).id}`,
      token_type: 'Bearer',
      issued_at: String(world.now()),
    }),
  };
}

function loginRules(world: World): LoginRules<Application, Grant> {
  return {
    paths: { prefix: '', authorize: PATHS.authorize, answer: '/sandbox-login' },
    code: { prefix: 'aPrx', chance: 40, lifetimeMs: 15 * 60_000 },
    allowsLoopback: () => true,
    needsChallenge: ({ requirePkce }) => requirePkce,
    assumesS256: true,
    scopesOf: (query) => {
      const asked = (query.get('scope') ?? 'api refresh_token').split(' ').filter((scope) => scope !== '');
      return asked.every((scope) => SCOPES.includes(scope)) ? asked : undefined;
    },
    page: {
      heading: (clientId) => `Allow access to ${clientId}?`,
      allow: 'Allow',
      people: () => world.usernames,
    },
    agree: ({ client, scopes }, account) => grantOf(account, client, scopes),
    denied: { error: 'access_denied', error_description: 'end-user denied authorization' },
  };
}

function invalidSession(message: string): ApiError {
  return new ApiError(401, 'INVALID_SESSION_ID', message);
}
