import { createHash } from 'node:crypto';
import { createOAuth, type OAuth } from '../kit/oauth/oauth.ts';
import { bearerOf } from '../kit/oauth/routes.ts';
import type { Grant as AnyGrant, LoginRules, OAuthVendor } from '../kit/oauth/vendor.ts';
import { OAuthError } from '../kit/oauth/words.ts';
import { seededRandom } from '../kit/random.ts';
import type { Caller } from './call.ts';
import { Challenges } from './challenges.ts';
import { checkAssertion } from './client-assertion.ts';
import { GraphError } from './errors.ts';
import { describe, ENTRA_WORDS, errorBody, WORDS } from './oauth-words.ts';
import type { Application } from './options.ts';
import { parseScopes, toldScopes } from './scopes.ts';
import { placeOf } from './tenant.ts';
import type { World } from './world.ts';

/** A user's consent or, without an account, an application's permissions. Scopes or roles in their short form. */
export interface Grant extends AnyGrant {
  client: Application;
  /** The claim `nbf` from the request for an access token, in seconds. */
  notBefore?: number;
}

/** Entra's OAuth, and the check of access tokens. */
export interface GraphOAuth extends OAuth<Application, Grant> {
  challenges: Challenges;
  /** Returns the caller behind an Authorization header; undefined if the header has no valid token. */
  findCaller(authorization: string | undefined): Caller | undefined;
  /** The caller behind an Authorization header. Throws GraphError 401, with a claims challenge when one is open. */
  requireCaller(authorization: string | undefined): Caller;
}

/** Access tokens live this long, at random (identity-platform/access-tokens). */
const LEAST_LIFETIME_MS = 60 * 60_000;
const LIFETIME_SPREAD_MS = 30 * 60_000;

/** Entra for the sandbox's tenant. */
export function graphOAuth(world: World): GraphOAuth {
  const { settings } = world;
  const challenges = new Challenges(() => settings.now());
  const oauth = createOAuth(vendorOf(world, challenges));
  const findGrant = (authorization: string | undefined): Grant | undefined =>
    oauth.tokens.findAccess(bearerOf(authorization));
  return {
    ...oauth,
    challenges,
    findCaller: (authorization) => toCaller(findGrant(authorization)),
    requireCaller: (authorization) => {
      const grant = findGrant(authorization);
      const caller = toCaller(grant);
      if (!caller) {
        throw unauthenticated('Access token is empty, expired or malformed.', 'Bearer realm="", error="invalid_token"');
      }
      const notBefore = challenges.notBefore(caller.account ?? caller.clientId);
      if ((grant?.notBefore ?? 0) < notBefore) throw challenged(notBefore);
      return caller;
    },
  };
}

function vendorOf(world: World, challenges: Challenges): OAuthVendor<Application, Grant> {
  const { settings } = world;
  const random = seededRandom(settings.seed);
  const randomLifetimeMs = (): number => LEAST_LIFETIME_MS + Math.floor(random() * LIFETIME_SPREAD_MS);
  return {
    now: () => settings.now(),
    clients: settings.applications,
    words: WORDS,
    describe,
    errorBody,
    place: (request) => placeOf(request, settings.tenantId),
    login: loginRules(world),
    device: {
      code: { prefix: 'DAQ', chance: 60 },
      lifetimeMs: () => settings.deviceCodeLifetimeMs,
      grant: personsGrant,
    },
    clientBy: ['basic', 'form'],
    clientAssertion: {
      isFor: ({ certificates }) => certificates.length > 0,
      check: (application, jwt, request) => checkAssertion(application, jwt, request, settings.now() / 1000),
    },
    access: { prefix: 'EwB', chance: 90, lifetimeMs: () => settings.accessTokenLifetimeMs ?? randomLifetimeMs() },
    refresh: {
      prefix: '0.A',
      chance: 120,
      rules: () => ({ rotation: 'added', lifetimeMs: settings.refreshTokenLifetimeMs }),
    },
    parseScopes,
    clientGrant: askedAppOnlyGrant,
    admit: (grant, { form }, pending) => {
      const account = grant.account ?? '';
      const claims = form.get('claims') ?? pending?.query.get('claims') ?? null;
      if (form.get('grant_type') === 'refresh_token') challenges.checkRefresh(account, claims);
      else challenges.loggedIn(account);
      return { ...grant, notBefore: notBeforeOf(claims) };
    },
    // Claims about the user, except the application's own `sub`, require their scope (identity-platform/id-token-claims-reference).
    idClaims: ({ account = '', client, scopes }) => ({
      sub: createHash('sha256').update(`${client.clientId} ${account}`).digest('base64url'),
      tid: settings.tenantId,
      ...(scopes.includes('profile') ? { oid: world.mailbox(account).id, preferred_username: account } : {}),
      ...(scopes.includes('email') ? { email: account } : {}),
      ver: '2.0',
      nbf: Math.floor(settings.now() / 1000),
    }),
    answer: ({ grant, accessToken, expiresIn, refreshToken, idToken }) => ({
      token_type: 'Bearer',
      expires_in: expiresIn,
      ext_expires_in: expiresIn,
      access_token: accessToken,
      scope: grant.account === undefined ? undefined : toldScopes(grant.scopes),
      refresh_token: refreshToken,
      id_token: idToken,
    }),
  };
}

function loginRules(world: World): LoginRules<Application, Grant> {
  return {
    paths: { prefix: '/:tenant', authorize: '/oauth2/v2.0/authorize', answer: '/consent' },
    code: { prefix: '0.A', chance: 60, lifetimeMs: 10 * 60_000 },
    allowsLoopback: () => true,
    needsChallenge: isPublic,
    scopesOf: (query) => parseScopes(query.get('scope') ?? ''),
    page: {
      heading: (clientId) => `${clientId} requests permissions`,
      allow: 'Accept',
      people: () => world.mailboxes.map(({ mail }) => mail),
    },
    agree: ({ client, scopes }, account) =>
      account.includes('@') ? personsGrant(world.mailbox(account).mail, client, scopes) : undefined,
    denied: { error: 'access_denied', error_subcode: 'cancel', error_description: 'AADSTS65004: declined.' },
  };
}

function personsGrant(account: string, client: Application, scopes: string[]): Grant {
  return { account, client, scopes, isLasting: scopes.includes('offline_access') };
}

/** What an administrator gave to an application. */
export function appOnlyGrant(client: Application): Grant {
  return { account: undefined, client, scopes: client.roles, isLasting: false };
}

/**
 * Returns the grant of a client-credentials request. The scope must be exactly `/.default` of the one resource.
 * @throws OAuthError
 */
function askedAppOnlyGrant(client: Application, form: URLSearchParams): Grant {
  if (isPublic(client)) throw new OAuthError(ENTRA_WORDS.publicForItself);
  const isAll = /^https?:\/\/[^/ ]+\/\.default$/.test(form.get('scope') ?? '');
  if (!isAll) throw new OAuthError(ENTRA_WORDS.notDefaultScope);
  return appOnlyGrant(client);
}

function isPublic({ clientSecret, certificates }: Application): boolean {
  return clientSecret === undefined && certificates.length === 0;
}

function toCaller(grant: Grant | undefined): Caller | undefined {
  if (!grant) return undefined;
  const { clientId, mailboxes } = grant.client;
  return { account: grant.account, clientId, permissions: new Set(grant.scopes), mailboxes };
}

function challenged(notBefore: number): GraphError {
  const claims = { access_token: { nbf: { essential: true, value: String(notBefore) } } };
  const encoded = Buffer.from(JSON.stringify(claims)).toString('base64');
  return unauthenticated(
    'Continuous access evaluation resulted in challenge with result: InteractionRequired.',
    `Bearer realm="", authorization_uri="https://login.example/common/oauth2/authorize", error="insufficient_claims", claims="${encoded}"`,
  );
}

function unauthenticated(message: string, challenge: string): GraphError {
  return new GraphError(401, 'InvalidAuthenticationToken', message, { headers: { 'www-authenticate': challenge } });
}

/** The `nbf` in a claims request (OpenID Connect Core section 5.5), in seconds. */
function notBeforeOf(claims: string | null): number {
  const value = /"nbf"\s*:\s*\{[^}]*"value"\s*:\s*"(\d+)"/.exec(claims ?? '')?.[1];
  return Number(value ?? 0);
}
